import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fromOnnx, type OnnxGraph } from '../../../../src/onnx.js';
import { type Graph, model, type Node, node, value } from '../models.js';

/* Amounts that only a run knows: computed here element by element. */

const integer = 7;

function graphOf(nodes: readonly Node[], input: Graph['input'], outputs = ['y']): OnnxGraph {
  const graph: Graph = {
    name: 'amounts',
    node: [...nodes],
    input,
    output: outputs.map((name) => value(name, [])),
  };
  return fromOnnx(model(graph, { opsetImport: [{ domain: '', version: 18n }] }));
}

const longs = (...numbers: readonly number[]): kn.NDArray => kn.array([...numbers], { dtype: 'int64' }); // prettier-ignore

/** The element of a list at an index that may lie outside of it, by NumPy's rules for borders. */
function bordered(list: readonly number[], at: number, mode: string): number {
  const n = list.length;
  const modulo = (i: number, by: number): number => ((i % by) + by) % by;
  if (at >= 0 && at < n) return list[at];
  if (mode === 'constant') return 0;
  if (mode === 'edge') return list[at < 0 ? 0 : n - 1];
  if (mode === 'wrap') return list[modulo(at, n)];
  const phase = modulo(at, Math.max(2 * (n - 1), 1));
  return list[Math.min(phase, Math.max(2 * (n - 1), 1) - phase)];
}

describe('amounts that only a run knows', () => {
  for (const mode of ['constant', 'edge', 'reflect', 'wrap']) {
    it(`Pad: borders and crops in mode ${mode}`, () => {
      const graph = graphOf(
        [node('Pad', ['x', 'pads'], 'y', { mode })],
        [value('x', ['n', 2]), value('pads', [4], integer)],
      );
      const column = [5, 7, 9];
      const x = kn.array(column.map((each) => [each, -each]));
      for (const [before, after] of [
        [0, 0],
        [2, 1],
        [0, 3],
        [-1, 0],
        [-1, 2],
        [1, -2],
        [-2, -1],
      ]) {
        // prettier-ignore
        const cut = column.slice(Math.max(-before, 0), column.length - Math.max(-after, 0));
        const low = Math.max(before, 0);
        const length = cut.length + low + Math.max(after, 0);
        const run = (): unknown => graph.run({ x, pads: longs(before, 0, after, 0) })['y'].tolist();
        const expected = Array.from({ length }, (_, i) => bordered(cut, i - low, mode));
        assert.deepEqual(run(), expected.map((each) => [each, 0 - each]), `${before} ${after}`); // prettier-ignore
      }
    });
  }

  it('Pad: widths are computed from sizes', () => {
    const graph = graphOf(
      [
        node('Shape', ['x'], 's'),
        node('Shape', ['z'], 't'),
        node('Sub', ['t', 's'], 'missing'),
        node('Sub', ['s', 's'], 'none'),
        node('Concat', ['none', 'missing'], 'pads', { axis: 0 }),
        node('Pad', ['x', 'pads'], 'p'),
        node('Add', ['p', 'z'], 'y'),
      ],
      [value('x', ['n']), value('z', ['m'])],
    );
    const run = (n: number, m: number): unknown =>
      graph.run({ x: kn.arange(1, n + 1), z: kn.full([m], 0.5) })['y'].tolist();
    assert.deepEqual(run(2, 4), [1.5, 2.5, 0.5, 0.5]);
    assert.deepEqual(run(3, 3), [1.5, 2.5, 3.5]);
    assert.deepEqual(run(3, 2), [1.5, 2.5]);
  });

  it('CenterCropPad: crops and pads to sizes of a run', () => {
    const graph = graphOf(
      [node('CenterCropPad', ['x', 'to'], 'y', { axes: [0] })],
      [value('x', ['n']), value('to', [1], integer)],
    );
    for (const n of [1, 4, 5]) {
      for (const to of [0, 1, 3, 4, 6, 7]) {
        const list = Array.from({ length: n }, (_, i) => i + 1);
        const start = Math.floor(Math.max(n - to, 0) / 2);
        const before = Math.floor(Math.max(to - n, 0) / 2);
        const cut = list.slice(start, start + Math.min(n, to));
        const expected = Array.from({ length: to }, (_, i) => cut[i - before] ?? 0);
        const y = graph.run({ x: kn.array(list), to: longs(to) })['y'];
        assert.deepEqual([y.shape, y.tolist()], [[to], expected]);
      }
    }
  });

  it('Split: parts of sizes of a run make up the whole', () => {
    const graph = graphOf(
      [node('Split', ['x', 'sizes'], ['a', 'b', 'c'], { axis: 0 }), node('Add', ['a', 'c'], 'y')],
      [value('x', ['n']), value('sizes', [3], integer)],
      ['a', 'b', 'y'],
    );
    const run = (n: number, ...sizes: readonly number[]): unknown[] => {
      const { a, b, y } = graph.run({ x: kn.arange(n), sizes: longs(...sizes) });
      return [a.tolist(), b.tolist(), y.tolist()];
    };
    assert.deepEqual(run(7, 2, 3, 2), [[0, 1], [2, 3, 4], [5, 7]]); // prettier-ignore
    assert.deepEqual(run(4, 1, 0, 3), [[0], [], [1, 2, 3]]);
    for (const sizes of [
      [2, 3, 3],
      [2, 3, 1],
      [9, 0, 0],
    ]) {
      // prettier-ignore
      assert.throws(() => run(7, ...sizes), { name: 'ShapeError', message: /the parts do not make up the whole/ }); // prettier-ignore
    }
  });

  it('windows of a length of a run', () => {
    const graph = graphOf([node('HannWindow', ['size'], 'y')], [value('size', [], integer)]);
    for (const size of [1, 2, 5]) {
      const y = graph.run({ size: kn.array(size, { dtype: 'int64' }) })['y'].tolist() as number[];
      assert.equal(y.length, size);
      y.forEach((each, i) =>
        assert.ok(Math.abs(each - (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / size))) < 1e-6),
      );
    }
  });
});
