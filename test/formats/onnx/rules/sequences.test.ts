import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fromOnnx, type OnnxGraph, toOnnx } from '../../../../src/onnx.js';
import { floats, ints, model, type Node, node, value } from '../models.js';

/*
 * Sequences to which a loop adds a tensor in each iteration, as scripts do that append to a list. The loops double a
 * vector, and are computed here by plain code.
 */

const boolean = 9;
const integer = 7;

/** A loop over the vector `x` that adds each double of it to a sequence, and goes on while that sums to less than `end`. */
function doubling(first: readonly string[], uses: readonly Node[], outputs: readonly string[]): OnnxGraph {
  const body = {
    name: 'body',
    node: [
      node('Add', ['before', 'before'], 'after'),
      node('SequenceInsert', ['list', 'after'], 'longer'),
      node('ReduceSum', ['after'], 'sum', { keepdims: 0 }),
      node('Less', ['sum', 'end'], 'again'),
    ],
    input: [value('i', [], integer), value('c', [], boolean), value('before', [2]), { name: 'list' }],
    output: [value('again', [], boolean), value('after', [2]), { name: 'longer' }],
  };
  const start = first.length === 0 ? node('SequenceEmpty', [], 'start') : node('SequenceConstruct', first, 'start');
  return fromOnnx(
    model({
      name: 'doubling',
      node: [start, node('Loop', ['trips', '', 'x', 'start'], ['last', 'list_'], { body: { graph: body } }), ...uses],
      input: [value('trips', [], integer), value('x', [2]), value('end', [])],
      output: outputs.map((name) => value(name, [])),
      initializer: [ints('back', [], [-1]), floats('own', [2], [7, 9])],
    }),
  );
} // prettier-ignore

const feeds = (trips: number, end: number): Record<string, kn.NDArray> => ({
  trips: kn.array(trips, { dtype: 'int64' }),
  x: kn.array([1, 3]),
  end: kn.array(end),
});

/** The rows that the loop adds. */
function expectedRows(trips: number, end: number): readonly (readonly number[])[] {
  const rows: number[][] = [];
  for (let [a, b, i] = [2, 6, 0]; i < trips; i++, a *= 2, b *= 2) {
    rows.push([a, b]);
    if (a + b >= end) break;
  }
  return rows;
}

const runs = [[3, 1e9], [9, 30], [1, 0], [400, 1000]] as const; // prettier-ignore

test('a loop adds to a sequence as often as the data decides', () => {
  const names = ['stacked', 'columns', 'flat', 'count', 'final', 'last', 'list_'];
  const graph = doubling(
    [],
    [
      node('ConcatFromSequence', ['list_'], 'stacked', { axis: 0, new_axis: 1 }),
      node('ConcatFromSequence', ['list_'], 'columns', { axis: -1, new_axis: 1 }),
      node('ConcatFromSequence', ['list_'], 'flat', { axis: 0 }),
      node('SequenceLength', ['list_'], 'count'),
      node('SequenceAt', ['list_', 'back'], 'final'),
    ],
    names,
  );
  for (const [trips, end] of runs) {
    const rows = expectedRows(trips, end);
    const columns = [0, 1].map((k) => rows.map((row) => row[k]));
    const found = graph.run(feeds(trips, end));
    const values = names.map((name) => found[name].tolist());
    assert.deepEqual(values, [rows, columns, rows.flat(), BigInt(rows.length), rows.at(-1), rows.at(-1), rows]); // prettier-ignore
  }
  assert.throws(() => graph.run(feeds(0, 1)), kn.ShapeError); // no entry is the last one
  const x = kn.array([1, 3]);
  x.attachGrad();
  kn.autograd.record(() => graph.run({ ...feeds(3, 1e9), x })['stacked'].sum()).backward();
  assert.deepEqual(x.grad!.tolist(), [2 + 4 + 8, 2 + 4 + 8]);
});

test('a loop that never runs leaves an empty sequence', () => {
  const uses = [
    node('ConcatFromSequence', ['list_'], 'stacked', { axis: 0, new_axis: 1 }),
    node('SequenceLength', ['list_'], 'count'),
  ];
  const found = doubling([], uses, ['stacked', 'count']).run(feeds(0, 1));
  assert.deepEqual([found['stacked'].shape, found['count'].tolist()], [[0, 2], 0n]);
});

test('a loop adds to a sequence that has entries, and is written again', () => {
  const uses = [node('ConcatFromSequence', ['list_'], 'flat', { axis: 0 })];
  const graph = doubling(['own', 'x'], uses, ['flat']);
  for (const again of [graph, fromOnnx(toOnnx(graph, { check: feeds(2, 1e9) }))]) {
    for (const [trips, end] of runs) {
      const rows = [[7, 9], [1, 3], ...expectedRows(trips, end)]; // prettier-ignore
      assert.deepEqual(again.run(feeds(trips, end))['flat'].tolist(), rows.flat());
    }
  }
});

test('what needs the entries of such a sequence one by one is refused', () => {
  const uses = [node('SequenceErase', ['list_'], 'shorter')];
  assert.throws(() => doubling([], uses, ['shorter']), kn.UnsupportedError);
});
