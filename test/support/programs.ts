import type { DType } from '../../src/base/dtype.js';
import { allocate } from '../../src/base/dtype.js';
import { type Element, readElement, writeElement } from '../../src/base/element.js';
import { Program, type Value } from '../../src/ir/program.js';
import type { TensorType } from '../../src/ir/types.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { Storage } from '../../src/runtime/memory/storage.js';

/** A program with named inputs; `build` makes its outputs from them. */
export function programOf<I extends Readonly<Record<string, TensorType>>>(
  inputs: I,
  build: (
    values: { readonly [K in keyof I]: Value },
    program: Program,
  ) => Readonly<Record<string, Value>>,
): Program {
  const program = new Program();
  const values = Object.fromEntries(
    Object.entries(inputs).map(([name, type]) => [name, program.variable(name, type)]),
  ) as { [K in keyof I]: Value };
  const outputs = build(values, program);
  program.setOutputs(Object.entries(outputs).map(([name, value]) => ({ name, value })));
  return program;
}

/** An array at rest with these elements, as the user sees them. */
export function operand(
  dtype: DType,
  shape: readonly number[],
  elements: readonly Element[],
): Operand {
  const home = allocate(dtype, elements.length);
  elements.forEach((element, i) => writeElement(dtype, home, i, element));
  return { storage: new Storage(dtype, home), shape };
}

export function floats(shape: readonly number[], elements: readonly number[]): Operand {
  return operand('float32', shape, elements);
}

export function elementsOf({ storage }: Operand): Element[] {
  const { dtype, host, length } = storage;
  const elements: Element[] = [];
  for (let i = 0; i < length; i++) elements.push(readElement(dtype, host, i));
  return elements;
}
