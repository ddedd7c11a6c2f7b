import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateDim } from '../../src/base/dim.js';
import { bytesOf, type HostArray, isFloat } from '../../src/base/dtype.js';
import { readElement, writeElement } from '../../src/base/element.js';
import { bindShapes, bindTypes } from '../../src/ir/bind.js';
import type { Program } from '../../src/ir/program.js';
import { registry } from '../../src/ops/registry.js';
import { compile } from '../../src/runtime/compile.js';
import type { Operand } from '../../src/runtime/executable.js';
import { onPerturbed } from '../../src/runtime/native/perturb.js';
import { slackOf } from '../../src/runtime/native/slack.js';
import { Storage } from '../../src/runtime/storage.js';
import { defaultTier } from '../../src/runtime/tiers.js';
import {
  bindSizes,
  generator,
  type SampleCase,
  sampleCases,
  sampleOperands,
  sampleProgram,
} from '../support/samples.js';

/** The elements as text that tells every bit apart but those of NaN. */
function elements({ storage }: Operand): string {
  return [...(storage.host as Iterable<number | bigint>)]
    .map((value) => (Object.is(value, -0) ? '-0' : String(value)))
    .join(' ');
}

/**
 * Code for every size may add up in another order than code for one size: floats agree within rounding,
 * everything else exactly. `slack` is what elements may differ by besides.
 */
function assertAlike(
  actual: Operand,
  expected: Operand,
  message: string,
  slack?: readonly number[],
): void {
  const { dtype, host } = expected.storage;
  if (!isFloat(dtype)) return assert.equal(elements(actual), elements(expected), message);
  const value = (home: HostArray, k: number): number => Number(readElement(dtype, home, k));
  const tolerance = { float64: 1e-13, float32: 1e-6, float16: 1e-3, bfloat16: 1e-2 }[
    dtype as FloatDType
  ];
  for (let k = 0; k < host.length; k++) {
    const [a, b] = [value(actual.storage.host, k), value(host, k)];
    const allowed = tolerance * Math.max(1, Math.abs(b)) + (slack?.[k] ?? 0);
    const close = Object.is(a, b) || Math.abs(a - b) <= allowed;
    assert.ok(close, `${message}: element ${k} is ${a}, not ${b}`);
  }
}

/**
 * By how much sums of products differ at most when each product is rounded once or twice: half a unit in
 * the last place of the sum of all magnitudes for each of them (Higham, "Accuracy and Stability of
 * Numerical Algorithms", 3.1). Contractions of magnitudes are such sums.
 */
function fusedSlack(
  program: Program,
  operands: readonly Operand[],
): readonly (readonly number[])[] {
  const products = Math.max(0, ...operands.map(({ storage }) => storage.length));
  const sums = compile(program, { target: 'interpreter' }).run(operands.map(magnitudes));
  return sums.map(({ storage: { dtype, host } }) =>
    Array.from({ length: host.length }, (_, k) => {
      const unit = dtype === 'float64' ? 2 ** -53 : 2 ** -24;
      return products * unit * Number(readElement(dtype, host, k));
    }),
  );
}

/** What native code may differ by (decision 35): a few times what operands do that are off by a little. */
function movedSlack(
  program: Program,
  operands: readonly Operand[],
): readonly (readonly number[])[] {
  const executable = compile(program, { target: 'interpreter' });
  const exact = executable.run(operands);
  const moved = onPerturbed(operands, slackOf(program), (near) => executable.run(near));
  return exact.map(({ storage: { dtype, host } }, i) =>
    Array.from({ length: host.length }, (_, k) => {
      const [a, b] = [host, moved[i].storage.host].map((home) => readElement(dtype, home, k));
      return 4 * Math.abs(Number(a) - Number(b));
    }),
  );
}

/** What elements may differ by where sums of products are rounded otherwise than in the interpreter. */
function slackFor(
  { declaration }: SampleCase,
  program: Program,
  operands: readonly Operand[],
): readonly (readonly number[])[] {
  if (declaration.family === 'contraction') return fusedSlack(program, operands);
  return isNative ? movedSlack(program, operands) : [];
}

