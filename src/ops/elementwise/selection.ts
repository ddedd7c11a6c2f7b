import * as attr from '../../base/attribute.js';
import { type DType, promoteAll } from '../../base/dtype.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare.js';
import { broadcastShapes, inferElementwise } from '../infer.js';
import { elementwise } from '../lowering.js';
import { sumTo } from '../reduction/sum.js';
import { isFinite } from './classification.js';

/** `where(condition, x, y)`; shapes broadcast. */
export type Where = <T extends Tensor = DefaultTensor>(
  condition: Input<T>,
  x: Input<T>,
  y: Input<T>,
) => T;

/**
 * `x` where the condition holds, `y` elsewhere; all three broadcast. The condition is converted to
 * bool (`!= 0`), `x` and `y` to their common dtype. The element not chosen has no influence at all:
 * its gradient is zero, and a NaN in it does not spread.
 */
export const where: OperatorFunction<Where> = operator({
  name: 'where',
  family: 'elementwise',
  attributes: {},
  operands: ([_condition, x, y]) => {
    const common = promoteAll([x, y]);
    return ['bool', common, common];
  },
  call: (condition, x, y) => ({ inputs: [condition, x, y], attributes: {} }),
  infer: ({ inputs }) => [
    {
      dtype: inputs[1].dtype,
      shape: broadcastShapes('where', ...inputs.map((input) => input.shape)),
    },
  ],
  gradient: ({ inputs: [condition, x, y], grads: [g], needs }) => [
    null,
    needs[1] ? sumTo(where(condition, g!, 0), x.type.shape) : null,
    needs[2] ? sumTo(where(condition, 0, g!), y.type.shape) : null,
  ],
  lowering: elementwise(([condition, x, y]) => e.select(condition, x, y)),
  samples: [
    { args: [tensor(['n', 3], { dtype: 'bool' }), tensor(['n', 1]), tensor([3])] },
    { args: [tensor(['n'], { dtype: 'bool' }), tensor(['n'], { dtype: 'int64' }), 0] },
  ],
});

/** What replaces NaN and the infinities; null stands for the greatest and least finite value. */
export interface Replacements {
  /** Default 0. */
  readonly nan?: number;
  readonly posinf?: number | null;
  readonly neginf?: number | null;
}

/** `nanToNum(x, { nan, posinf, neginf })`. */
export type NanToNum = <T extends Tensor = DefaultTensor>(x: Input<T>, options?: Replacements) => T;

/**
 * Finite numbers in place of NaN and the infinities: 0, and the ends of the dtype's finite range unless
 * others are given. Nothing flows back through what was replaced. Integers stay as they are.
 */
export const nanToNum: OperatorFunction<NanToNum> = operator({
  name: 'nanToNum',
  family: 'elementwise',
  attributes: {
    nan: attr.number,
    posinf: attr.optional(attr.number),
    neginf: attr.optional(attr.number),
  },
  call: (x, options) => ({
    inputs: [x],
    attributes: {
      nan: options?.nan ?? 0,
      posinf: options?.posinf ?? null,
      neginf: options?.neginf ?? null,
    },
  }),
  infer: inferElementwise('nanToNum'),
  gradient: ({ inputs: [x], grads: [g] }) => [where(isFinite(x), g!, 0)],
  lowering: elementwise<{
    readonly nan: number;
    readonly posinf: number | null;
    readonly neginf: number | null;
  }>(([x], { attributes: { nan, posinf, neginf }, outputType: { dtype } }) => {
    const top = greatest[dtype];
    if (top === undefined) return x;
    const above = e.select(e.eq(x, Infinity), posinf ?? top, x);
    const below = e.select(e.eq(x, -Infinity), neginf ?? -top, above);
    return e.select(e.eq(x, x), below, nan);
  }),
  samples: [
    { args: [tensor([4], { values: [1, Infinity, -Infinity, NaN] })], differentiable: false }, // not finite
    { args: [tensor(['n']), { nan: 1, posinf: 2, neginf: 3 }] },
    { args: [tensor(['n'], { dtype: 'int32' })] },
  ],
});

/** The greatest finite value. */
const greatest: Partial<Record<DType, number>> = {
  bfloat16: (2 - 2 ** -7) * 2 ** 127,
  float16: 65504,
  float32: (2 - 2 ** -23) * 2 ** 127,
  float64: Number.MAX_VALUE,
};
