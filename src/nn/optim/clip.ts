import { wideFloat } from '../../base/dtype.js';
import { ArgumentError } from '../../base/errors.js';
import { checkArgument, valueRule } from '../../base/attributes/options.js';
import * as autograd from '../../front/autograd/index.js';
import type { NDArray } from '../../front/core/ndarray.js';
import { isNewGradient, replaceGradient } from '../../front/dispatch/values.js';
import { minimum, sqrt } from '../../ops/index.js';
import type { Parameter } from '../parameter.js';
import { checkParameterMap } from './parameters.js';
import { anyStep } from './used.js';

const length = valueRule(
  'a number above 0',
  (value): value is number => typeof value === 'number' && value > 0,
);

/**
 * Scales all gradients that no step has used yet by one factor so that their common Euclidean norm is at most
 * `maxNorm`. Returns the norm before clipping, in float32 or wider. Source: Pascanu, Mikolov and Bengio, ICML
 * 2013.
 *
 * @throws ArgumentError for a norm that is not a number above 0, and when no backward pass has written a
 * gradient since the last step.
 */
export function clipGlobalNorm(
  parameters: ReadonlyMap<string, Parameter>,
  maxNorm: number,
): NDArray {
  const op = 'clipGlobalNorm';
  checkParameterMap(op, parameters);
  checkArgument(op, 'maxNorm', maxNorm, length);
  const trained = [...parameters.values()].filter(
    (each) => each.isInitialized && isNewGradient(each.value, anyStep),
  );
  if (trained.length === 0) {
    throw new ArgumentError('no parameter has a gradient that no step has used', {
      op,
      advice: 'run a backward pass first',
    });
  }
  return autograd.pause(() => {
    const grads = trained.map(({ grad, dtype }) => grad!.astype(wideFloat(dtype)));
    const norm = sqrt(grads.map((grad) => grad.square().sum()).reduce((a, b) => a.add(b)));
    const factor = minimum(norm.add(1e-6).reciprocal().mul(maxNorm), 1);
    trained.forEach(({ value, dtype }, i) =>
      replaceGradient(value, grads[i].mul(factor).astype(dtype)),
    );
    return norm;
  });
}
