import * as kn from '../../src/index.js';
import {
  capacityFor,
  type Digits as TaskDigits,
  drawDigits,
  equals,
  taskBatch,
  tokens,
} from '../attention/data.js';
import { Generator } from '../attention/generate.js';
import type { Transformer } from '../attention/model.js';
import { makeTransformer } from '../attention/run.js';
import { BeamSpeller } from '../decoding/beam.js';
import { spellingAxes, spellingBatch, type SpellingBatch } from '../decoding/data.js';
import { GreedySpeller } from '../decoding/greedy.js';
import type { Speller } from '../decoding/model.js';
import { makeSpeller } from '../decoding/run.js';
import type { Digits } from '../digits/data.js';
import { makeDigits } from '../digits/run.js';
import { batchTrees, treeAxes } from '../listops/batch.js';
import { drawExpression } from '../listops/data.js';
import { makeListops } from '../listops/run.js';
import { alphabetOf, batchesOf, languages, type Name, type NameBatch } from '../names/data.js';
import { makeNames } from '../names/run.js';
import type { Draw } from '../support/random.js';
import { stepAsWritten, type Training } from '../support/training.js';
import { nestedControlFlow, ResidualNet } from './networks.js';
import { type Sample, type Shipped, shipped, shippedStep } from './shipped.js';

const { normal, randint } = kn.random;

const ints = (values: number | readonly number[]): kn.NDArray =>
  kn.array(values, { dtype: 'int32' });

/** A network after a step of training, so that no weight and no statistic is what it began with. */
function trained<B, N extends kn.nn.HybridBlock>(training: Training<B, N>, batch: B): N {
  stepAsWritten(training, batch);
  return training.net;
}

/** Inputs of several sizes, each a list of so many numbers. */
function samples<A extends unknown[]>(
  names: readonly string[],
  sizes: readonly (readonly number[])[],
  argsOf: (...sizes: number[]) => A,
): Sample<A>[] {
  return sizes.map((each) => ({
    sizes: Object.fromEntries(names.map((name, i) => [name, each[i]])),
    args: argsOf(...each),
  }));
}

const alphabet: ReadonlyMap<string, number> = alphabetOf([{ text: 'abcdefghijkl', language: 0 }]);

/** Names without a meaning, one of them as long as can be. */
function drawNames(draw: Draw, count: number, longest: number): Name[] {
  const characters = [...alphabet.keys()];
  return Array.from({ length: count }, (_, i) => ({
    text: Array.from({ length: i === 0 ? longest : draw(1, longest) }, () => characters[draw(0, characters.length - 1)]).join(''),
    language: draw(0, languages.length - 1),
  })); // prettier-ignore
}

function nameBatch(draw: Draw, count: number, longest: number): NameBatch {
  return batchesOf(drawNames(draw, count, longest), alphabet, count)[0];
}

function digitBatch(count: number): Digits {
  return {
    images: normal([count, 1, 8, 8]),
    labels: randint(0, 10, [count], { dtype: 'int32' }),
  };
}

const digitsLongest = 5;

function transformer(draw: Draw): Transformer {
  const training = makeTransformer(16, digitsLongest);
  const tasks = Array.from({ length: 4 }, () => drawDigits(draw, digitsLongest));
  const { capacity } = training.net;
  return trained(training, taskBatch(tasks, capacity));
}

function speller(draw: Draw): Speller {
  const batch = spellingBatch(drawNames(draw, 4, 6), alphabet);
  const net = trained(makeSpeller(1 + alphabet.size, 24), batch);
  // Larger weights have opinions: names end at different lengths.
  for (const parameter of net.parameters().values()) parameter.assign(parameter.value.mul(3));
  return net;
}

/** What the list below is made from: the source of random inputs. */
type Make = (draw: Draw) => Shipped;

const sizedTrees = (
  draw: Draw,
  counts: readonly number[],
): Sample<[ReturnType<typeof batchTrees>]>[] =>
  counts.map((count) => {
    const rules = { depth: 1 + (count % 3), longest: 3 };
    const batch = batchTrees(Array.from({ length: count }, () => drawExpression(draw, rules)));
    const [nodes, heights, trees] = [batch.symbols, batch.begin, batch.roots].map(({ size }) => size); // prettier-ignore
    return { sizes: { nodes, heights, trees }, args: [batch] };
  });

const sizedSpellings = (
  draw: Draw,
  sizes: readonly (readonly number[])[],
): Sample<[SpellingBatch]>[] =>
  samples(['names', 'time'], sizes, (names, time) => [
    spellingBatch(drawNames(draw, names, time - 1), alphabet),
  ]);

