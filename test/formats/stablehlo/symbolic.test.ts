import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnsupportedError } from '../../../src/base/errors.js';
import { evaluateModule } from '../../../src/formats/stablehlo/evaluate/evaluate.js';
import { exportModule } from '../../../src/formats/stablehlo/export.js';
import { lowered } from '../../../src/front/graphs/lowered.js';
import * as kn from '../../../src/index.js';
import { registry } from '../../../src/ops/registry.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import {
  bindSizes,
  generator,
  type SampleCase,
  sampleCases,
  sampleOperands,
  sampleProgram,
} from '../../support/samples.js';
import { assertSame, refused } from './written.js';
import { runUnderXla, skipWithoutXla } from './xla.js';

/** Samples with symbolic sizes that need known ones, and the reason. */
const needsKnownSizes: ReadonlyMap<string, string> = new Map([
  ['argsortRows sample 1', 'the columns are sorted one by one'],
]);

/** A sample that is written once, with symbolic sizes. */
interface SymbolicSample {
  readonly sampleCase: SampleCase;
  readonly text: string;
}

const sizesOf = ({ sample }: SampleCase, base: number): Map<string, number> => {
  let next = base;
  return bindSizes(sample, () => (base < 2 ? base : next++));
};

/** Operands at sizes, and the results of the interpreter of the loop language, which defines the operator. */
function atSizes(
  sampleCase: SampleCase,
  base: number,
): { readonly operands: readonly Operand[]; expected(): readonly Operand[] } {
  const sizes = sizesOf(sampleCase, base);
  const operands = sampleOperands(sampleCase.sample, sizes, generator(5));
  const program = sampleProgram(sampleCase, { sizes });
  return { operands, expected: () => compile(program, { target: 'interpreter' }).run(operands) };
}

const messages = new Map<string, string>();
const symbolic: readonly SymbolicSample[] = sampleCases(registry.values()).flatMap((sampleCase) => {
  if (sizesOf(sampleCase, 3).size === 0) return [];
  try {
    return [{ sampleCase, text: exportModule(lowered(sampleProgram(sampleCase))) }];
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    if (!refused.has(sampleCase.declaration.name)) messages.set(sampleCase.label, error.message);
    return [];
  }
});

test('samples with symbolic sizes are written once, but for one that needs known sizes', () => {
  assert.deepEqual([...messages.keys()].sort(), [...needsKnownSizes.keys()].sort());
  for (const message of messages.values()) assert.match(message, /leave that axis out of dynamic/);
  assert.ok(symbolic.length > 500);
  for (const { text } of symbolic) assert.match(text.slice(0, text.indexOf('->')), /\?x/);
});

test('one text computes what the operator computes at sizes from 3 on, 1 and 0, by a plain reading', () => {
  for (const { sampleCase, text } of symbolic) {
    for (const base of [3, 1, 0]) {
      const { operands, expected } = atSizes(sampleCase, base);
      const inputs = operands.map(({ storage: { dtype, host }, shape }) => ({ dtype, shape, data: host })); // prettier-ignore
      const results = evaluateModule(text, inputs).map(({ dtype, shape, data }): Operand => ({ storage: new Storage(dtype, data), shape })); // prettier-ignore
      assertSame(results, expected(), { sampleCase, label: `${sampleCase.label}, from ${base}` });
    }
  }
});

test('one text computes under XLA what the operator computes', { skip: skipWithoutXla }, () => {
  const cases = symbolic.flatMap(({ sampleCase, text }) => {
    // First samples at two sizes, others at one: each is compiled, which takes a fifth of a second. Reads of single
    // elements and rows are what XLA refuses where there are none.
    const isFirst = sampleCase.sample === sampleCase.declaration.samples[0];
    const reads = /stablehlo\.(dynamic_)?(gather|slice)|stablehlo\.while/.test(text);
    const bases = [3, ...(isFirst ? [1] : []), ...(reads ? [0] : [])];
    return bases.map((base) => ({ sampleCase, text, ...atSizes(sampleCase, base) }));
  });
  runUnderXla(cases).forEach((results, i) => {
    const { sampleCase, expected } = cases[i];
    assert.ok(typeof results !== 'string', `${sampleCase.label}: ${String(results)}`);
    assertSame(results, expected(), { sampleCase, label: sampleCase.label });
  });
});

/** Rows of a running state, its last value, and how often it was changed. */
const loops = kn.hybridize(
  (xs: kn.NDArray, start: kn.NDArray) => {
    const [rows, last] = kn.foreach(
      (x, state) => {
        const next = state.mul(0.5).add(x).tanh();
        return [next, next];
      },
      xs,
      start,
    );
    const backwards = kn.foreach((x, state) => [kn.exp(x), state.add(x)], xs, start, {
      reverse: true,
    });
    return [rows, last, backwards[0], backwards[1]];
  },
  { dynamic: [['rows', null], null] },
);

test('loops over no rows give no rows and the first state', { skip: skipWithoutXla }, () => {
  const given = (rows: number): readonly kn.NDArray[] => [
    kn
      .arange(rows * 4)
      .mul(0.1)
      .reshape([rows, 4]),
    kn.array([1, 2, 3, 4]),
  ];
  const text = exportModule(lowered(loops.graphFor(given(3)[0], given(3)[1]).program));
  const cases = [3, 1, 0].map((rows) => ({
    text,
    operands: given(rows).map((each) => each.computed()),
  }));
  const expected = (rows: number): readonly (readonly number[])[] => {
    const [xs, [...start]] = given(rows).map((each) => each.tolist()) as [number[][], number[]];
    const [forward, state] = [[] as number[][], [...start]];
    for (const x of xs) {
      x.forEach((each, k) => (state[k] = Math.tanh(state[k] * 0.5 + each)));
      forward.push([...state]);
    }
    const sum = start.map((each, k) => xs.reduce((total, x) => total + x[k], each));
    return [forward.flat(), state, xs.flat().map(Math.exp), sum];
  };
  runUnderXla(cases).forEach((results, i) => {
    const rows = [3, 1, 0][i];
    assert.ok(typeof results !== 'string', `${rows} rows: ${String(results)}`);
    assert.deepEqual(results.map(({ shape }) => shape), [[rows, 4], [4], [rows, 4], [4]]); // prettier-ignore
    results.forEach(({ storage: { host } }, k) => {
      const right = expected(rows)[k];
      assert.equal(host.length, right.length);
      right.forEach((each, j) => assert.ok(Math.abs(Number(host[j]) - each) < 1e-5 * Math.max(1, Math.abs(each)))); // prettier-ignore
    });
  });
});
