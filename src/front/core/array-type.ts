import { BoundedCache } from '../../base/bounded-cache.js';
import { elementCount } from '../../base/dim/index.js';
import type { DType } from '../../base/dtype.js';
import type { TensorType } from '../../ir/types.js';
import type { Operand } from '../../runtime/execution/executable.js';
import { LaterResult } from '../../runtime/execution/later-result.js';

/**
 * The type of an array whose sizes are known. Interned: while a type is in use, equal types are one object,
 * so the eager path compares ids and never shapes.
 */
export interface ArrayType extends TensorType {
  /** Unique for the life of the process. */
  readonly id: number;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** The number of elements. */
  readonly size: number;
}

/**
 * Number of cached types. A type that was evicted and comes back gets a new id, which only costs a cache miss
 * elsewhere: an id never changes its meaning.
 */
const capacity = 16384;

const interned = new BoundedCache<string, ArrayType>({ capacity });
let nextId = 1;

/** The interned type of a dtype and a static shape. */
export function arrayType(dtype: DType, shape: readonly number[]): ArrayType {
  const key = `${dtype}:${shape.join()}`;
  let type = interned.peek(key);
  if (type === undefined) {
    type = {
      id: nextId++,
      dtype,
      shape: Object.freeze([...shape]),
      size: elementCount(shape) as number,
    };
    interned.set(key, type);
  }
  return type;
}

/**
 * The type of a result whose size a device has yet to tell: whoever wants to know more than its dtype is refused until
 * the result has been read.
 */
class LaterType implements ArrayType {
  readonly dtype: DType;
  readonly #result: LaterResult;

  constructor(dtype: DType, result: LaterResult) {
    this.dtype = dtype;
    this.#result = result;
  }

  /** @throws DeviceError until it is known. */
  get known(): ArrayType {
    return arrayType(this.dtype, this.#result.shape);
  }

  get id(): number {
    return this.known.id;
  }

  get shape(): readonly number[] {
    return this.known.shape;
  }

  get size(): number {
    return this.known.size;
  }
}

/** The type of the result of a run; `before` as in `arrayTypeLike`. */
export function resultType(before: ArrayType | undefined, result: Operand): ArrayType {
  const { dtype } = result.storage;
  if (result instanceof LaterResult) return new LaterType(dtype, result);
  return arrayTypeLike(before instanceof LaterType ? undefined : before, dtype, result.shape);
}

/** The interned form of a type; undefined when a size is symbolic. */
export function staticType(type: TensorType | ArrayType): ArrayType | undefined {
  if (type instanceof LaterType) return type.known;
  if ('id' in type) return type;
  return type.shape.every((dim) => typeof dim === 'number')
    ? arrayType(type.dtype, type.shape)
    : undefined;
}

/** `arrayType` with a fast path for the same type as before, which needs no key. */
function arrayTypeLike(
  before: ArrayType | undefined,
  dtype: DType,
  shape: readonly number[],
): ArrayType {
  return before?.dtype === dtype && sameSizes(before.shape, shape)
    ? before
    : arrayType(dtype, shape);
}

function sameSizes(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let axis = 0; axis < a.length; axis++) if (a[axis] !== b[axis]) return false;
  return true;
}
