import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readElement, writeElement } from '../../src/base/element.js';
import { allocate, isFloat } from '../../src/base/dtype.js';
import type { Program, Value } from '../../src/ir/program.js';
import { add } from '../../src/ops/index.js';
import { registry } from '../../src/ops/registry.js';
import { gradient } from '../../src/passes/gradient/gradient.js';
import { compile } from '../../src/runtime/compile/compile.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { type Narrow, rounded, ulpOf } from '../support/rounding.js';
import {
  bindSizes,
  generator,
  type SampleCase,
  sampleArrays,
  sampleCases,
  sampleOperands,
  sampleProgram,
} from '../support/samples.js';
import { Storage } from '../../src/runtime/memory/storage.js';

/*
 * What is made of several operators, gradients above all, is computed in float32 for floats of 16 bits, and
 * rounded once: it is the float64 result, rounded, to a unit in the last place.
 */

const families = new Set(['elementwise', 'reduction', 'normalization']);

/** Operators that promise something else. */
const others = new Map([
  ['cast', 'the dtype is its attribute; see test/ops/elementwise/conversion.test.ts'],
  ['nanToNum', 'the greatest float is that of the dtype'],
  ['attention', 'a kernel, and so is its gradient, which round what they hand over'],
  ['attentionGradient', 'the same'],
]);

/** The results and, for weights of 1, the gradients of the float inputs. */
function withGradients(sampleCase: SampleCase, float: Narrow | 'float64', sizes: ReadonlyMap<string, number>): Program {
  const program = sampleProgram(sampleCase, { float, sizes });
  if (sampleCase.declaration.gradient === 'none') return program;
  const isFloating = ({ type }: Value): boolean => isFloat(type.dtype);
  const outputs = program.outputs.map(({ value }) => value).filter(isFloating);
  const wrt = program.inputs.filter(isFloating);
  if (outputs.length === 0 || wrt.length === 0) return program;
  const found = gradient<Value>({
    program,
    outputs: outputs.map((value, i) => ({ value, grad: program.variable(`g${i}`, value.type) })),
    wrt,
    valueOf: (value) => value,
    add: (a, b) => add(a, b),
  });
  program.setOutputs([
    ...program.outputs,
    ...found.flatMap((value, i) => (value === null ? [] : [{ name: `d${i}`, value }])),
  ]);
  return program;
} // prettier-ignore

function numbers({ storage }: Operand): number[] {
  return Array.from({ length: storage.length }, (_, i) =>
    Number(readElement(storage.dtype, storage.host, i)),
  );
}

/** Operands of the program with the same numbers in narrow and in float64. */
function operandsOf(
  program: Program,
  { sample }: SampleCase,
  sizes: ReadonlyMap<string, number>,
  dtype: Narrow,
  { scale, offset, seed }: Spread,
): { readonly narrow: Operand[]; readonly wide: Operand[] } {
  const random = generator(seed);
  const given = sampleOperands(sample, sizes, random, { float: 'float64' });
  const narrow: Operand[] = [];
  const wide: Operand[] = [];
  program.inputs.forEach(({ type }, k) => {
    if (!isFloat(type.dtype)) {
      narrow.push(given[k]);
      wide.push(given[k]);
      return;
    }
    const shape = type.shape as readonly number[];
    const isGiven = k < given.length;
    const values = isGiven
      ? numbers(given[k]).map((value) => value * scale + offset)
      : Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random() * 2 - 1);
    const exact = values.map((value) => rounded(dtype, value));
    const home = allocate(dtype, exact.length);
    exact.forEach((value, i) => writeElement(dtype, home, i, value));
    narrow.push({ storage: new Storage(dtype, home), shape });
    wide.push({ storage: new Storage('float64', Float64Array.from(exact)), shape });
  });
  return { narrow, wide };
}

/** How far from 0, and how far apart, the elements are. */
interface Spread {
  readonly scale: number;
  readonly offset: number;
  readonly seed: number;
}

const spreads: readonly Spread[] = [
  { scale: 1, offset: 0, seed: 1 },
  // Squares beyond float16, sums of few terms as well.
  { scale: 3000, offset: 20000, seed: 2 },
  // Neighbors in 16 bits, whose squares have no difference there.
  { scale: 16, offset: 1000, seed: 3 },
];

/** What float32 may leave of the terms of a sum that cancel. */
const relative = 2 ** -19;

/** @param terms How large terms are at least. */
function checkClose(dtype: Narrow, found: readonly number[], exact: readonly number[], what: string, terms: number): void {
  const magnitude = exact.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), terms);
  found.forEach((value, i) => {
    const expected = rounded(dtype, exact[i]);
    if (Object.is(value, expected) || value === expected) return;
    const slack = ulpOf(dtype, exact[i]) + relative * magnitude;
    const isClose = Math.abs(value - exact[i]) <= slack;
    assert.ok(isClose, `${what}, element ${i}: ${value} instead of ${expected} (${exact[i]})`);
  });
} // prettier-ignore

for (const sampleCase of sampleCases(registry.values())) {
  const { declaration, sample, label } = sampleCase;
  const { name, family, precision } = declaration;
  if (others.has(name) || (!families.has(family) && precision !== 'float32')) continue;
  const sizes = bindSizes(sample, (extent) => (extent === 'n' ? 3 : 5));
  const isGiven = sampleArrays(sample).some(({ values }) => values !== undefined);
  for (const dtype of ['float16', 'bfloat16'] as const) {
    const program = withGradients(sampleCase, dtype, sizes);
    if (!program.inputs.some(({ type }) => isFloat(type.dtype))) continue;
    test(`${label} in ${dtype} is that of float64, rounded once`, () => {
      const exact = compile(withGradients(sampleCase, 'float64', sizes));
      const narrow = compile(program);
      const results = program.outputs.filter((output) => output.name.startsWith('y')).length;
      for (const spread of isGiven ? spreads.slice(0, 1) : spreads) {
        const operands = operandsOf(program, sampleCase, sizes, dtype, spread);
        const expected = exact.run(operands.wide);
        narrow.run(operands.narrow).forEach((result, k) => {
          const what = `${program.outputs[k].name} at ${spread.offset}`;
          assert.equal(isFloat(result.storage.dtype), isFloat(expected[k].storage.dtype), what);
          if (!isFloat(result.storage.dtype)) return;
          // Gradients are made of weights up to 1.
          const terms = k < results ? 0 : 1;
          checkClose(dtype, numbers(result), numbers(expected[k]), what, terms);
        });
      }
    });
  }
}
