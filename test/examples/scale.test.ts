import assert from 'node:assert/strict';
import { test } from 'node:test';
import { join } from 'node:path';
import { makeTraining, sample, trainHere, writeTextJob } from '../../examples/scale/job.js';
import { followJob, readCheckpoint } from '../../src/scale.js';
import { batchesOf, runPlainly } from '../scale/plain-run.js';
import { folderFor } from '../scale/training.js';

test('a transformer learns a text here, goes on as a job as it would here, and comes back', async (t) => {
  const folder = join(folderFor(t), 'job');
  const text = makeTraining({ size: 8, length: 6, batch: 4, excerpts: 12 });
  const { training, step, data, epoch } = text;
  assert.equal(epoch, 3);
  const loss = trainHere(text);
  assert.ok(loss > 1 && loss < 1.5 * Math.log(text.text.alphabet.length), `the loss is ${loss}`);
  await writeTextJob(folder, text, 2);
  runPlainly(folder);
  const own = batchesOf(0, 12, 4, 2).map((rows) =>
    Number(step({ tokens: data.tokens.take(rows, { axis: 0 }) }).loss.item()),
  );
  const found: number[] = [];
  for await (const { kind, metrics } of followJob(folder)) if (kind === 'step') found.push(metrics.loss); // prettier-ignore
  assert.equal(found.length, 2);
  found.forEach((value, k) => assert.ok(Math.abs(value - own[k]) < 1e-5, `${value} is not ${own[k]}`)); // prettier-ignore
  await readCheckpoint(folder, training);
  assert.equal(training.optimizer.steps, epoch + 2);
  const written = sample(text, 'Kaon', 9);
  assert.equal(written.length, 13);
  assert.ok(written.startsWith('Kaon'));
});
