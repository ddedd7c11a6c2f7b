import * as attr from '../../base/attributes/attribute.js';
import { isFloat, promoteAll } from '../../base/dtype.js';
import { greatestFinite } from '../../base/numbers.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { broadcastShapes, inferElementwise } from '../declare/infer.js';
import { callOf, example, integerDTypes, numericDTypes } from '../declare/law.js';
import { elementwise } from '../declare/lowering.js';
import { sumTo } from '../reduction/sum.js';
import { isFilledWith, broadcastLike } from '../uniform.js';
import { isFinite } from './classification.js';
import { logicalNot } from './logic.js';

const chosen = [
  tensor(['n', 3], { dtype: 'bool' }),
  tensor(['n', 3]),
  tensor([3]),
  tensor(['n', 1]),
];

/** `where(condition, x, y)`; shapes broadcast. */
export type Where = <T extends Tensor = DefaultTensor>(
  condition: Input<T>,
  x: Input<T>,
  y: Input<T>,
) => T;

/**
 * `x` where the condition holds, `y` elsewhere; all three broadcast. The condition is converted to bool (`!=
 * 0`), `x` and `y` to their common dtype. The element that is not chosen has no influence: its gradient is
 * zero, and its NaN does not spread.
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
  infer: ({ inputs, require }) => [
    {
      dtype: inputs[1].dtype,
      shape: broadcastShapes(
        'where',
        inputs.map((input) => input.shape),
        require,
      ),
    },
  ],
  gradient: ({ inputs: [condition, x, y], grads: [g], needs }) => [
    null,
    needs[1] ? sumTo(where(condition, g!, 0), x.type.shape) : null,
    needs[2] ? sumTo(where(condition, 0, g!), y.type.shape) : null,
  ],
  lowering: elementwise(([condition, x, y]) => e.select(condition, x, y)),
  simplify: [
    {
      name: 'same-choices',
      law: 'where(c, x, x) = x',
      cases: [example(chosen, (c, _x, y) => where(c, y, y), numericDTypes)],
      apply: ({ inputs: [, x, y], type }) => (x === y ? broadcastLike(x, type) : null),
    },
    {
      name: 'known-condition',
      law: 'where(true, x, y) = x, where(false, x, y) = y',
      cases: [
        example(chosen, (_c, x, y) => where(true, y, x), numericDTypes),
        example(chosen, (_c, x, y) => where(false, y, x), numericDTypes),
      ],
      apply: ({ inputs: [condition, x, y], type }) => {
        if (isFilledWith(condition, 1)) return broadcastLike(x, type);
        return isFilledWith(condition, 0) ? broadcastLike(y, type) : null;
      },
    },
    {
      name: 'condition-itself',
      law: 'where(c, true, false) = c of bool',
      cases: [example(chosen, (c) => where(c, true, false))],
      apply: ({ inputs: [condition, x, y], type }) =>
        type.dtype === 'bool' && isFilledWith(x, 1) && isFilledWith(y, 0)
          ? broadcastLike(condition, type)
          : null,
    },
    {
      name: 'not-condition',
      law: 'where(not c, x, y) = where(c, y, x)',
      cases: [example(chosen, (c, x, y) => where(logicalNot(c), x, y), numericDTypes)],
      apply: ({ inputs: [condition, x, y] }) => {
        const negated = callOf(condition, logicalNot);
        return negated && where(negated.inputs[0], y, x);
      },
    },
    {
      name: 'chosen-before',
      law: 'where(c, where(c, x, y), z) = where(c, x, where(c, y, z)) = where(c, x, z)',
      cases: [
        example(chosen, (c, x, y, z) => where(c, where(c, x, y), z), numericDTypes),
        example(chosen, (c, x, y, z) => where(c, x, where(c, y, z)), numericDTypes),
      ],
      apply: ({ inputs: [condition, x, y], type }) => {
        const [inX, inY] = [callOf(x, where), callOf(y, where)];
        if (inX?.inputs[0] === condition)
          return broadcastLike(where(condition, inX.inputs[1], y), type);
        return inY?.inputs[0] === condition
          ? broadcastLike(where(condition, x, inY.inputs[2]), type)
          : null;
      },
    },
  ],
  samples: [
    { args: [tensor(['n', 3], { dtype: 'bool' }), tensor(['n', 1]), tensor([3])] },
    { args: [tensor(['n'], { dtype: 'bool' }), tensor(['n'], { dtype: 'int64' }), 0] },
  ],
});

/** Replacements of NaN and the infinities; null stands for the greatest and least finite value. */
export interface Replacements {
  /** Default 0. */
  readonly nan?: number;
  readonly posinf?: number | null;
  readonly neginf?: number | null;
}

/** `nanToNum(x, { nan, posinf, neginf })`. */
export type NanToNum = <T extends Tensor = DefaultTensor>(x: Input<T>, options?: Replacements) => T;

/**
 * Replaces NaN by 0 and infinities by the ends of the dtype's finite range, or by other numbers. Replaced
 * elements have no gradient. Integers stay unchanged.
 */
export const nanToNum: OperatorFunction<NanToNum> = operator({
  name: 'nanToNum',
  options: { at: 1, names: ['nan', 'posinf', 'neginf'] },
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
    const top = greatestFinite(dtype);
    if (top === null) return x;
    const above = e.select(e.eq(x, Infinity), posinf ?? top, x);
    const below = e.select(e.eq(x, -Infinity), neginf ?? -top, above);
    return e.select(e.eq(x, x), below, nan);
  }),
  simplify: [
    {
      name: 'always-a-number',
      law: 'nanToNum(x) = x of integers and bool',
      cases: [example([tensor(['n', 3])], (x) => nanToNum(x), integerDTypes)],
      apply: ({ inputs: [x], type }) => (isFloat(type.dtype) ? null : x),
    },
  ],
  samples: [
    { args: [tensor([4], { values: [1, Infinity, -Infinity, NaN] })], differentiable: false }, // not finite
    { args: [tensor(['n']), { nan: 1, posinf: 2, neginf: 3 }] },
    { args: [tensor(['n'], { dtype: 'int32' })] },
  ],
});
