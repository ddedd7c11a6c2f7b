import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';

/* Options that an operator does not have are refused in its name, with the nearest that it has. */

const x = kn.array([[1, 2], [3, 4]]); // prettier-ignore
const image = kn.ones([1, 1, 4, 4]);

const calls: readonly (readonly [string, string, string, (options: never) => unknown])[] = [
  ['sum', 'keepDims', 'keepdims', (o) => kn.sum(x, 0, o)],
  ['mean', 'keepdim', 'keepdims', (o) => x.mean(0, o)],
  ['max', 'keep_dims', 'keepdims', (o) => x.max(0, o)],
  ['argmax', 'keepDims', 'keepdims', (o) => x.argmax(0, o)],
  ['all', 'keepDims', 'keepdims', (o) => kn.all(x.greater(0), 0, o)],
  ['norm', 'Ord', 'ord', (o) => kn.norm(x, 0, o)],
  ['std', 'corection', 'correction', (o) => x.std(0, o)],
  ['cumsum', 'exclusiv', 'exclusive', (o) => kn.cumsum(x, 0, o)],
  ['cummax', 'reversed', 'reverse', (o) => kn.cummax(x, 0, o)],
  ['sort', 'decending', 'descending', (o) => kn.sort(x, 0, o)],
  ['argsort', 'decending', 'descending', (o) => kn.argsort(x, 0, o)],
  ['topK', 'larges', 'largest', (o) => kn.topK(x, 1, 0, o)],
  ['searchsorted', 'sid', 'side', (o) => kn.searchsorted(kn.arange(3), x, o)],
  ['oneHot', 'dtyp', 'dtype', (o) => kn.oneHot([1], 3, o)],
  ['take', 'Axis', 'axis', (o) => x.take([0], o)],
  ['leakyRelu', 'slop', 'slope', (o) => kn.leakyRelu(x, o)],
  ['gelu', 'aproximate', 'approximate', (o) => kn.gelu(x, o)],
  ['nanToNum', 'posInf', 'posinf', (o) => kn.nanToNum(x, o)],
  ['unique', 'return_counts', 'returnCounts', (o) => kn.unique(x, o)],
  ['meshgrid', 'indexin', 'indexing', (o) => kn.meshgrid([[1], [2]], o)],
  ['pad', 'valeu', 'value', (o) => kn.pad(x, [1, 1], o)],
  ['onesLike', 'dType', 'dtype', (o) => kn.onesLike(x, o)],
  ['conv', 'stride', 'strides', (o) => kn.conv2d(image, kn.ones([1, 1, 2, 2]), o)],
  ['maxPool', 'stride', 'strides', (o) => kn.maxPool2d(image, 2, o)],
  ['avgPool', 'count_include_pad', 'countIncludePad', (o) => kn.avgPool2d(image, 2, o)],
];

for (const [op, wrong, right, call] of calls) {
  test(`${op} refuses ${wrong}`, () => {
    assert.throws(
      () => call({ [wrong]: 1 } as never),
      (error: unknown) => {
        assert.ok(error instanceof kn.ArgumentError, String(error));
        assert.deepEqual([error.op, error.advice], [op, `did you mean ${right}?`]);
        return true;
      },
    );
    call({ [right]: undefined } as never);
  });
}
