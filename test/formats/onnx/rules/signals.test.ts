import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fromOnnx } from '../../../../src/onnx.js';
import { model, node, value } from '../models.js';

/** Weights for so many bins of a transform of a length, at 8 samples a second, from 0 to a frequency. */
function weights(bins: number, length: number, highest: number): kn.NDArray {
  const operands = { bins, length, rate: 8, lowest: 0, highest };
  const names = Object.keys(operands);
  const bytes = model({
    name: 'mel',
    node: [node('MelWeightMatrix', names, 'y')],
    input: names.map((name, k) => value(name, [], k > 2 ? 1 : 7)),
    output: [value('y', [])],
  });
  const inputs = Object.fromEntries(
    Object.entries(operands).map(([name, each], k) => [
      name,
      { value: k > 2 ? kn.array(each) : kn.array(BigInt(each)) },
    ]),
  );
  return fromOnnx(bytes, { inputs }).run({}).y;
}

test('one frequency has a row of its own; a transform of no length or less has none', () => {
  // All edges of the triangles lie in the only row, so that each is its own top.
  assert.deepEqual(weights(3, 1, 0).tolist(), [[1, 1, 1]]);
  assert.deepEqual(weights(3, 0, 0).tolist(), [[1, 1, 1]]);
  assert.throws(() => weights(3, -2, 0), /no matrix is as large/);
}); // prettier-ignore
