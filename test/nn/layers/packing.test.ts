import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withMode } from '../../../src/front/core/mode.js';
import * as kn from '../../../src/index.js';
import { assertClose } from '../../support/close.js';
import { data, flat, kinds, type Layer, layerOf, statesFor } from './recurrent-reference.js';

const [size, channels, batch, time] = [3, 2, 4, 5];
const options = { layers: 2, bidirectional: true };

/** Outputs and states, and the gradients of a loss that reads all of them, under the numbers of a seed. */
function observe(layer: Layer, lengths: readonly number[], padding: number): number[][] {
  kn.random.seed(6);
  const exists = kn.arange(time, { dtype: 'int32' }).less(kn.array(lengths).expandDims(1));
  const x = kn.where(exists.expandDims(-1), data([batch, time, channels]), padding);
  const states = statesFor(layer, batch);
  const given = [x, ...states];
  given.forEach((each) => each.attachGrad());
  const read = kn.autograd.record(() => {
    const [outputs, ends] = layer.call(x, { states, lengths: kn.array(lengths, { dtype: 'int32' }) }); // prettier-ignore
    return [outputs, ...ends];
  });
  const loss = kn.autograd.record(() => read.map((each, k) => each.sin().mul(k + 1).sum()).reduce((a, b) => a.add(b))); // prettier-ignore
  loss.backward();
  const parameters = [...layer.parameters().values()].map(({ grad }) => grad!);
  return [...read, ...given.map(({ grad }) => grad!), ...parameters].map(flat);
}

const masked = <R>(run: () => R): R => withMode({ hasStaticSizes: true }, 'test', run);

const sequences = [
  [5, 1, 0, 3],
  [0, 0, 0, 0],
  [5, 5, 5, 5],
  [2, 4, 4, 1],
];

for (const kind of kinds) {
  test(`masked steps compute what packed ones do, whatever the padding is: ${kind}`, () => {
    for (const lengths of sequences) {
      const expected = observe(layerOf(kind, size, channels, options), lengths, 0);
      assert.ok(expected.flat().every(Number.isFinite));
      for (const padding of [0, NaN, Infinity]) {
        const layer = layerOf(kind, size, channels, options);
        const found = masked(() => observe(layer, lengths, padding));
        found.forEach((each, k) => assertClose(each, expected[k], 1e-12, `${lengths.join()}: ${k}`)); // prettier-ignore
      }
    }
  });
}

test('dropout between layers drops the same elements, masked and packed', () => {
  const run = (): number[][] => {
    const layer = layerOf('GRU', size, channels, { ...options, dropout: 0.5 });
    return kn.autograd.trainMode(() => observe(layer, sequences[3], 0));
  };
  const expected = run();
  masked(run).forEach((each, k) => assertClose(each, expected[k], 1e-12));
  const plain = observe(layerOf('GRU', size, channels, options), sequences[3], 0);
  assert.notDeepEqual(expected[0], plain[0]);
});

test('where all sizes have to be known, the data decides none', () => {
  const layer = layerOf('LSTM', size, channels, options);
  const x = data([batch, time, channels]);
  const graph = layer.graphFor(x, { lengths: kn.array(sequences[0], { dtype: 'int32' }) });
  assert.match(String(graph), /countedPositions/);
  assert.doesNotMatch(String(graph.staticForm), /countedPositions|extents|argsort/);
  assert.equal(graph.staticForm.staticForm, graph.staticForm);
  assert.equal(graph.staticForm, graph.staticForm);
  const none = layer.graphFor(x);
  assert.equal(none.staticForm, none);
});
