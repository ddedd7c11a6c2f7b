import assert from 'node:assert/strict';
import { test } from 'node:test';
import { join } from 'node:path';
import { findPlayer, play } from '../../examples/scale/play.js';
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

const python = findPlayer();
const skip = python === null && 'there is no Python with JAX; `npm run test:player` installs one';

test('two processes of four devices learn what this one would', { skip }, async (t) => {
  const folder = join(folderFor(t), 'job');
  const text = makeTraining({ size: 8, length: 6, batch: 8, excerpts: 24 });
  const { training, step, data } = text;
  trainHere(text);
  await writeTextJob(folder, text, 3);
  const own = batchesOf(0, 24, 8, 3).map((rows) =>
    Number(step({ tokens: data.tokens.take(rows, { axis: 0 }) }).loss.item()),
  );
  const expected = [...training.net.parameters()].map(([name, { value }]) => [name, Array.from(value.dataSync(), Number)] as const); // prettier-ignore
  const found: number[] = [];
  for await (const { kind, metrics } of play(python!, folder)) if (kind === 'step') found.push(metrics.loss); // prettier-ignore
  assert.equal(found.length, 3);
  found.forEach((value, k) => assert.ok(Math.abs(value - own[k]) < 1e-5, `${value} is not ${own[k]}`)); // prettier-ignore
  await readCheckpoint(folder, training);
  for (const [name, values] of expected) {
    const { value } = training.net.parameters().get(name)!;
    // The gradient of a key's bias is zero by its formula, and Adam makes steps of its rounding.
    if (name.endsWith('project.bias')) continue;
    value.dataSync().forEach((element, i) => assert.ok(Math.abs(Number(element) - values[i]) < 1e-4, name)); // prettier-ignore
  }
});
