import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fromOnnx, toOnnx } from '../../../../src/onnx.js';
import { floats, model, node, value } from '../models.js';

const boolean = 9;
const integer = 7;

test('a loop joins arrays until its condition, which holds at first, ends it', () => {
  const body = {
    name: 'body',
    node: [
      node('Add', ['before', 'before'], 'after'),
      node('Mul', ['after', 'pair'], 'row'),
      node('Concat', ['all', 'row'], 'longer', { axis: 0 }),
      node('Less', ['after', 'end'], 'again'),
    ],
    input: [value('i', [], integer), value('c', [], boolean), value('before', []), value('all', ['n'])],
    output: [value('again', [], boolean), value('after', []), value('longer', ['m'])],
  }; // prettier-ignore
  const graph = fromOnnx(
    model({
      name: 'doubling',
      node: [node('Loop', ['trips', '', 'x', 'none'], ['last', 'joined'], { body: { graph: body } })],
      input: [value('trips', [], integer), value('x', []), value('end', [])],
      output: [value('last', []), value('joined', ['k'])],
      initializer: [floats('none', [0], []), floats('pair', [2], [1, 3])],
    }),
  ); // prettier-ignore
  const feeds = (trips: number, end: number): Record<string, kn.NDArray> => ({
    trips: kn.array(trips, { dtype: 'int64' }),
    x: kn.array(1),
    end: kn.array(end),
  });
  for (const again of [graph, fromOnnx(toOnnx(graph, { check: feeds(3, 100) }))]) {
    for (const [trips, end, count] of [[3, 1e9, 3], [9, 8, 3], [1, 0, 1], [400, 200, 8]]) {
      const { joined, last } = again.run(feeds(trips, end));
      const rows = Array.from({ length: count }, (_, k) => [2 ** (k + 1), 3 * 2 ** (k + 1)]);
      assert.deepEqual([joined.tolist(), last.item()], [rows.flat(), 2 ** count]);
    } // prettier-ignore
  }
});