/** Every example of this folder as a file would carry it, and some more kinds of model. */
export const models: Readonly<Record<string, Make>> = {
  digits: () => {
    const net = trained(makeDigits(), digitBatch(16));
    return shipped(
      (images: kn.NDArray) => net.call(images),
      samples(['batch'], [[2], [1], [9]], (batch) => [digitBatch(batch).images]),
      [['batch', null, null, null]],
    );
  },
  names: (draw) => {
    const net = trained(makeNames(alphabet), nameBatch(draw, 8, 5));
    return shipped(
      (characters: kn.NDArray, lengths: kn.NDArray) => net.call(characters, lengths),
      samples(['batch', 'time'], [[3, 7], [1, 1], [16, 24]], (batch, time) => {
        const { characters, lengths } = nameBatch(draw, batch, time);
        return [characters, lengths];
      }),
      [['batch', 'time'], ['batch']],
    ); // prettier-ignore
  },
  attention: (draw) => {
    const model = transformer(draw);
    return shipped(
      (given: kn.NDArray) => model.call(given),
      samples(['batch'], [[2], [1], [5]], (batch) => [
        randint(0, 12, [batch, model.capacity], { dtype: 'int32' }),
      ]),
      [['batch', null]],
    );
  },
  generation: (draw) => {
    const model = transformer(draw);
    const generator = new Generator(model);
    return shipped(
      (prompts: kn.NDArray, lengths: kn.NDArray) => generator.call(prompts, lengths),
      samples(['batch'], [[2], [1], [7]], (batch) => {
        const tasks = Array.from({ length: batch }, () => drawDigits(draw, digitsLongest));
        const prompts = tokens(tasks.map((task) => [...task, equals]), model.capacity); // prettier-ignore
        return [prompts, ints(tasks.map(({ length }) => length + 1))];
      }),
      [['batch', null], ['batch']],
    );
  },
  spelling: (draw) => {
    const net = speller(draw);
    return shipped(
      (batch: SpellingBatch) => net.call(batch),
      sizedSpellings(draw, [[3, 5], [1, 2], [8, 12]]),
      [spellingAxes],
    ); // prettier-ignore
  },
  'greedy decoding': (draw) => {
    const greedy = new GreedySpeller(speller(draw), 9);
    return shipped(
      (given: kn.NDArray) => greedy.call(given),
      samples(['names'], [[3], [1], [10]], (names) => [
        ints(Array.from({ length: names }, () => draw(0, languages.length - 1))),
      ]),
      [['names']],
    );
  },
  'beam search': (draw) => {
    const options = { width: 5, longest: 8, lengthPenalty: 1 };
    const beam = new BeamSpeller(speller(draw), options);
    return shipped(
      (language: kn.NDArray) => beam.call(language),
      [0, 4, 9].map((language): Sample<[kn.NDArray]> => ({ sizes: {}, args: [ints(language)] })),
    );
  },
  'Tree-LSTM': (draw) => {
    const trees = sizedTrees(draw, [3, 1, 8]);
    const net = trained(makeListops(12, trees[0].args[0]), trees[0].args[0]);
    return shipped((batch) => net.call(batch), trees, [treeAxes]);
  },
  'nested control flow': () =>
    shipped(
      nestedControlFlow,
      samples(['rows'], [[4], [1], [0], [9]], (rows) => [normal([rows, 3]).mul(3), kn.array(2)]),
      [['rows', null]],
    ), // prettier-ignore
  'residual network': () => {
    const net = new ResidualNet().initialize();
    kn.autograd.trainMode(() => net.call(normal([4, 3, 12, 12])));
    return shipped(
      (images: kn.NDArray) => net.call(images),
      samples(['batch', 'height', 'width'], [[2, 12, 16], [1, 8, 8], [3, 32, 20]], (...sizes) => [
        normal([sizes[0], 3, sizes[1], sizes[2]]),
      ]),
      [['batch', null, 'height', 'width']],
    ); // prettier-ignore
  },
  'transformer block': () => {
    const net = new kn.nn.TransformerEncoderLayer(16, 4).initialize();
    return shipped(
      (x: kn.NDArray) => net.call(x),
      samples(['batch', 'time'], [[2, 5], [1, 1], [3, 33]], (batch, time) => [
        normal([batch, time, 16]),
      ]),
      [['batch', 'time', null]],
    ); // prettier-ignore
  },
  'training step, digits': () =>
    shippedStep(
      makeDigits,
      samples(['batch'], [[8], [8], [3]], (batch) => [digitBatch(batch)]),
      [{ images: ['batch', null, null, null], labels: ['batch'] }],
    ),
  'training step, names': (draw) =>
    shippedStep(
      () => makeNames(alphabet),
      samples(['batch', 'time'], [[4, 6], [2, 3], [8, 12]], (batch, time) => [
        nameBatch(draw, batch, time),
      ]),
      [{ characters: ['batch', 'time'], lengths: ['batch'], languages: ['batch'] }],
    ), // prettier-ignore
  'training step, attention': (draw) => {
    const capacity = capacityFor(digitsLongest);
    const tasks = (count: number): TaskDigits[] => Array.from({ length: count }, () => drawDigits(draw, digitsLongest)); // prettier-ignore
    return shippedStep(
      () => makeTransformer(16, digitsLongest),
      samples(['batch'], [[4], [1], [7]], (batch) => [taskBatch(tasks(batch), capacity)]),
      [{ tokens: ['batch', null], weights: ['batch', null] }],
    );
  },
  'training step, spelling': (draw) =>
    shippedStep(
      () => makeSpeller(1 + alphabet.size, 24),
      sizedSpellings(draw, [[4, 5], [1, 2], [6, 9]]),
      [spellingAxes],
    ), // prettier-ignore
  'training step, Tree-LSTM': (draw) => {
    const trees = sizedTrees(draw, [3, 1, 8]);
    return shippedStep(() => makeListops(8, trees[0].args[0]), trees, [treeAxes]);
  },
};
