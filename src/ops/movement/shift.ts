import * as attr from '../../base/attributes/attribute.js';
import { subDim } from '../../base/dim/index.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { normalizeAxis } from '../declare/infer.js';
import { example } from '../declare/law.js';
import { computeScalar } from '../declare/lowering.js';
import { clamped, indexConstant } from '../loops.js';

/**
 * `x` shifted along an axis by `count` elements, towards larger indices if positive. Elements shifted out are
 * lost; zeros are shifted in. The shape stays the same, for every extent.
 */
export const shift: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, count: number, axis?: number) => T
> = operator({
  name: 'shift',
  family: 'movement',
  attributes: { count: attr.int, axis: attr.int },
  operands: 'keep',
  call: (x, count, axis = -1) => ({ inputs: [x], attributes: { count, axis } }),
  infer: ({ inputs: [x], attributes: { axis } }) => {
    normalizeAxis('shift', axis, x.shape.length);
    return [x];
  },
  gradient: ({ grads: [g], attributes: { count, axis } }) => [shift(g!, -count, axis)],
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [x], inputTypes: [{ shape }], index, extent, attributes }) => {
      const axis = normalizeAxis('shift', attributes.axis, shape.length);
      const from = e.sub(index[axis], indexConstant(attributes.count));
      const last = extent(subDim(shape[axis], 1));
      const isInside = e.and(e.ge(from, 0), e.le(from, last));
      const element = x.at(index.with(axis, clamped(from, 0, last)));
      return e.select(isInside, element, e.constant(computeScalar(x.dtype), 0));
    },
  },
  simplify: [
    {
      name: 'no-shift',
      law: 'shift(x, 0) = x',
      cases: [example([tensor(['n', 3])], (x) => shift(x, 0))],
      apply: ({ inputs: [x], attributes: { count } }) => (count === 0 ? x : null),
    },
  ],
  samples: [
    { args: [tensor(['n', 'm']), 1] },
    { args: [tensor(['n', 2]), -2, 0] },
    { args: [tensor(['n'], { dtype: 'int64' }), 1] },
  ],
});
