import assert from 'node:assert/strict';
import { test } from 'node:test';
import { join } from 'node:path';
import { writeDigitsJob } from '../../examples/scale/job.js';
import { followJob, readCheckpoint } from '../../src/scale.js';
import { batchesOf, runPlainly } from '../scale/plain-run.js';
import { folderFor } from '../scale/training.js';

test('the transformer learns as a job what it learns here', async (t) => {
  const folder = join(folderFor(t), 'job');
  const sizes = { steps: 2, batch: 8, size: 8, longest: 2, examples: 16 };
  const { training, step, data } = await writeDigitsJob(folder, sizes);
  runPlainly(folder);
  const own = batchesOf(0, 16, 8, 2).map((rows) => Number(step({ tokens: data.tokens.take(rows, { axis: 0 }), weights: data.weights.take(rows, { axis: 0 }) }).loss.item())); // prettier-ignore
  const found: number[] = [];
  for await (const { kind, metrics } of followJob(folder)) if (kind === 'step') found.push(metrics.loss); // prettier-ignore
  assert.equal(found.length, 2);
  found.forEach((loss, k) => assert.ok(Math.abs(loss - own[k]) < 1e-5, `${loss} is not ${own[k]}`));
  await readCheckpoint(folder, training);
  assert.equal(training.optimizer.steps, 2);
});
