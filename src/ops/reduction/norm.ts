import * as attr from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import type { Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { div, mul, square } from '../elementwise/arithmetic.js';
import { equal } from '../elementwise/comparison.js';
import { cast } from '../elementwise/conversion.js';
import { pow } from '../elementwise/power.js';
import { sqrt } from '../elementwise/root.js';
import { where } from '../elementwise/selection.js';
import { abs, sign } from '../elementwise/sign.js';
import { normalizeAxes, reducedShape } from '../declare/infer.js';
import { type Axes, axisList, type ReductionOptions } from '../signatures.js';
import { max, min } from './extremum.js';
import { checkNotEmpty } from './reduce.js';
import { restoreAxes, sum, unreduce } from './sum.js';

export interface NormOptions extends ReductionOptions {
  /**
   * The exponent, not 0: 2 (default) is Euclidean, 1 sums magnitudes, ±Infinity selects the greatest or least
   * magnitude.
   */
  readonly ord?: number;
}

/**
 * The `ord`-norm of the elements over axes, all by default, taken as one vector:
 * `sum(|x| ** ord) ** (1 / ord)`. Integers become float32. Where the norm is 0 its gradient is 0.
 */
export const norm: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, axis?: Axes, options?: NormOptions) => T
> = operator({
  name: 'norm',
  options: { at: 2, names: ['ord', 'keepdims'] },
  family: 'reduction',
  attributes: { axes: attr.optional(attr.ints), keepdims: attr.bool, ord: attr.number },
  operands: 'float',
  call: (x, axis, options) => {
    const { ord = 2, keepdims = false } = options ?? {};
    if (ord === 0 || Number.isNaN(ord)) {
      throw new ArgumentError('there is no such norm', {
        op: 'norm',
        expected: 'an exponent other than 0',
        actual: String(ord),
        advice: 'countNonzero counts the elements that are not 0',
      });
    }
    return { inputs: [x], attributes: { axes: axisList(axis), keepdims, ord } };
  },
  infer: ({ inputs: [x], attributes: { axes, keepdims, ord }, require }) => {
    const folded = normalizeAxes('norm', axes, x.shape.length);
    if (!(Number.isFinite(ord) && ord > 0)) checkNotEmpty('norm', x.shape, folded, require);
    return [{ dtype: x.dtype, shape: reducedShape(x.shape, folded, keepdims) }];
  },
  gradient: ({ inputs: [x], outputs: [result], grads: [g], attributes: { axes, ord } }) => {
    const { shape } = x.type;
    const over = unreduce(g!, shape, axes);
    if (ord === 1) return [mul(over, sign(x))];
    const whole = unreduce(result, shape, axes);
    if (!Number.isFinite(ord)) {
      const attains = equal(abs(x), whole);
      const count = sum(cast(attains, x.type.dtype), axes, { keepdims: true });
      const part = div(restoreAxes(g!, shape, axes), count);
      return [where(attains, mul(unreduce(part, shape, axes), sign(x)), 0)];
    }
    // Away from 0 the slope is sign(x) * (|x| / norm) ** (ord - 1).
    const isFlat = equal(whole, 0);
    const ratio = div(x, where(isFlat, 1, whole));
    const slope = ord === 2 ? ratio : mul(sign(ratio), pow(abs(ratio), ord - 1));
    return [mul(over, where(isFlat, 0, slope))];
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], attributes: { axes, keepdims, ord } }) => {
      const options = { keepdims };
      if (ord === Infinity) return [max(abs(x), axes, options)];
      if (ord === -Infinity) return [min(abs(x), axes, options)];
      if (ord === 1) return [sum(abs(x), axes, options)];
      if (ord === 2) return [sqrt(sum(square(x), axes, options))];
      return [pow(sum(pow(abs(x), ord), axes, options), 1 / ord)];
    },
  },
  samples: [
    { args: [tensor(['n', 3])], least: { n: 1 } },
    { args: [tensor(['n', 'm']), 1, { keepdims: true, ord: 1 }] },
    { args: [tensor(['n', 3]), -1, { ord: 3 }] },
    { args: [tensor(['n', 3]), -1, { ord: Infinity }] },
    { args: [tensor(['n', 3]), 0, { ord: -Infinity }], least: { n: 1 } },
    { args: [tensor(['n'], { dtype: 'int32' })] },
  ],
});
