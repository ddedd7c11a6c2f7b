import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import type { OperatorFunction } from '../declare/declare.js';
import type { Unary } from '../signatures.js';
import { mul, neg } from './arithmetic.js';
import { boundedExponential } from './expressions/exponential.js';
import { logarithmOfOnePlus } from './expressions/logarithm.js';
import { stableSigmoid } from './gradient-terms.js';
import { knownAs } from './known.js';
import { realFunction } from './point.js';
import { bothSides } from './samples.js';

/** `log(1 + exp(x))`, accurate in both tails. Integers become float32. */
export const softplus: OperatorFunction<Unary> = realFunction({
  name: 'softplus',
  value: softened,
  gradient: (g, x) => mul(g, stableSigmoid(x)),
  samples: bothSides,
});

/** `log(sigmoid(x))`, accurate in both tails. Integers become float32. */
export const logSigmoid: OperatorFunction<Unary> = realFunction({
  name: 'logSigmoid',
  value: (x) => e.neg(softened(e.neg(x))),
  gradient: (g, x) => mul(g, stableSigmoid(neg(x))),
  samples: bothSides,
});

function softened(x: Expr): Expr {
  const rest = logarithmOfOnePlus(boundedExponential(e.neg(e.abs(x))));
  return knownAs('Softplus', [x], e.add(e.max(x, 0), rest));
}
