import type { DType, WeakKind } from '../../base/dtype.js';
import type { DimExpr } from '../../base/dim/index.js';
import type { HostValue } from '../../ir/host.js';
import type { Promotion } from './array-methods.js';
import type { NDArray } from './ndarray.js';

/*
 * The dtypes of results, as types. They are there to help who reads and writes code, not to refuse any: where
 * a dtype is not known the type parameter is the union of those that it may be, and such an array may stand
 * wherever one of them is wanted.
 *
 * `extends infer D extends DType` bounds a result without working out what every operand there is would lead to,
 * which would take the compiler longer than all the rest.
 */

/** The dtypes of floating point numbers. */
export type FloatDType = 'bfloat16' | 'float16' | 'float32' | 'float64';

/** JavaScript's form of the elements of each dtype: one element, and all of them. */
interface Elements {
  readonly bool: Form<boolean, Uint8Array>;
  readonly uint8: Form<number, Uint8Array>;
  readonly int8: Form<number, Int8Array>;
  readonly int32: Form<number, Int32Array>;
  readonly int64: Form<bigint, BigInt64Array>;
  readonly bfloat16: Form<number, Float32Array>;
  readonly float16: Form<number, Float32Array>;
  readonly float32: Form<number, Float32Array>;
  readonly float64: Form<number, Float64Array>;
}

interface Form<Item, Data> {
  readonly item: Item;
  readonly data: Data;
}

/** One element as `item` reads it: a number, a bigint for int64, a boolean for bool. */
export type Item<D extends DType = DType> = Elements[D]['item'];

/** The typed array that `data` reads; 16-bit floats are read as float32, bool as 0 and 1. */
export type ArrayData<D extends DType = DType> = Elements[D]['data'];

/** Array argument of an operator: an array, or a value that is converted to one. */
export type ArrayInput = NDArray | PlainInput;

/** Value that is converted to an array: a number, a list of them, a typed array, or a size of captured code. */
export type PlainInput = HostValue | DimExpr;

/** The dtype of an operand, or the kind of a number, which takes its width from the arrays beside it. */
export type KindOf<X> = [HostValue] extends [X] ? DType | WeakKind : OneKind<X>;

type OneKind<X> = X extends DType
  ? X
  : // An operand that is left out decides nothing.
    X extends null
    ? 'weak-bool'
    : X extends NDArray<infer D>
      ? D
      : X extends boolean
        ? 'weak-bool'
        : X extends number
          ? NumberKind<X>
          : X extends bigint
            ? 'int64'
            : X extends TypedArrays[keyof TypedArrays]
              ? TypedKind<X>
              : X extends readonly (infer E)[]
                ? [E] extends [never]
                  ? 'weak-float'
                  : KindOf<E>
                : 'weak-int';

type NumberKind<X extends number> = `${X}` extends `${bigint}`
  ? 'weak-int'
  : number extends X
    ? 'weak-int' | 'weak-float'
    : 'weak-float';

/** The typed arrays that have a dtype of their own. */
interface TypedArrays {
  readonly uint8: Uint8Array | Uint8ClampedArray;
  readonly int8: Int8Array;
  readonly int32: Int32Array;
  readonly int64: BigInt64Array;
  readonly float32: Float32Array;
  readonly float64: Float64Array;
}

type TypedKind<X> = {
  [D in keyof TypedArrays]: X extends TypedArrays[D] ? D : never;
}[keyof TypedArrays];

/** The dtype of an operand: numbers alone are float32, booleans bool. */
export type DTypeOf<X> = Settled<KindOf<X>> extends infer D extends DType ? D : never;

type Settled<K extends DType | WeakKind> = K extends DType
  ? K
  : K extends 'weak-bool'
    ? 'bool'
    : 'float32';

/** The dtype in which arithmetic between two operands happens; each an operand or a dtype. */
export type Promoted<X, Y> =
  Settled<Promotion[KindOf<X>][KindOf<Y>]> extends infer D extends DType ? D : never;

/** The common dtype of the operands in a list. */
export type Joined<X> = JoinedKinds<KindOf<X>> extends infer D extends DType ? D : never;

type JoinedKinds<K extends DType | WeakKind> = [K] extends [WeakKind]
  ? Settled<K>
  : Settled<Promotion[Exclude<K, WeakKind>][K]>;
