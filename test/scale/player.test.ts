import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import * as kn from '../../src/index.js';
import { followJob, readCheckpoint, type WriteJobOptions, writeJob } from '../../src/scale.js';
import { python, skipWithoutXla } from '../formats/stablehlo/xla.js';
import { checkout } from '../support/sources.js';
import { batchesOf } from './plain-run.js';
import { examples, folderFor, rates, rowsOf, training } from './training.js';

/** Runs a job under JAX, on simulated devices of one process. */
function play(folder: string, devices: number): void {
  execFileSync(python, ['-m', 'kaon_player', 'run', folder], {
    env: {
      ...process.env,
      PYTHONPATH: join(checkout, 'player'),
      JAX_PLATFORMS: 'cpu',
      XLA_FLAGS: `--xla_force_host_platform_device_count=${devices}`,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** Writes, plays, follows and reads a job, and compares it with a run here of the same batches. */
async function compare(
  t: TestContext,
  devices: number,
  change: Partial<WriteJobOptions>,
  initialize: { readonly materialize?: boolean } = {},
): Promise<void> {
  const folder = join(folderFor(t), 'job');
  const data = examples(22);
  const held = examples(8);
  const first = rowsOf(data, [0, 1, 2, 3, 4, 5, 6, 7]);
  kn.random.seed(31);
  const written = training(rates, initialize);
  const own = ((): ReturnType<typeof training> => {
    const state = kn.random.getState();
    kn.random.seed(31);
    const same = training(rates);
    same.net.call(first.x);
    kn.random.setState(state);
    return same;
  })();
  const drawn = kn.random.getState();
  await writeJob(folder, {
    step: written.step.graphFor(first),
    evaluate: written.evaluate.graphFor(held),
    data,
    evaluateData: held,
    evaluateEvery: 2,
    batch: 8,
    steps: 5,
    schedule: { learning_rate: rates },
    seed: 3,
    ...change,
  });
  play(folder, devices);

  kn.random.setState(drawn);
  const evaluated: number[] = [];
  const losses = batchesOf(3, 22, 8, 5).map((rows, k) => {
    const loss = Number(own.step(rowsOf(data, rows)).loss.item());
    if (k % 2 === 1) evaluated.push(Number(own.evaluate(held).loss.item()));
    return loss;
  });
  const found = { step: [] as number[], evaluate: [] as number[] };
  for await (const { kind, metrics } of followJob(folder)) found[kind].push(metrics.loss);
  const near = (have: readonly number[], want: readonly number[], what: string): void => {
    assert.ok(have.length >= want.length, `${what}: ${have.length} of ${want.length}`);
    want.forEach((value, i) => assert.ok(Math.abs(have[i] - value) <= 1e-5, `${what} ${i}: ${have[i]} is not ${value}`)); // prettier-ignore
  };
  near(found.step, losses, 'loss');
  near(found.evaluate, evaluated, 'evaluation');
  await readCheckpoint(folder, written);
  assert.equal(written.optimizer.steps, 5);
  for (const [name, { value }] of own.net.parameters()) {
    const read = written.net.parameters().get(name)!.value;
    near(read.reshape([-1]).tolist() as number[], value.reshape([-1]).tolist() as number[], name);
  }
}

test('a job under JAX is the run here, on one device', { skip: skipWithoutXla }, (t) => compare(t, 1, {})); // prettier-ignore

test(
  'a job under JAX is the run here, divided along data and model',
  { skip: skipWithoutXla },
  (t) =>
    compare(t, 8, {
      mesh: { data: 4, model: 2 },
      rules: [
        ['layers\\.0\\.weight', ['model', null]],
        ['weight', 'fsdp'],
      ],
    }),
);

test(
  'parameters of shapes alone are drawn under JAX, each device its part',
  { skip: skipWithoutXla },
  (t) => compare(t, 4, { mesh: { data: 4 }, rules: [['weight', 'fsdp']] }, { materialize: false }),
);
