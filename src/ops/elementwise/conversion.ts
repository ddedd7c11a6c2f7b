import * as attr from '../../base/attributes/attribute.js';
import { bytesOf, type DType, dtypes, isFloat, kindOf } from '../../base/dtype.js';
import { exactBits, integerRange, isSigned } from '../../base/numbers.js';
import type { Value } from '../../ir/program.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { useForConversion } from '../declare/convert.js';
import { inferElementwise } from '../declare/infer.js';
import { callOf, example } from '../declare/law.js';
import { computeScalar, elementwise } from '../declare/lowering.js';
import { roundedToOdd } from '../rounding.js';

/** `cast(x, dtype)`. */
export type Cast = <T extends Tensor = DefaultTensor>(x: Input<T>, dtype: DType) => T;

/**
 * Converts elements to another dtype. To a float: rounded to nearest, ties to even, once. Float to integer:
 * truncated towards zero and saturated, with NaN as 0 (unlike in C, the same on every device). Integer to a
 * narrower integer keeps the low bits. To bool: `x != 0`, so NaN is true; from bool: 0 or 1.
 */
export const cast: OperatorFunction<Cast> = operator({
  name: 'cast',
  family: 'elementwise',
  precision: 'own',
  attributes: { dtype: attr.dtype },
  operands: 'keep',
  call: (x, dtype) => ({ inputs: [x], attributes: { dtype } }),
  infer: (context) => inferElementwise('cast', context.attributes.dtype)(context),
  gradient: ({ inputs: [x], grads: [g] }) => [
    isFloat(x.type.dtype) ? cast(g!, x.type.dtype) : null,
  ],
  lowering: elementwise<{ readonly dtype: DType }>(
    ([x], { inputs: [input], attributes: { dtype } }) =>
      roundedToOdd(dtype, isFloat(input.dtype) ? saturate(x, dtype) : x),
  ),
  simplify: [
    {
      name: 'own-dtype',
      law: 'cast(x, dtype(x)) = x',
      cases: [example([tensor(['n', 3])], (x) => cast(x, x.type.dtype), dtypes)],
      apply: ({ inputs: [x], type }) => (x.type.dtype === type.dtype ? x : null),
    },
    {
      name: 'through-wider',
      law: 'cast(cast(x, wide), t) = cast(x, t) where wide holds all of x; not integer to float to another integer',
      cases: dtypes
        .flatMap((wide) =>
          dtypes.map((last) => ({
            arrays: [tensor(['n', 3])],
            dtypes: dtypes.filter((first) => isThrough(first, wide, last)),
            build: (x: Value) => cast(cast(x, wide), last),
          })),
        )
        .filter(({ dtypes: firsts }) => firsts.length > 0),
      apply: ({ inputs: [x], type: { dtype } }) => {
        const inner = callOf(x, cast);
        if (inner === null) return null;
        const [source] = inner.inputs;
        return isThrough(source.type.dtype, x.type.dtype, dtype) ? cast(source, dtype) : null;
      },
    },
  ],
  samples: [
    { args: [tensor(['n', 2]), 'float64'] },
    { args: [tensor(['n'], { dtype: 'float64' }), 'float16'] },
    { args: [tensor(['n'], { dtype: 'float32', low: -300, high: 300 }), 'uint8'] },
    { args: [tensor(['n'], { dtype: 'int32' }), 'int64'] },
    { args: [tensor(['n'], { dtype: 'int32' }), 'bool'] },
    { args: [tensor(['n'], { dtype: 'bool' }), 'float32'] },
  ],
});

/**
 * True when converting by way of `wide` equals converting at once. Integers wrap where floats saturate, so an
 * integer must not become a narrower one by way of a float.
 */
function isThrough(first: DType, wide: DType, last: DType): boolean {
  if (first === wide || wide === last || !holds(wide, first)) return false;
  return holds(last, first) || !isFloat(wide) || isFloat(first) || kindOf(last) !== 'int';
}

/** True when every element of `narrower` is representable in `wider`. */
function holds(wider: DType, narrower: DType): boolean {
  if (wider === narrower) return true;
  if (wider === 'bool') return false;
  if (isFloat(narrower)) {
    return wider === 'float64' || (wider === 'float32' && narrower !== 'float64');
  }
  return exactBits(wider) >= exactBits(narrower) && (isSigned(wider) || !isSigned(narrower));
}

/** Clamps floats to the range of an integer narrower than its compute type, which saturates itself. */
function saturate(x: Expr, dtype: DType): Expr {
  const range = integerRange(dtype);
  if (range === null || bytesOf(dtype) === e.scalarBytes(computeScalar(dtype))) return x;
  const [least, greatest] = range.map(Number);
  return e.min(e.max(x, least), greatest);
}

useForConversion(cast.declaration);
