import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { DeviceError, FormatError } from '../../src/base/errors.js';
import { followJob } from '../../src/scale.js';

/** A folder that looks like that of a job, to write into as a player does. */
function playedJob(t: TestContext): {
  readonly folder: string;
  readonly metrics: (text: string) => void;
  readonly status: (status: object) => void;
} {
  const folder = mkdtempSync(join(tmpdir(), 'kaon-follow-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'job.json'), JSON.stringify({ version: 1, programs: { step: { meta: { inputs: [] } } } })); // prettier-ignore
  return {
    folder,
    metrics: (text) => appendFileSync(join(folder, 'metrics.jsonl'), text),
    status: (status) => writeFileSync(join(folder, 'status.json'), JSON.stringify(status)),
  };
}

const line = (step: number, kind = 'step'): string =>
  `${JSON.stringify({ step, kind, time: step / 2, metrics: { loss: 1 / (step + 1) } })}\n`;

test('metrics come as the file grows, in whole lines, until the job ends', async (t) => {
  const { folder, metrics, status } = playedJob(t);
  const found: string[] = [];
  const following = (async () => {
    for await (const { step, kind, metrics: values } of followJob(folder)) {
      assert.equal(values.loss, 1 / (step + 1));
      found.push(`${kind} ${step}`);
    }
  })();
  await wait(150);
  assert.deepEqual(found, []);
  status({ state: 'running', step: 0 });
  metrics(line(1) + line(2) + line(3).slice(0, 9));
  await wait(250);
  assert.deepEqual(found, ['step 1', 'step 2']);
  metrics(line(3).slice(9) + line(3, 'evaluate'));
  await wait(250);
  assert.deepEqual(found, ['step 1', 'step 2', 'step 3', 'evaluate 3']);
  metrics(line(4));
  status({ state: 'finished', step: 4 });
  await following;
  assert.deepEqual(found.at(-1), 'step 4');
});

test('metrics that are not finite come as NaN, and others that are no numbers are refused', async (t) => {
  const { folder, metrics, status } = playedJob(t);
  metrics('{"step": 1, "kind": "step", "time": 0, "metrics": {"loss": null, "norm": 2}}\n');
  status({ state: 'finished', step: 1 });
  const found: unknown[] = [];
  for await (const entry of followJob(folder)) found.push(entry);
  const loss = { step: 1, kind: 'step', time: 0, metrics: { loss: NaN, norm: 2 } };
  assert.deepEqual(found, [loss]);
  writeFileSync(join(folder, 'metrics.jsonl'), '{"step": 1, "kind": "step", "time": 0, "metrics": {"loss": "low"}}\n'); // prettier-ignore
  await assert.rejects(
    async () => {
      for await (const entry of followJob(folder)) assert.fail(`it gave ${JSON.stringify(entry)}`);
    },
    { name: 'FormatError', message: /loss.*a number/s },
  );
});

test('steps that a resumed run repeats come once, whether it appends or begins the file anew', async (t) => {
  const { folder, metrics, status } = playedJob(t);
  metrics(line(1) + line(2) + line(2, 'evaluate') + line(3) + line(2) + line(2, 'evaluate'));
  const found: string[] = [];
  const following = (async () => {
    for await (const { step, kind } of followJob(folder)) found.push(`${kind} ${step}`);
  })();
  await wait(150);
  writeFileSync(join(folder, 'metrics.jsonl'), line(1) + line(2));
  await wait(250);
  metrics(line(3) + line(4));
  status({ state: 'stopped', step: 4 });
  await following;
  assert.deepEqual(found, ['step 1', 'step 2', 'evaluate 2', 'step 3', 'step 4']);
});

test('a failed job is an error with the message of the player, after its last metrics', async (t) => {
  const { folder, metrics, status } = playedJob(t);
  metrics(line(1));
  status({ state: 'failed', step: 1, error: 'host 3 is gone' });
  const found: number[] = [];
  await assert.rejects(
    async () => {
      for await (const { step } of followJob(folder)) found.push(step);
    },
    (error) => error instanceof DeviceError && error.actual === 'host 3 is gone',
  );
  assert.deepEqual(found, [1]);
});

test('a signal ends the wait for a job that does not start', async (t) => {
  const { folder } = playedJob(t);
  const ending = new AbortController();
  const reason = new Error('enough');
  const next = followJob(folder, { signal: ending.signal }).next();
  setTimeout(() => ending.abort(reason), 20);
  await assert.rejects(next, reason);
});

test('damaged files and folders without a job are named', async (t) => {
  const { folder, metrics, status } = playedJob(t);
  const first = async (): Promise<unknown> => followJob(folder).next();
  const isFormat = (text: RegExp) => (error: unknown) =>
    error instanceof FormatError && error.op === 'followJob' && text.test(error.message);
  metrics('{"step": 1, "kind": "other", "time": 0, "metrics": {}}\n');
  await assert.rejects(first, isFormat(/step or evaluate/));
  writeFileSync(join(folder, 'metrics.jsonl'), 'no\n');
  await assert.rejects(first, isFormat(/not JSON/));
  rmSync(join(folder, 'metrics.jsonl'));
  status({ state: 'asleep', step: 1 });
  await assert.rejects(first, isFormat(/running, finished, failed or stopped/));
  writeFileSync(join(folder, 'status.json'), '{');
  await assert.rejects(first, isFormat(/not JSON/));
  writeFileSync(join(folder, 'job.json'), '{"version": 7}');
  await assert.rejects(first, isFormat(/another version/));
  rmSync(join(folder, 'job.json'));
  await assert.rejects(first, isFormat(/not the folder of a job/));
});

test('a player without signs of life is gone, one that beats is followed', async (t) => {
  const { folder, metrics, status } = playedJob(t);
  const follow = async (): Promise<number> => {
    let steps = 0;
    for await (const entry of followJob(folder, { timeout: 0.5 })) steps += Number(entry.step > 0);
    return steps;
  };
  // Not started yet, or of a player that gives no signs: there is nothing to tell.
  status({ state: 'running', step: 0 });
  const waiting = follow();
  await wait(800);
  metrics(line(1));
  for (let beat = 1; beat <= 4; beat++) {
    status({ state: 'running', step: 1, beat });
    await wait(250);
  }
  status({ state: 'finished', step: 1 });
  assert.equal(await waiting, 1);
  status({ state: 'running', step: 1, beat: 5 });
  await assert.rejects(
    follow,
    (error) => error instanceof DeviceError && /player is gone.*0.5 seconds.*none since step 1.*run the job again/s.test(error.message), // prettier-ignore
  );
  await assert.rejects(async () => followJob(folder, { timeout: 0 }).next(), /seconds/);
});
