import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnsupportedError } from '../../../src/base/errors.js';
import { evaluateModule } from '../../../src/formats/stablehlo/evaluate/evaluate.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { assertSame, refused, type SizedSample, sizedSamples } from './written.js';
import { runUnderXla, skipWithoutXla } from './xla.js';

/** The text of a sample; null where it is refused, as it should be. */
function textOf(sample: SizedSample): string | null {
  try {
    return sample.text();
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    assert.ok(refused.has(sample.sampleCase.declaration.name), error.message);
    return null;
  }
}

const samples = sizedSamples();

test('every sample computes what the operator computes, by a plain reading of the text', () => {
  const refusedOnce = new Set<string>();
  for (const sample of samples) {
    const text = textOf(sample);
    if (text === null) {
      refusedOnce.add(sample.sampleCase.declaration.name);
      continue;
    }
    const inputs = sample.operands.map(({ storage: { dtype, host }, shape }) => ({ dtype, shape, data: host })); // prettier-ignore
    const results = evaluateModule(text, inputs).map(({ dtype, shape, data }): Operand => ({ storage: new Storage(dtype, data), shape })); // prettier-ignore
    assertSame(results, sample.expected(), sample);
  }
  assert.deepEqual([...refusedOnce].sort(), [...refused.keys()].sort());
});

test('every sample computes under XLA what the operator computes', { skip: skipWithoutXla }, () => {
  const cases = samples.flatMap((sample) => {
    const text = textOf(sample);
    return text === null ? [] : [{ sample, text, operands: sample.operands }];
  });
  assert.ok(cases.length > 1500);
  runUnderXla(cases).forEach((results, i) => {
    const { sample } = cases[i];
    assert.ok(typeof results !== 'string', `${sample.label}: ${String(results)}`);
    assertSame(results, sample.expected(), sample);
  });
});
