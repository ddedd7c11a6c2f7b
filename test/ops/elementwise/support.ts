import { allocate, type DType, type HostArray } from '../../../src/base/dtype.js';
import { type Element, readElement, writeElement } from '../../../src/base/element.js';
import type { Value } from '../../../src/ir/program.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { evaluate } from '../../support/evaluate.js';

export type Float = 'float32' | 'float64';

/** A rank-1 operand. */
export function vector(dtype: DType, values: readonly Element[]): Operand {
  const home: HostArray = allocate(dtype, values.length);
  values.forEach((value, i) => writeElement(dtype, home, i, value));
  return { storage: new Storage(dtype, home), shape: [values.length] };
}

/** The elements of an operand as a user sees them. */
export function elements({ storage }: Operand): Element[] {
  return Array.from({ length: storage.length }, (_, i) =>
    readElement(storage.dtype, storage.host, i),
  );
}

/** `f` of vectors, on the interpreter; the laws compare the other targets with it. */
export function apply(f: (...values: Value[]) => Value, ...inputs: Operand[]): Operand {
  return evaluate(inputs, f)[0];
}

/** `f` of numbers, in a float dtype. */
export function map(
  f: (...values: Value[]) => Value,
  dtype: Float,
  ...columns: (readonly number[])[]
): number[] {
  return elements(apply(f, ...columns.map((column) => vector(dtype, column)))).map(Number);
}
