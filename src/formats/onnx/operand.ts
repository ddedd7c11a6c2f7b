import { type Dim, isStatic } from '../../base/dim/index.js';
import { isFloat } from '../../base/dtype.js';
import { readElement } from '../../base/element.js';
import type { Value } from '../../ir/program.js';
import type { ConstantData, TensorType } from '../../ir/types.js';
import { constantOf, knownElementsOf } from '../../ops/known/elements.js';
import { type ElementType, elementTypeOf } from './elements.js';
import type { ImportedRegion } from './region.js';

/** Meaning of a name in a graph during import. */
export type ImportedOperand = TensorOperand | SequenceOperand | RowsOperand | OptionalOperand;

/** A sequence of tensors of known length. */
export interface SequenceOperand {
  readonly kind: 'sequence';
  readonly entries: readonly ImportedOperand[];
}

/** A sequence of tensors of one shape, to which a loop adds: as rows of an array, whose number a run may decide. */
export interface RowsOperand {
  readonly kind: 'rows';
  readonly rows: TensorOperand;
}

/** An optional operand; its presence is known. */
export interface OptionalOperand {
  readonly kind: 'optional';
  readonly entry: TensorOperand | SequenceOperand | RowsOperand | null;
}

/** Limit of elements that are treated as known numbers. */
const mostKnown = 4096;

interface TensorParts {
  readonly element: ElementType;
  readonly type: TensorType;
  /** The elements, when the file or the importer knows them. */
  readonly data?: ConstantData | undefined;
  /** Makes the value in the program of its region, at first use. */
  readonly make?: (() => Value) | undefined;
  /** True for an input of the program with a bound value, although its elements are known. */
  readonly isParameter?: boolean;
}

export class TensorOperand {
  readonly kind = 'tensor';
  readonly element: ElementType;
  readonly type: TensorType;
  readonly #parts: TensorParts;
  #data: ConstantData | undefined;
  #known: readonly Dim[] | null | undefined;
  #value: Value | undefined;

  constructor(parts: TensorParts) {
    this.element = parts.element;
    this.type = parts.type;
    this.#parts = parts;
    this.#data = parts.data;
  }

  /** Operand from a value; its element type is by default its dtype. */
  static of(value: Value, element: ElementType = elementTypeOf(value.type.dtype)): TensorOperand {
    return new TensorOperand({ element, type: value.type, make: () => value });
  }

  static constant(
    data: ConstantData,
    element: ElementType = elementTypeOf(data.type.dtype),
  ): TensorOperand {
    return new TensorOperand({ element, type: data.type, data });
  }

  /** A stored tensor that becomes an input of the program when a computation reads it. */
  static parameter(stored: TensorOperand, make: () => Value): TensorOperand {
    const { element, type } = stored;
    return new TensorOperand({ element, type, data: stored.data!, make, isParameter: true });
  }

  /** The elements in memory; null when only a run, or arithmetic, decides them. */
  get data(): ConstantData | null {
    if (this.#data === undefined) {
      const known = this.#fromSizes();
      if (known?.every(isStatic) === true) this.#data = constantOf(this.type, known);
    }
    return this.#data ?? null;
  }

  /** The elements of few integers or booleans, as numbers or sizes. */
  get known(): readonly Dim[] | null {
    if (this.#known !== undefined) return this.#known;
    const data = this.#data;
    if (data === undefined) return (this.#known = this.#fromSizes());
    if (isFloat(data.type.dtype) || data.data.length > mostKnown) return (this.#known = null);
    const { dtype } = data.type;
    const elements = Array.from({ length: data.data.length }, (_, i) =>
      Number(readElement(dtype, data.data, i)),
    );
    // Unsafe integers are not sizes.
    return (this.#known = elements.every(Number.isSafeInteger) ? elements : null);
  }

  /** Its elements as far as they are known to be sizes. */
  get sizes(): readonly Dim[] {
    return this.#fromSizes() ?? [];
  }

  /** Elements of a computed value that follow from the sizes of the inputs. */
  #fromSizes(): readonly Dim[] | null {
    const { make, data } = this.#parts;
    if (make === undefined || data !== undefined) return null;
    const value = (this.#value ??= make());
    return knownElementsOf(value.program).all(value);
  }

  /** The operand as a value of a region's program. */
  valueIn(region: ImportedRegion): Value {
    const { made } = this;
    if (made === null) return region.constant(this.data!);
    const value = region.use(made);
    const known = value === made ? null : this.#fromSizes();
    if (known !== null) knownElementsOf(value.program).learn(value, known);
    return value;
  }

  /** The value in its own region; null for a constant, which is valid in any. */
  get made(): Value | null {
    const { make, isParameter } = this.#parts;
    if (make === undefined || (isParameter !== true && this.data !== null)) return null;
    return (this.#value ??= make());
  }

  /** The operand under another element type with the same carrier dtype. */
  as(element: ElementType): TensorOperand {
    return new TensorOperand({ ...this.#parts, data: this.#data, element });
  }
}

/** Integers as a constant of rank 1, or of a shape. */
export function integers(
  values: readonly number[],
  shape: readonly number[] = [values.length],
): ConstantData {
  return { type: { dtype: 'int64', shape }, data: BigInt64Array.from(values, BigInt) };
}

/** Numbers as a float32 constant of rank 1, or of a shape. */
export function floats(
  values: readonly number[] | Float32Array<ArrayBuffer>,
  shape: readonly number[] = [values.length],
): ConstantData {
  return { type: { dtype: 'float32', shape }, data: Float32Array.from(values) };
}

/** A truth value as a constant of rank 0. */
export function truthOperand(isTrue: boolean): TensorOperand {
  const data = Uint8Array.of(Number(isTrue));
  return TensorOperand.constant({ type: { dtype: 'bool', shape: [] }, data });
}
