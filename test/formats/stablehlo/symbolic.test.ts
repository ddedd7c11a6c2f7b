import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnsupportedError } from '../../../src/base/errors.js';
import { evaluateModule } from '../../../src/formats/stablehlo/evaluate/evaluate.js';
import { exportModule } from '../../../src/formats/stablehlo/export.js';
import { lowered } from '../../../src/front/graphs/lowered.js';
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
  ['conv sample 2', 'its padding is a function of a symbolic size'],
  ['convTranspose sample 2', 'its padding is another one where the symbolic size is 0'],
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

test('samples with symbolic sizes are written once, but for three that need known sizes', () => {
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
    // First samples at two sizes, others at one: each is compiled, which takes a fifth of a second.
    const bases = sampleCase.sample === sampleCase.declaration.samples[0] ? [3, 1] : [3];
    return bases.map((base) => ({ sampleCase, text, ...atSizes(sampleCase, base) }));
  });
  runUnderXla(cases).forEach((results, i) => {
    const { sampleCase, expected } = cases[i];
    assert.ok(typeof results !== 'string', `${sampleCase.label}: ${String(results)}`);
    assertSame(results, expected(), { sampleCase, label: sampleCase.label });
  });
});
