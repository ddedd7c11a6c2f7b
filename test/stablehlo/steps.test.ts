import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnsupportedError } from '../../src/base/errors.js';
import * as kn from '../../src/index.js';
import { type StableHlo, toStableHlo } from '../../src/stablehlo.js';
import { skipWithoutXla } from '../formats/stablehlo/xla.js';
import { type PlayedResult, type PlayedStep, playSteps } from './player.js';
import { batchAxes, type TrainingStep, trainingSteps } from './steps.js';

/** A step written before it has run, and what its own run gives. */
interface OwnRun extends Pick<TrainingStep, 'batches'> {
  readonly module: StableHlo;
  readonly losses: readonly number[];
  readonly state: ReadonlyMap<string, readonly number[]>;
}

const numbersOf = (array: kn.NDArray): number[] => kn.reshape(array, [-1]).astype('float64').tolist() as number[]; // prettier-ignore

function ownRun(make: (typeof trainingSteps)[string]): OwnRun {
  kn.random.seed(3);
  const { step, batches } = make({});
  step(batches[0]);
  const graph = step.graphFor(batches[0]);
  const module = toStableHlo(graph);
  const losses = batches.map((batch) => Number(step(batch).item()));
  const after = toStableHlo(graph).state;
  const state = new Map(Object.entries(after).map(([name, array]) => [name, numbersOf(array)]));
  return { module, batches, losses, state };
}

/** Differences of losses and state, relative to 1 where they are small. */
function assertNear(found: PlayedResult, own: OwnRun, what: string): void {
  const near = (have: readonly number[], want: readonly number[], name: string): void =>
    want.forEach((value, i) => {
      const isNear = Math.abs(have[i] - value) <= 1e-5 * Math.max(1, Math.abs(value));
      assert.ok(isNear, `${what}: ${name} ${i} is ${have[i]}, not ${value}`);
    });
  near(found.losses, own.losses, 'loss');
  assert.deepEqual([...found.state.keys()].sort(), [...own.state.keys()].sort(), what);
  for (const [name, values] of own.state) near(found.state.get(name)!, values, name);
}

for (const [name, make] of Object.entries(trainingSteps)) {
  // A transformer takes a plain reading half a minute, and some of its gradients are rounding and nothing else.
  const isRead = !name.startsWith('transformer');
  const title = isRead
    ? 'the text computes one step, state included, by a plain reading'
    : 'the text is written';
  test(`${name}: ${title}`, () => {
    kn.random.seed(3);
    const { step, batches } = make({});
    step(batches[0]);
    const graph = step.graphFor(batches[0]);
    const feeds = Object.fromEntries(graph.inputNames.map((input) => [input, batches[0][input]]));
    const { meta, text } = toStableHlo(graph, isRead ? { check: feeds } : {});
    assert.ok(meta.inputs.some(({ next }) => next !== null));
    // Gradients that parameters keep would stay alive.
    assert.ok(meta.outputs.every((output) => !output.name.endsWith('.grad')));
    // Nothing works on the bits of float64, which accelerators lack.
    assert.ok(!/bitcast_convert.*f64/.test(text));
  });
}

/**
 * Most reductions over 8 devices that all hold the state: one for each parameter and the loss, for batch norm those
 * of its statistics and their gradients. Compilers may join them.
 */
const mostReductions: Readonly<Record<string, number>> = {
  'MLP with dropout and Adam': 5,
  'convolution with batch norm and SGD': 13,
  'LSTM and Adam': 7,
  'LSTM with lengths and Adam': 19,
  'cond and a bounded whileLoop': 6,
  'transformer with dropout and AdamW': 38,
};

test(
  'three steps under XLA equal those of Kaon, on one device and on eight',
  { skip: skipWithoutXla },
  () => {
    const runs = Object.entries(trainingSteps).map(([name, make]) => ({ name, own: ownRun(make) }));
    const ways = [
      { devices: 1, partition: 'replicated' },
      { devices: 8, partition: 'replicated' },
      { devices: 8, partition: 'sharded' },
    ] as const;
    const all = runs.flatMap(({ name, own }) => ways.map((way) => ({ name, own, ...way })));
    const played = playSteps(
      all.map(({ own, devices, partition, name }): PlayedStep => {
        const axes = batchAxes[name] ?? {};
        return { module: own.module, batches: own.batches, devices, partition, batchAxes: axes };
      }),
    );
    played.forEach((result, i) => {
      const { name, own, devices, partition } = all[i];
      assertNear(result, own, `${name}, ${devices} devices, ${partition}`);
      const { 'all-reduce': reductions = 0, ...others } = result.collectives;
      if (devices === 1) assert.deepEqual(result.collectives, {}, name);
      if (devices === 1 || partition === 'sharded') return;
      assert.ok(reductions <= mostReductions[name], `${name}: ${reductions} reductions`);
      assert.deepEqual(others, {}, name);
      // The condition of the loop is about all rows.
      if (!name.includes('whileLoop')) assert.deepEqual(result.repeated, {}, name);
    });
  },
);

test('recurrent layers with lengths are refused where their code is not known any more, naming graphFor', () => {
  const x = kn.ones([2, 3, 4]);
  const lengths = kn.array([3, 1], { dtype: 'int32' });
  const lstm = new kn.nn.LSTM(5, { inputs: 4 }).initialize();
  const loaded = kn.StaticGraph.fromJSON(lstm.graphFor(x, { lengths }).toJSON());
  assert.throws(
    () => toStableHlo(loaded),
    (error) => error instanceof UnsupportedError && error.message.includes('graphs of graphFor'),
  );
});

test('sizes that the data decides are refused by the operator that the code calls', () => {
  const x = kn.ones([4, 3]);
  const graph = kn.exportGraph({
    inputs: { x },
    outputs: { y: kn.deferredCompute(() => kn.booleanMask(x, x.sum(1).greater(0)).mul(2)) },
  });
  assert.throws(
    () => toStableHlo(graph),
    (error) =>
      error instanceof UnsupportedError &&
      error.message.includes('booleanMask') &&
      error.message.includes('steps.test') &&
      error.message.includes('a mask as weights'),
  );
});
