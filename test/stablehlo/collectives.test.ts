import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { toStableHlo } from '../../src/stablehlo.js';
import { python, skipWithoutXla } from '../formats/stablehlo/xla.js';
import { layerSteps } from './layers.js';
import { playSteps } from './player.js';

/** Release of JAX whose counts are known exactly. Others join fewer reductions, or more. */
const pinned = '0.10.2';

/** Reductions of a step of each layer over 8 devices that divide the batch. */
interface Expected {
  /**
   * Data parallel: all gradients and the loss are joined into one reduction behind the backward pass. Statistics of
   * a batch are needed before that: one reduction in the forward pass, one for their gradients in the backward pass.
   */
  readonly reductions: number;
  /** Fully sharded: each parameter is gathered once. Absent where other arrays are exchanged, too. */
  readonly gathers?: number;
}

const expected: Readonly<Record<string, Expected>> = {
  Dense: { reductions: 1, gathers: 2 },
  Conv2d: { reductions: 1, gathers: 2 },
  BatchNorm: { reductions: 3 },
  LayerNorm: { reductions: 1, gathers: 2 },
  Embedding: { reductions: 1, gathers: 1 },
  LSTM: { reductions: 1 },
  GRU: { reductions: 1 },
  MultiHeadAttention: { reductions: 1, gathers: 8 },
  TransformerEncoderLayer: { reductions: 1, gathers: 16 },
  softmaxCrossEntropy: { reductions: 1 },
  mse: { reductions: 1 },
};

test(
  'layers need the collective operations that they have to, none in a loop',
  { skip: skipWithoutXla },
  () => {
    const version = execFileSync(python, ['-c', 'import jax; print(jax.__version__)'], { encoding: 'utf8' }).trim(); // prettier-ignore
    assert.deepEqual(Object.keys(layerSteps), Object.keys(expected));
    kn.random.seed(1);
    const cases = Object.entries(layerSteps).flatMap(([name, make]) => {
      const { step, batches } = make();
      step(batches[0]);
      const module = toStableHlo(step.graphFor(batches[0]));
      return (['replicated', 'sharded'] as const).map((partition) => ({ name, module, batches, partition, devices: 8, batchAxes: {} })); // prettier-ignore
    });
    playSteps(cases).forEach(({ collectives, repeated }, i) => {
      const { name, partition, module } = cases[i];
      const { reductions, gathers } = expected[name];
      const what = `${name}, ${partition}: ${JSON.stringify(collectives)}`;
      // The partitioner before Shardy (0.4.35) exchanges states of a fully sharded LSTM in each iteration.
      if (version === pinned || partition === 'replicated') assert.deepEqual(repeated, {}, what);
      const found = collectives['all-reduce'] ?? 0;
      // Not joined, there is a reduction for each parameter, and one for the loss.
      const most = reductions + module.meta.inputs.filter(({ next }) => next !== null).length;
      if (partition === 'sharded') {
        if (version === pinned && gathers !== undefined) assert.equal(collectives['all-gather'], gathers, what); // prettier-ignore
        return;
      }
      if (version === pinned) assert.deepEqual(collectives, { 'all-reduce': reductions }, what);
      else assert.ok(found <= most, `${what}, at most ${most}`);
    });
  },
);
