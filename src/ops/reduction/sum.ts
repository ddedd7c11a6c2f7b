import * as attr from '../../base/attribute.js';
import { isFloat, promote } from '../../base/dtype.js';
import { type Dim, sameDim } from '../../base/dim.js';
import type { Shape, Tensor } from '../../ir/types.js';
import * as e from '../../loop/build.js';
import { operator, type OperatorFunction, tensor } from '../declare.js';
import { normalizeAxes, reducedShape } from '../infer.js';
import { computeScalar } from '../lowering.js';
import type { Reduction } from '../signatures.js';

/** The sum over axes. Integers and bool add up as int64; an empty sum is 0. */
export const sum: OperatorFunction<Reduction> = operator({
  name: 'sum',
  family: 'reduction',
  attributes: { axes: attr.optional(attr.ints), keepdims: attr.bool },
  call: (x, axis, options) => ({
    inputs: [x],
    attributes: {
      axes: typeof axis === 'number' ? [axis] : (axis ?? null),
      keepdims: options?.keepdims ?? false,
    },
  }),
  infer: ({ inputs: [x], attributes: { axes, keepdims } }) => [
    {
      dtype: isFloat(x.dtype) ? x.dtype : promote(x.dtype, 'int64'),
      shape: reducedShape(x.shape, normalizeAxes('sum', axes, x.shape.length), keepdims),
    },
  ],
  gradient: 'none', // replaced when movement operators land: broadcast the gradient back
  lowering: {
    kind: 'reduce',
    axes: ({ axes }, rank) => normalizeAxes('sum', axes, rank),
    initial: ({ outputDTypes: [dtype] }) => [e.constant(computeScalar(dtype), 0)],
    step: ([total], element) => [e.add(total, e.cast(total.type.scalar, element))],
    combine: ([a], [b]) => [e.add(a, b)],
    finish: ([total]) => [total],
  },
  samples: [{ args: [tensor(['n', 'm'])] }, { args: [tensor(['n', 'm']), 1, { keepdims: true }] }],
});

/** The adjoint of broadcasting: `x` summed over whatever axes `shape` had stretched or lacked. */
export function sumTo<T extends Tensor>(x: T, shape: Shape): T {
  const from = x.type.shape;
  const lead = from.length - shape.length;
  const stretched = from.flatMap((dim: Dim, axis) =>
    axis >= lead && shape[axis - lead] === 1 && !sameDim(dim, 1) ? [axis] : [],
  );
  const kept = stretched.length === 0 ? x : (sum(x, stretched, { keepdims: true }) as T);
  return lead === 0
    ? kept
    : (sum(
        kept,
        Array.from({ length: lead }, (_, axis) => axis),
      ) as T);
}
