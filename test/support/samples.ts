import { symbol } from '../../src/base/dim/index.js';
import { allocate, type DType, isFloat, kindOf } from '../../src/base/dtype.js';
import { writeElement } from '../../src/base/element.js';
import { Program, Value } from '../../src/ir/program.js';
import {
  type Declaration,
  installFrontend,
  type Sample,
  type SampleArray,
} from '../../src/ops/declare/declare.js';
import * as operators from '../../src/ops/index.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { Storage } from '../../src/runtime/memory/storage.js';

/** Repeatable numbers in [0, 1): a 32-bit mixing generator. */
export function generator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** A function from the user's side of each operator. */
const functions = new Map<string, (...args: readonly unknown[]) => unknown>(
  Object.values(operators).flatMap((exported) =>
    typeof exported === 'function' && 'declaration' in exported
      ? [
          [
            (exported.declaration as Declaration).name,
            exported as (...args: readonly unknown[]) => unknown,
          ] as const,
        ]
      : [],
  ),
);

export interface SampleCase {
  readonly declaration: Declaration;
  readonly sample: Sample;
  readonly label: string;
}

/** Every sample of every operator. */
export function sampleCases(declarations: Iterable<Declaration>): SampleCase[] {
  return [...declarations].flatMap((declaration) =>
    declaration.samples.map((sample, i) => ({
      declaration,
      sample,
      label: `${declaration.name} sample ${i}`,
    })),
  );
}

function isSampleArray(value: unknown): value is SampleArray {
  return (
    typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'array'
  );
}

/** Options, rather than a list or an object of a class. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  );
}

/** The arrays among a sample's arguments, in lists and options too, in order. */
export function sampleArrays(sample: Sample): SampleArray[] {
  const found: SampleArray[] = [];
  const visit = (value: unknown): void => {
    if (isSampleArray(value)) found.push(value);
    else if (Array.isArray(value) || isRecord(value)) Object.values(value).forEach(visit);
  };
  sample.args.forEach(visit);
  return found;
}

/** Sizes for the named extents of a sample: each at least what the sample asks for. */
export function bindSizes(sample: Sample, choose: (name: string) => number): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const { shape } of sampleArrays(sample)) {
    for (const extent of shape) {
      if (typeof extent === 'string' && !sizes.has(extent)) {
        sizes.set(extent, Math.max(sample.least?.[extent] ?? 0, choose(extent)));
      }
    }
  }
  return sizes;
}

export interface ProgramOptions {
  /** Sizes of named extents; without them they stay symbols. */
  readonly sizes?: ReadonlyMap<string, number>;
  /** Replaces float dtypes, for finite differences. */
  readonly float?: DType;
}

function sampleDType(array: SampleArray, options: ProgramOptions): DType {
  return options.float !== undefined && isFloat(array.dtype) ? options.float : array.dtype;
}

/** A program of one call, as the sample writes it; its inputs are the sample's arrays in order. */
export function sampleProgram(
  { declaration, sample }: SampleCase,
  options: ProgramOptions = {},
): Program {
  const program = new Program();
  let count = 0;
  const place = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(place);
    if (!isSampleArray(value)) {
      if (!isRecord(value)) return value;
      return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, place(entry)]));
    }
    const shape = value.shape.map((extent) =>
      typeof extent === 'number'
        ? extent
        : (options.sizes?.get(extent) ?? symbol(extent, { min: sample.least?.[extent] ?? 0 })),
    );
    return program.variable(`x${count++}`, { dtype: sampleDType(value, options), shape });
  };
  const call = functions.get(declaration.name)!;
  // An operator without operands cannot tell its program, so it asks the front floor, which is this one.
  const previous = installFrontend((op, { attributes }) => program.append(op, [], attributes));
  const result = call(...sample.args.map(place));
  installFrontend(previous);
  const values = result instanceof Value ? [result] : (Object.values(result as object) as Value[]);
  program.setOutputs(values.map((value, i) => ({ name: `y${i}`, value })));
  return program;
}

/** Random contents for a sample's arrays at given sizes. */
export function sampleOperands(
  sample: Sample,
  sizes: ReadonlyMap<string, number>,
  random: () => number,
  options: ProgramOptions = {},
): Operand[] {
  return sampleArrays(sample).map((array) => {
    const dtype = sampleDType(array, options);
    const shape = array.shape.map((extent) =>
      typeof extent === 'number' ? extent : sizes.get(extent)!,
    );
    const length = shape.reduce((a, b) => a * b, 1);
    const data = allocate(dtype, length);
    for (let i = 0; i < length; i++) {
      const value =
        array.values !== undefined
          ? array.values[i % array.values.length]
          : kindOf(dtype) === 'int'
            ? Math.floor(array.low + random() * (array.high - array.low + 1))
            : kindOf(dtype) === 'bool'
              ? array.low === array.high
                ? array.low !== 0
                : random() < 0.5
              : array.low + random() * (array.high - array.low);
      writeElement(dtype, data, i, value);
    }
    return { storage: new Storage(dtype, data), shape };
  });
}
