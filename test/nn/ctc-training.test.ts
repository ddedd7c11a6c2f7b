import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { assertClose } from '../support/close.js';
import {
  arraysOf,
  type Batch,
  expectedOf,
  flat,
  ints,
  type Loss,
  randomBatch,
  type Sizes,
  spelled,
} from './ctc-reference.js';

const { ctc } = kn.nn.loss;

/** Runs of steps that spell words, as features of each step; a linear layer has to find the letters. */
const words = [[1, 2, 2, 3], [3, 1], [2]]; // prettier-ignore

function spelling(): {
  readonly x: kn.NDArray;
  readonly y: kn.NDArray;
  readonly inputLengths: number[];
  readonly labelLengths: number[];
} {
  const paths = words.map((word) => word.flatMap((letter) => [0, letter, letter]));
  const time = 12;
  const padded = paths.map((path) => [...path, ...Array.from({ length: time - path.length }, () => -1)]); // prettier-ignore
  const most = 4;
  const rows = words.map((word) => [...word, ...Array.from({ length: most - word.length }, () => -1)]); // prettier-ignore
  return {
    x: kn.oneHot(ints(padded), 4),
    y: ints(rows),
    inputLengths: paths.map(({ length }) => length),
    labelLengths: words.map(({ length }) => length),
  };
}

/** A dense layer and a whole training step of it, eager without options. */
function training(options: kn.HybridizeOptions | null) {
  kn.random.seed(2);
  const net = new kn.nn.Dense(4, { inputs: 4, flatten: false }).initialize();
  const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 0.2 });
  const plain = (x: kn.NDArray, y: kn.NDArray, steps: kn.NDArray, counts: kn.NDArray) => {
    const loss = kn.autograd.record(() =>
      ctc(net.call(x), y, { inputLengths: steps, labelLengths: counts }),
    );
    loss.backward();
    optimizer.step();
    return loss;
  };
  const step = options === null ? plain : kn.hybridize(plain, options);
  return { net, step };
}

test('whole training steps, captured for given and for all sizes, are those of eager code', () => {
  const { x, y, inputLengths, labelLengths } = spelling();
  const dynamic = [['n', 't', null], ['n', 'm'], ['n'], ['n']];
  const [eager, ...captured] = [null, {}, { dynamic }].map((options) => {
    const { net, step } = training(options);
    const losses = [3, 2, 3].map((n) =>
      Number(
        step(
          x.slice([0, n]),
          y.slice([0, n]),
          ints(inputLengths.slice(0, n)),
          ints(labelLengths.slice(0, n)),
        ).item(),
      ),
    );
    return [...losses, ...flat(net.weight.value), ...flat(net.bias!.value)];
  });
  for (const found of captured) assertClose(found, eager, 1e-5);
});

test('a layer learns to spell, and greedy decoding reads the labels', () => {
  const { x, y, inputLengths, labelLengths } = spelling();
  const { net, step } = training({});
  const lengths = [ints(inputLengths), ints(labelLengths)] as const;
  let loss = Infinity;
  for (let i = 0; i < 60; i++) loss = Number(step(x, y, ...lengths).item());
  assert.ok(loss < 0.1, String(loss));
  const best = net.call(x).argmax(-1).tolist() as bigint[][];
  assert.deepEqual(
    best.map((path, i) => spelled(path.slice(0, inputLengths[i]).map(Number), 0)),
    words,
  );
});

test('a saved graph with symbolic sizes takes any batch, steps, labels and lengths', () => {
  class Losses extends kn.nn.HybridBlock {
    override forward(
      ...[logits, labels, inputLengths, labelLengths]: Parameters<Loss>
    ): kn.NDArray {
      return ctc(logits, labels, { inputLengths, labelLengths, reduction: 'none' });
    }
  }
  const block = new Losses().hybridize({ dynamic: [['n', 't', null], ['n', 'm'], ['n'], ['n']] });
  const argumentsOf = (batch: Batch, sizes: Sizes): Parameters<Loss> => {
    const { logits, labels } = arraysOf(batch, sizes);
    const lengths = [batch.inputLengths, batch.labelLengths].map((each) => ints(each));
    return [logits, labels, lengths[0], lengths[1]];
  };
  const sizes = { batch: 3, time: 4, most: 2, classes: 3, blank: 0 };
  const graph = block.graphFor(...argumentsOf(randomBatch(sizes, 1), sizes));
  const again = kn.StaticGraph.fromJSON(JSON.parse(JSON.stringify(graph.toJSON())));
  for (const each of [sizes, { ...sizes, batch: 2, time: 5 }, { ...sizes, most: 3 }, { ...sizes, batch: 1, time: 0 }]) {
    const batch = randomBatch(each, 2);
    const given = argumentsOf(batch, each);
    const feeds = Object.fromEntries(given.map((array, i) => [again.inputNames[i], array]));
    const [found] = Object.values(again.run(feeds));
    assertClose(flat(found), expectedOf(batch).losses, 1e-10);
  } // prettier-ignore
});
