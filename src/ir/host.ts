import { allocate, type DType, type HostArray, type WeakKind } from '../base/dtype.js';
import { describe } from '../base/attributes/attribute.js';
import type { DimExpr } from '../base/dim/index.js';
import { writeElement } from '../base/element.js';
import { integerRange } from '../base/numbers.js';
import { ArgumentError, DTypeError, ShapeError } from '../base/errors.js';
import { type ConstantData, Tensor } from './types.js';

/** Plain data that stands for an array: a number, nested lists of numbers, or a typed array (rank 1). */
export type HostValue = number | bigint | boolean | readonly HostValue[] | HostTyped;

/** The typed arrays that have a dtype of their own. */
export type HostTyped =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int32Array
  | BigInt64Array;

/** Shape and kind of plain data, before it becomes an array. */
export interface HostDescription {
  /** Numbers and lists are weak, typed arrays and bigints are not. */
  readonly kind: DType | WeakKind;
  readonly shape: readonly number[];
}

/** Limit of nesting: deeper lists are a mistake, such as a list that contains itself. */
const greatestRank = 32;

/** The shape and kind of plain data. Ragged lists and foreign values are errors that name the place. */
export function describeHost(value: HostValue | DimExpr, op?: string): HostDescription {
  const shape: number[] = [];
  for (let level: HostValue | DimExpr = value; Array.isArray(level); level = level[0]) {
    if (shape.length === greatestRank) {
      throw new ArgumentError('lists are nested too deeply', {
        ...(op === undefined ? {} : { op }),
        expected: `at most ${greatestRank} levels`,
        actual: 'more',
      });
    }
    shape.push(level.length);
    if (level.length === 0) break;
  }
  if (shape.length === 0 && typeof value === 'object') {
    const kind = typedDType(value, op);
    refuseDetached(value as HostTyped, op);
    return { kind, shape: [(value as HostTyped).length] };
  }
  const kinds = kindsIn(value, shape, op);
  return { kind: ranked.find((kind) => kinds.has(kind)) ?? 'weak-float', shape };
}

/** The first of these kinds that occurs in a list is the list's kind; an empty list is of numbers. */
const ranked = ['weak-float', 'int64', 'weak-int', 'weak-bool'] as const;

function kindsIn(
  value: unknown,
  shape: readonly number[],
  op: string | undefined,
): ReadonlySet<DType | WeakKind> {
  const kinds = new Set<DType | WeakKind>();
  const path: number[] = [];
  const visit = (entry: unknown): void => {
    if (!Array.isArray(entry)) {
      const kind = kindOfElement(entry, path, op);
      if (path.length !== shape.length) throw ragged(shape, path, 'a single value', op);
      kinds.add(kind);
      return;
    }
    if (entry.length !== shape[path.length]) {
      throw ragged(shape, path, `a list of ${entry.length}`, op);
    }
    path.push(0);
    for (let i = 0; i < entry.length; i++) {
      path[path.length - 1] = i;
      visit(entry[i]);
    }
    path.pop();
  };
  visit(value);
  return kinds;
}

function kindOfElement(
  value: unknown,
  path: readonly number[],
  op: string | undefined,
): DType | WeakKind {
  if (typeof value === 'number') return Number.isInteger(value) ? 'weak-int' : 'weak-float';
  if (typeof value === 'boolean') return 'weak-bool';
  if (typeof value === 'bigint') return 'int64';
  throw foreign(value, path, op);
}

function foreign(value: unknown, path: readonly number[], op: string | undefined): ArgumentError {
  return new ArgumentError(`an array cannot hold ${describe(value)}`, {
    ...(op === undefined ? {} : { op }),
    expected: 'an array, numbers, booleans, bigints, typed arrays, or nested lists of numbers',
    actual: path.length === 0 ? describe(value) : `${describe(value)} at [${path.join(', ')}]`,
    ...(value instanceof Tensor && { advice: 'join arrays with stack or concat' }),
  });
}

function ragged(
  shape: readonly number[],
  path: readonly number[],
  actual: string,
  op: string | undefined,
): ShapeError {
  const extent = shape[path.length];
  return new ShapeError('nested lists must all have one length at each level', {
    ...(op === undefined ? {} : { op }),
    expected: extent === undefined ? 'a single value' : `a list of ${extent}`,
    actual: `${actual} at [${path.join(', ')}]`,
  });
}

function typedDType(value: unknown, op: string | undefined): DType {
  if (value instanceof Float32Array) return 'float32';
  if (value instanceof Float64Array) return 'float64';
  if (value instanceof Int32Array) return 'int32';
  if (value instanceof BigInt64Array) return 'int64';
  if (value instanceof Int8Array) return 'int8';
  if (value instanceof Uint8Array || value instanceof Uint8ClampedArray) return 'uint8';
  if (!ArrayBuffer.isView(value) || value instanceof DataView) throw foreign(value, [], op);
  throw new DTypeError('there is no dtype for typed arrays of this kind', {
    ...(op === undefined ? {} : { op }),
    expected: 'Float32Array, Float64Array, Int8Array, Uint8Array, Int32Array or BigInt64Array',
    actual: describe(value),
    advice: 'copy the elements into one of those first',
  });
}

/** A transferred (detached) array has lost its elements and looks like an empty one. */
function refuseDetached(value: HostTyped, op: string | undefined): void {
  if (value.length > 0) return;
  try {
    // The constructor throws for detached buffers; before Node 22 there is no other way to detect them.
    void new Uint8Array(value.buffer);
  } catch {
    throw new ArgumentError('the buffer of a typed array is detached', {
      ...(op === undefined ? {} : { op }),
      expected: 'elements that were not transferred, to a worker for one',
      actual: `${describe(value)} without its elements`,
      advice: 'copy the elements before the transfer: array.slice()',
    });
  }
}

/** Plain data as a constant of the dtype. Numbers that the dtype cannot hold at all are errors. */
export function hostConstant(value: HostValue | DimExpr, dtype: DType, op?: string): ConstantData {
  const { shape } = describeHost(value, op);
  const data = allocate(
    dtype,
    shape.reduce((size, extent) => size * extent, 1),
  );
  if (ArrayBuffer.isView(value) && typedDType(value, op) === dtype) {
    data.set(value as never); // the same elements; set converts none of them
    return { type: { dtype, shape }, data };
  }
  let at = 0;
  const write = (entry: HostValue): void => {
    if (Array.isArray(entry)) entry.forEach(write);
    else if (typeof entry === 'object')
      for (const element of entry as Iterable<number | bigint>) put(element);
    else put(entry);
  };
  const put = (element: number | bigint | boolean): void => {
    checkRange(dtype, element, op);
    writeElement(dtype, data, at++, element);
  };
  write(value as HostValue); // a size was refused above
  return { type: { dtype, shape }, data: data satisfies HostArray };
}

function checkRange(
  dtype: DType,
  element: number | bigint | boolean,
  op: string | undefined,
): void {
  const range = integerRange(dtype);
  if (range === null || typeof element === 'boolean') return;
  const whole = typeof element === 'bigint' || Number.isInteger(element);
  // Numbers and bigints compare exactly.
  if (whole && element >= range[0] && element <= range[1]) return;
  throw new DTypeError(`${describe(element)} is not a value of ${dtype}`, {
    ...(op === undefined ? {} : { op }),
    expected: `an integer from ${range[0]} to ${range[1]}`,
    actual: describe(element),
    advice: 'choose another dtype, or convert the data first',
  });
}
