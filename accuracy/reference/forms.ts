import { allocate, type DType, isFloat } from '../../src/base/dtype.js';
import type { Attributes } from '../../src/base/attributes/schema.js';
import { readElement, writeElement } from '../../src/base/element.js';
import { Program, type Value } from '../../src/ir/program.js';
import { type Declaration, type SampleArray } from '../../src/ops/declare/declare.js';
import { operandDTypes } from '../../src/ops/declare/convert.js';
import * as operators from '../../src/ops/elementwise/index.js';
import { registry } from '../../src/ops/registry.js';
import { compile } from '../../src/runtime/compile/compile.js';
import type { CompileOptions } from '../../src/runtime/execution/executable.js';
import { Storage } from '../../src/runtime/memory/storage.js';
import type { FloatFormat } from './formats.js';

/** An elementwise operator with attributes: a function of floats that gives floats. */
export interface Form {
  /** The operator's name, and its attributes where it has any: `polygamma(order: 1)`. */
  readonly label: string;
  readonly declaration: Declaration;
  readonly attributes: Attributes;
  /** How many operands it takes. */
  readonly count: number;
}

const isArray = (arg: unknown): arg is SampleArray =>
  typeof arg === 'object' && arg !== null && 'kind' in arg;

function labelOf(name: string, attributes: Attributes): string {
  const shown = Object.entries(attributes)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([key, value]) => `${key}: ${String(value)}`);
  return shown.length === 0 ? name : `${name}(${shown.join(', ')})`;
}

/** Every form that the samples of elementwise operators call, in the order of the alphabet. */
export const forms: readonly Form[] = collect();

function collect(): readonly Form[] {
  const found = new Map<string, Form>();
  for (const declaration of registry.values()) {
    if (declaration.family !== 'elementwise') continue;
    for (const { args } of declaration.samples) {
      if (!args.some((arg) => isArray(arg) && isFloat(arg.dtype))) continue;
      const { inputs, attributes } = sampled(declaration, args);
      const label = labelOf(declaration.name, attributes);
      const form = { label, declaration, attributes, count: inputs };
      if (!found.has(label) && isFloat(resultOf(form, 'float32'))) found.set(label, form);
    }
  }
  return [...found.values()].sort((a, b) => (a.label < b.label ? -1 : 1));
}

/** The attributes and the number of operands that a sample's arguments mean. */
function sampled(
  { name }: Declaration,
  args: readonly unknown[],
): { readonly attributes: Attributes; readonly inputs: number } {
  const program = new Program();
  const given = args.map((arg, i) =>
    isArray(arg) ? program.variable(`x${i}`, { dtype: arg.dtype, shape: [1] }) : arg,
  );
  const result = (operators as unknown as Record<string, (...args: unknown[]) => Value>)[name](
    ...given,
  );
  const node = program.node(result.node);
  if (node.kind !== 'call') throw new Error(`${name} of a sample is no call`);
  return { attributes: node.attributes, inputs: program.operands(result.node).length };
}

/** Appends the form to a program; operands that are to be bool are converted. */
function call({ declaration, attributes }: Form, inputs: readonly Value[]): Value {
  const wanted = operandDTypes(declaration, { inputs, attributes });
  const operands = inputs.map((input, i) =>
    input.type.dtype === wanted[i] ? input : operators.cast(input, wanted[i]),
  );
  return operands[0].program.append(declaration, operands, attributes)[0];
}

function build(form: Form, dtype: DType, length: number): Program {
  const program = new Program();
  const inputs = Array.from({ length: form.count }, (_, i) =>
    program.variable(`x${i}`, { dtype, shape: [length] }),
  );
  program.setOutputs([{ name: 'y', value: call(form, inputs) }]);
  return program;
}

function resultOf(form: Form, dtype: DType): DType {
  return build(form, dtype, 1).outputs[0].value.type.dtype;
}

/** What Kaon computes for columns of operands. */
export function computed(
  form: Form,
  { dtype }: FloatFormat,
  columns: readonly (readonly number[])[],
  target: NonNullable<CompileOptions['target']>,
): readonly number[] {
  const { length } = columns[0];
  const operands = columns.map((column) => {
    const home = allocate(dtype, length);
    column.forEach((x, i) => writeElement(dtype, home, i, x));
    return { storage: new Storage(dtype, home), shape: [length] };
  });
  const [{ storage }] = compile(build(form, dtype, length), { target }).run(operands);
  return Array.from({ length }, (_, i) => Number(readElement(dtype, storage.host, i)));
}
