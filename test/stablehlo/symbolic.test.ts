import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { toStableHlo } from '../../src/stablehlo.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { runUnderXla, skipWithoutXla } from '../formats/stablehlo/xla.js';
import { trainingSteps } from './steps.js';

/** Names of the axes of the inputs, in the order of their names. */
const dynamic: Readonly<Record<string, readonly (readonly (string | null)[])[]>> = {
  'MLP with dropout and Adam': [['rows', null], ['rows']],
  'convolution with batch norm and SGD': [['rows', null, null, null], ['rows']],
  'LSTM and Adam': [['rows', null, null], ['rows']],
  'cond and a bounded whileLoop': [['rows', null]],
  'transformer with dropout and AdamW': [
    ['rows', null],
    ['rows', null],
  ],
};

for (const [name, axes] of Object.entries(dynamic)) {
  // A transformer takes a plain reading half a minute.
  if (name.startsWith('transformer')) continue;
  test(`${name}: one text for all batch sizes computes steps, state included, by a plain reading`, () => {
    kn.random.seed(3);
    const { step, batches } = trainingSteps[name]({ dynamic: axes });
    const [batch] = batches;
    step(batch);
    const graph = step.graphFor(batch);
    const texts = [16, 5].map((rows) => {
      const part = Object.entries(batch).map(([key, array]) => [key, array.slice([0, rows])]);
      return toStableHlo(graph, { check: Object.fromEntries(part) }).text;
    });
    assert.equal(texts[0], texts[1]);
    const { meta, text } = toStableHlo(graph);
    assert.match(text, /tensor<\?x/);
    const feeds = meta.inputs.filter(({ kind }) => kind === 'input');
    for (const { shape } of feeds) assert.equal(shape[0], 'rows');
  });
}

test('steps of two batch sizes under XLA equal those of Kaon', { skip: skipWithoutXla }, () => {
  const cases = Object.entries(dynamic).flatMap(([name, axes]) => {
    kn.random.seed(3);
    const { step, batches } = trainingSteps[name]({ dynamic: axes });
    step(batches[0]);
    return [16, 5].map((rows) => {
      const batch = Object.fromEntries(
        Object.entries(batches[1]).map(([key, array]) => [key, array.slice([0, rows])]),
      );
      const { text, meta, state } = toStableHlo(step.graphFor(batch));
      const operands = meta.inputs.map(({ name: input }): Operand => {
        const array = (Object.hasOwn(state, input) ? state[input] : batch[input]).computed();
        return { storage: array.storage, shape: array.shape };
      });
      return { name, text, operands, loss: Number(step(batch).item()) };
    });
  });
  runUnderXla(cases).forEach((results, i) => {
    const { name, loss } = cases[i];
    assert.ok(typeof results !== 'string', `${name}: ${String(results)}`);
    const [found] = results[0].storage.host as Float32Array;
    assert.ok(Math.abs(found - loss) <= 1e-5 * Math.max(1, Math.abs(loss)), `${name}: ${found}, not ${loss}`); // prettier-ignore
  });
});
