import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { refuses } from '../front/support.js';
import { ints } from './ctc-reference.js';

const { ctc } = kn.nn.loss;

const x = kn.zeros([2, 3, 4]);
const y = ints([[1, 2], [3, 1]]); // prettier-ignore

type Kind = abstract new (...args: never[]) => kn.KaonError;

const mistakes: readonly (readonly [string, Kind, readonly string[], () => unknown])[] = [
  ['logits and labels in each other’s place', kn.DTypeError, ['logits are floats', 'int32', 'give logits first'], () => ctc(y, x)],
  ['a single sequence', kn.ShapeError, ['not logits of sequences', '(batch, time, classes)', 'float32[3, 4]', 'expandDims'], () => ctc(kn.zeros([3, 4]), y)],
  ['a single sequence, time first', kn.ShapeError, ['(time, batch, classes)'], () => ctc(kn.zeros([3, 4]), y, { layout: 'TNC' })],
  ['a blank beside the classes', kn.ArgumentError, ['the blank is not a class', 'from 0 to 3', '4'], () => ctc(x, y, { blank: 4 })],
  ['a blank counted from the end', kn.ArgumentError, ['the blank is not a class', '-1'], () => ctc(x, y, { blank: -1 })],
  ['labels that are floats', kn.DTypeError, ['labels are integers', 'float32', 'int32'], () => ctc(x, kn.ones([2, 2]))],
  ['labels in one row', kn.ShapeError, ['one row of labels for each example', '(2, any)', 'int32[4]', 'labelLengths'], () => ctc(x, ints([1, 2, 3, 1]))],
  ['labels of another batch', kn.ShapeError, ['one row of labels for each example', 'int32[1, 2]'], () => ctc(x, ints([[1, 2]]))],
  ['another layout', kn.ShapeError, ['one row of labels for each example', '(3, any)'], () => ctc(x, y, { layout: 'TNC' })],
  ['a label beyond the classes', kn.ArgumentError, ['label 1 of example 0 is no class', '0 to 3', '4', 'labelLengths'], () => ctc(x, ints([[1, 4], [1, 1]]))],
  ['padding without lengths', kn.ArgumentError, ['label 0 of example 1 is no class', '-1', 'labelLengths'], () => ctc(x, ints([[1, 2], [-1, -1]]))],
  ['a label that is the blank', kn.ArgumentError, ['label 1 of example 1 is the blank', 'other than the blank 2'], () => ctc(x, ints([[1, 1], [3, 2]]), { blank: 2 })],
  ['input lengths that are floats', kn.DTypeError, ['input lengths are integers', 'float32'], () => ctc(x, y, { inputLengths: kn.ones([2]) })],
  ['input lengths of another batch', kn.ShapeError, ['one input length for each example', '[2]', 'int32[3]'], () => ctc(x, y, { inputLengths: [1, 1, 1] })],
  ['an input length beyond the steps', kn.ArgumentError, ['input length of example 1', '0 to 3, the number of steps', '4'], () => ctc(x, y, { inputLengths: [3, 4] })],
  ['label lengths that are floats', kn.DTypeError, ['label lengths are integers', 'float32'], () => ctc(x, y, { labelLengths: kn.ones([2]) })],
  ['label lengths of another batch', kn.ShapeError, ['one label length for each example', 'int32[1]'], () => ctc(x, y, { labelLengths: [2] })],
  ['a label length beyond the labels', kn.ArgumentError, ['label length of example 0', '0 to 2, the number of labels', '3'], () => ctc(x, y, { labelLengths: [3, 2] })],
  ['a negative label length', kn.ArgumentError, ['label length of example 1', '-1'], () => ctc(x, y, { labelLengths: [2, -1] })],
]; // prettier-ignore

for (const [name, Kind, words, act] of mistakes) {
  test(`refused, with what was expected: ${name}`, () => {
    assert.equal(refuses(act, Kind, ...words).op, 'ctc');
  });
}

test('labels and label lengths that only a run knows are refused when it runs', () => {
  const dynamic = [['n', 't', null], ['n', 'm'], ['n']];
  for (const options of [{}, { dynamic }]) {
    const f = kn.hybridize(
      (logits: kn.NDArray, labels: kn.NDArray, labelLengths: kn.NDArray) =>
        ctc(logits, labels, { labelLengths, reduction: 'none' }),
      options,
    );
    const run = (labels: number[][], counts: number[]): kn.NDArray => f(x, ints(labels), ints(counts)); // prettier-ignore
    const padded = run([[1, 2], [3, -1]], [2, 1]); // prettier-ignore
    assert.deepEqual(padded.tolist(), ctc(x, ints([[1, 2], [3, 9]]), { labelLengths: [2, 1], reduction: 'none' }).tolist()); // prettier-ignore
    const wrong: readonly (readonly [number[][], number[]])[] = [
      [[[1, 2], [3, 4]], [2, 2]],
      [[[1, 2], [3, -1]], [2, 2]],
      [[[1, 2], [3, 0]], [2, 2]],
      [[[1, 2], [3, 1]], [3, 2]],
      [[[1, 2], [3, 1]], [-1, 2]],
    ]; // prettier-ignore
    for (const [labels, counts] of wrong) {
      refuses(() => run(labels, counts), kn.ArgumentError, 'in captured code');
      refuses(() => ctc(x, ints(labels), { labelLengths: counts }), kn.ArgumentError, 'ctc');
    }
  }
});