function magnitudes({ storage: { dtype, host }, shape }: Operand): Operand {
  const home = host.slice();
  for (let k = 0; k < home.length; k++) {
    const element = readElement(dtype, home, k);
    if (typeof element !== 'boolean' && element < 0) writeElement(dtype, home, k, -element);
  }
  return { storage: new Storage(dtype, home), shape };
}

type FloatDType = 'float64' | 'float32' | 'float16' | 'bfloat16';

/** Sizes that break things: nothing, one, and a few that are no multiple of any vector. */
const choices = [0, 1, 2, 3, 5, 7, 11];

/** Native code takes a compiler some time: once for known sizes, and once for all of them. */
const isNative = defaultTier() === 'native';
const wanted = isNative ? [11] : choices;

for (const sampleCase of sampleCases(registry.values())) {
  const { sample, label } = sampleCase;

  test(`${label}: wasm computes what the interpreter defines, at the inferred types`, () => {
    const random = generator(label.length + sample.args.length);
    for (const base of wanted) {
      const sizes = bindSizes(sample, () =>
        base < 2 ? base : choices[Math.floor(random() * choices.length)],
      );
      const program = sampleProgram(sampleCase, { sizes });
      const operands = sampleOperands(sample, sizes, random);
      const expected = compile(program, { target: 'interpreter' }).run(operands);
      // Only where sums round as the interpreter's do are results equal in every bit.
      const strict = { target: 'wasm', tier: 'wasm', relaxed: false } as const;
      const actual = compile(program, strict).run(operands);
      const usual = compile(program, { target: 'wasm' }).run(operands);
      const slack = slackFor(sampleCase, program, operands);
      program.outputs.forEach(({ value: { type } }, i) => {
        // A dimension that the data decides is checked by rank and total size only.
        const known = type.shape.every((dim) => typeof dim === 'number');
        if (known) assert.deepEqual(actual[i].shape, type.shape);
        assert.equal(actual[i].shape.length, type.shape.length);
        assert.equal(actual[i].storage.dtype, type.dtype);
        const length = actual[i].shape.reduce((a, b) => a * b, 1);
        assert.equal(actual[i].storage.host.byteLength, length * bytesOf(type.dtype));
        assert.equal(
          elements(actual[i]),
          elements(expected[i]),
          `sizes ${JSON.stringify([...sizes])}`,
        );
        assertAlike(usual[i], expected[i], `sizes ${JSON.stringify([...sizes])}`, slack[i]);
      });
      if (sizes.size === 0) break;
    }
  });

  if (bindSizes(sample, () => 2).size > 0) {
    test(`${label}: symbolic dimensions give what static ones give`, () => {
      const symbolic = sampleProgram(sampleCase);
      const executable = compile(symbolic, { target: 'wasm' });
      const random = generator(label.length);
      for (const size of [0, 1, 2, 5]) {
        const sizes = bindSizes(sample, () => size);
        const operands = sampleOperands(sample, sizes, random);
        const known = sampleProgram(sampleCase, { sizes });
        const fixed = compile(known, { target: 'wasm', tier: 'wasm' }).run(operands);
        const free = executable.run(operands);
        const slack = slackFor(sampleCase, known, operands);
        const given = bindTypes(
          symbolic.inputs.map(({ type }, i) => ({ name: `x${i}`, type })),
          operands.map(({ shape, storage }) => ({ shape, dtype: storage.dtype })),
        );
        // What only the data decides follows from the results; all of them have to agree on it.
        const results = symbolic.outputs.map(({ name, value: { type } }, i) => {
          return { name, declared: type.shape, actual: free[i].shape };
        });
        const bindings = bindShapes(results, undefined, given);
        symbolic.outputs.forEach(({ value: { type } }, i) => {
          assert.deepEqual(free[i].shape, fixed[i].shape);
          assert.deepEqual(
            type.shape.map((dim) => evaluateDim(dim, bindings)),
            fixed[i].shape,
          );
          assertAlike(free[i], fixed[i], `size ${size}`, slack[i]);
        });
      }
    });
  }
}
