import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fromOnnx, type OnnxGraph } from '../../../../src/onnx.js';
import { floats, type Graph, ints, model, type Node, node, value } from '../models.js';

/*
 * Sizes that meet in models: what masks select, what is distinct, how often loops run, and inputs of different
 * names. Whether they fit is known when the model runs; what it then computes is computed here by plain loops.
 */

const boolean = 9;
const integer = 7;

function graphOf(
  nodes: readonly Node[],
  input: Graph['input'],
  output: readonly string[],
  initializer: Graph['initializer'] = [],
): OnnxGraph {
  return fromOnnx(
    model({
      name: 'meeting',
      node: [...nodes],
      input,
      output: output.map((name) => value(name, [])),
      initializer,
    }),
  );
}

const bools = (...bits: readonly number[]): kn.NDArray =>
  kn.array(Uint8Array.from(bits), { dtype: 'bool', shape: [bits.length] });
const longs = (...numbers: readonly number[]): kn.NDArray => kn.array([...numbers], { dtype: 'int64' }); // prettier-ignore

/** Two lists broadcast, by NumPy's rule; null where they do not. */
function pairs(a: readonly number[], b: readonly number[]): readonly (readonly number[])[] | null {
  if (a.length === b.length) return a.map((each, i) => [each, b[i]]);
  if (a.length === 1) return b.map((each) => [a[0], each]);
  return b.length === 1 ? a.map((each) => [each, b[0]]) : null;
}

/** Compares what a graph computes of two masks with pairs of what they select. */
function comparesMasks(
  graph: OnnxGraph,
  expected: (found: readonly (readonly number[])[]) => unknown,
  others: Readonly<Record<string, kn.NDArray>> = {},
): void {
  const [x, y] = [[3, 1, 4, 1.5], [-2, 7, 1, 8]]; // prettier-ignore
  const masks = [[1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0], [0, 1, 1, 0]]; // prettier-ignore
  const chosen = (all: readonly number[], mask: readonly number[]): number[] =>
    all.filter((_, i) => mask[i] === 1);
  for (const m of masks) {
    for (const n of masks) {
      const found = pairs(chosen(x, m), chosen(y, n));
      const run = (): unknown =>
        graph.run({ x: kn.array(x), y: kn.array(y), m: bools(...m), n: bools(...n), ...others })['z'].tolist(); // prettier-ignore
      if (found === null) assert.throws(run, kn.ShapeError, `${m.join()} ${n.join()}`);
      else assert.deepEqual(run(), expected(found), `${m.join()} ${n.join()}`);
    }
  }
}

const masked = [value('x', [4]), value('y', [4]), value('m', [4], boolean), value('n', [4], boolean)]; // prettier-ignore
const compressed = [
  node('Compress', ['x', 'm'], 'a', { axis: 0 }),
  node('Compress', ['y', 'n'], 'b', { axis: 0 }),
];

describe('sizes that meet in models', () => {
  it('what two masks select broadcasts', () => {
    comparesMasks(graphOf([...compressed, node('Mul', ['a', 'b'], 'z')], masked, ['z']), (found) =>
      found.map(([a, b]) => a * b),
    );
  });

  it('a selection that has broadcast broadcasts again', () => {
    const nodes = [
      ...compressed,
      node('Greater', ['a', 'b'], 'c'),
      node('Where', ['c', 'a', 'b'], 'd'),
      node('Sub', ['d', 'a'], 'z'),
    ];
    comparesMasks(graphOf(nodes, masked, ['z']), (found) =>
      found.map(([a, b]) => Math.max(a, b) - a),
    );
  });

  it('positions of two NonZero select rows that are added', () => {
    const nodes = [
      ...['m', 'n'].flatMap((mask, k) => [
        node('NonZero', [mask], `p${k}`),
        node('Squeeze', [`p${k}`, 'first'], `q${k}`),
      ]),
      node('Gather', ['x', 'q0'], 'a'),
      node('Gather', ['y', 'q1'], 'b'),
      node('Add', ['a', 'b'], 'z'),
    ];
    const graph = graphOf(nodes, masked, ['z'], [ints('first', [1], [0])]);
    comparesMasks(graph, (found) => found.map(([a, b]) => a + b));
  });

  it('products, joins and loops of selections meet without broadcasting', () => {
    const nodes = [
      ...compressed,
      node('MatMul', ['a', 'b'], 'dot'),
      node('Unsqueeze', ['a', 'zero'], 'ra'),
      node('Unsqueeze', ['b', 'zero'], 'rb'),
      node('Concat', ['ra', 'rb'], 'both', { axis: 0 }),
      node('Einsum', ['a', 'b'], 'sum', { equation: 'i,i->' }),
    ];
    const graph = graphOf(nodes, masked, ['dot', 'both', 'sum'], [ints('zero', [1], [0])]);
    const run = (m: readonly number[], n: readonly number[]): unknown[] => {
      const { dot, both, sum } = graph.run({
        x: kn.array([1, 2, 3, 4]),
        y: kn.array([5, 6, 7, 8]),
        m: bools(...m),
        n: bools(...n),
      });
      return [dot.tolist(), both.tolist(), sum.tolist()];
    };
    assert.deepEqual(run([1, 0, 1, 0], [0, 1, 0, 1]), [6 + 24, [[1, 3], [6, 8]], 30]); // prettier-ignore
    assert.deepEqual(run([0, 0, 0, 0], [0, 0, 0, 0]), [0, [[], []], 0]);
    assert.throws(() => run([1, 0, 1, 0], [0, 1, 0, 0]), kn.ShapeError);
  });

  it('distinct elements meet a range of as many', () => {
    const nodes = [
      node('Unique', ['x'], ['u', '', '', 'c'], { sorted: 1 }),
      node('Size', ['u'], 'count'),
      node('Range', ['none', 'count', 'one'], 'numbers'),
      node('Range', ['none', 'limit', 'one'], 'others'),
      node('Mul', ['c', 'numbers'], 'weighted'),
      node('Add', ['weighted', 'others'], 'z'),
    ];
    const graph = graphOf(
      nodes,
      [value('x', ['k']), value('limit', [], integer)],
      ['z'],
      [ints('none', [], [0]), ints('one', [], [1])],
    );
    const run = (list: readonly number[], count: number): unknown => {
      const [x, limit] = [kn.array([...list]), kn.array(count, { dtype: 'int64' })];
      return graph.run({ x, limit })['z'].cast('float32').tolist();
    };
    // Counts 2, 1, 3 times 0, 1, 2, and 0, 1, 2 added.
    assert.deepEqual(run([5, 7, 2, 7, 2, 7], 3), [0, 2, 8]); // prettier-ignore
    assert.deepEqual(run([5, 7, 2, 7, 2, 7], 1), [0, 1, 6]);
    assert.deepEqual(run([9, 9], 4), [0, 1, 2, 3]);
    assert.throws(() => run([5, 7, 2], 2), kn.ShapeError);
  });

  it('inputs whose sizes have different names broadcast, and refuse what eager code refuses', () => {
    const graph = graphOf(
      [node('Add', ['x', 'y'], 'z')],
      [value('x', ['n', 2]), value('y', ['m', 2])],
      ['z'],
    );
    const ones = (rows: number): kn.NDArray => kn.arange(rows * 2).reshape([rows, 2]);
    for (const [n, m] of [
      [3, 3],
      [1, 3],
      [3, 1],
      [0, 1],
      [1, 0],
      [0, 0],
      [1, 1],
      [2, 3],
      [0, 2],
    ]) {
      // prettier-ignore
      const eager = (): unknown => ones(n).add(ones(m)).tolist();
      const run = (): unknown => graph.run({ x: ones(n), y: ones(m) })['z'].tolist();
      if (n === m || n === 1 || m === 1) assert.deepEqual(run(), eager());
      else {
        assert.throws(eager, kn.ShapeError);
        assert.throws(run, { name: 'ShapeError', op: 'add', message: /node 0/ });
      }
    }
  });

  it('Expand stretches both ways, to sizes that inputs and elements tell', () => {
    const graph = graphOf(
      [
        node('Shape', ['y'], 's'),
        node('Expand', ['x', 's'], 'a'),
        node('Expand', ['x', 'sizes'], 'b'),
      ],
      [value('x', ['n', 1]), value('y', ['m', 'k']), value('sizes', [3], integer)],
      ['a', 'b'],
    );
    const x = kn.array([[1], [2]]);
    const run = (given: kn.NDArray, y: readonly number[], sizes: readonly number[]): unknown[] => {
      const { a, b } = graph.run({ x: given, y: kn.zeros([...y]), sizes: longs(...sizes) });
      return [a.tolist(), b.tolist()];
    };
    assert.deepEqual(run(x, [2, 3], [1, 2, 2]), [[[1, 1, 1], [2, 2, 2]], [[[1, 1], [2, 2]]]]); // prettier-ignore
    assert.deepEqual(run(x, [1, 2], [2, 1, 1]), [[[1, 1], [2, 2]], [[[1], [2]], [[1], [2]]]]); // prettier-ignore
    assert.deepEqual(run(kn.array([[5]]), [3, 1], [1, 2, 0]), [[[5], [5], [5]], [[[], []]]]); // prettier-ignore
    assert.throws(() => run(x, [3, 1], [1, 1, 1]), kn.ShapeError);
    assert.throws(() => run(x, [2, 1], [1, 3, 1]), kn.ShapeError);
  });

  it('loops and branches meet sizes of the graph around them', () => {
    const inner = (op: string): Graph => ({
      name: op,
      node: [node(op, ['a', 'b'], 'inner')],
      output: [value('inner', [])],
    });
    const nodes = [
      ...compressed,
      node('If', ['c'], 'chosen', { then_branch: { graph: inner('Add') }, else_branch: { graph: inner('Sub') } }), // prettier-ignore
      node('Loop', ['trips', '', 'chosen'], ['z'], {
        body: {
          graph: {
            name: 'body',
            node: [
              node('Mul', ['a', 'b'], 'p'),
              node('Add', ['s', 'p'], 't'),
              node('Identity', ['on'], 'again'),
            ],
            input: [value('i', [], integer), value('on', [], boolean), value('s', [null])],
            output: [value('again', [], boolean), value('t', [null])],
          },
        },
      }),
    ];
    const graph = graphOf(
      nodes,
      [...masked, value('c', [], boolean)],
      ['z'],
      [ints('trips', [], [3])],
    );
    for (const isAdded of [true, false]) {
      comparesMasks(
        graph,
        (found) => found.map(([a, b]) => (isAdded ? a + b : a - b) + 3 * a * b),
        { c: kn.array(isAdded, { dtype: 'bool' }) },
      );
    }
  });

  it('states that grow in a loop of known length are right for every size', () => {
    const grown = (step: Node, state: readonly (string | null)[]): OnnxGraph =>
      graphOf(
        [
          node('Loop', ['trips', '', 's0'], ['z'], {
            body: {
              graph: {
                name: 'body',
                node: [step, node('Identity', ['on'], 'again')],
                input: [value('i', [], integer), value('on', [], boolean), value('s', [null])],
                output: [value('again', [], boolean), value('t', [null])],
              },
            },
          }),
        ],
        [value('x', ['n']), value('s0', state)],
        ['z'],
        [ints('trips', [], [3])],
      );
    const joined = grown(node('Concat', ['s', 'x'], 't', { axis: 0 }), ['n']);
    const added = grown(node('Add', ['s', 'x'], 't'), ['k']);
    const run = (graph: OnnxGraph, x: readonly number[], s0: readonly number[]): unknown =>
      graph.run({ x: kn.array([...x]), s0: kn.array([...s0]) })['z'].tolist();
    assert.deepEqual(run(joined, [1, 2], [5, 6]), [5, 6, 1, 2, 1, 2, 1, 2]);
    assert.deepEqual(run(joined, [3], [4]), [4, 3, 3, 3]);
    assert.deepEqual(run(added, [1, 2], [10]), [13, 16]);
    assert.deepEqual(run(added, [1, 2], [10, 20]), [13, 26]);
    assert.throws(() => run(added, [1, 2], [1, 2, 3]), kn.ShapeError);
  });

  it('boxes that are kept meet what else is known of them', () => {
    const nodes = [
      node('NonMaxSuppression', ['boxes', 'scores', 'limit', 'overlap'], 'kept'),
      node('Slice', ['kept', 'two', 'three', 'one'], 'column'),
      node('Squeeze', ['column', 'one'], 'places'),
      node('Squeeze', ['scores', 'leading'], 'flat'),
      node('Gather', ['flat', 'places'], 'best'),
      node('Compress', ['weights', 'mask'], 'chosen', { axis: 0 }),
      node('Mul', ['best', 'chosen'], 'z'),
    ];
    const graph = graphOf(
      nodes,
      [value('boxes', [1, 'k', 4]), value('scores', [1, 1, 'k']), value('weights', [3]), value('mask', [3], boolean)], // prettier-ignore
      ['z'],
      [
        ints('limit', [1], [2 ** 63 - 1024]), // no limit: about the greatest int64, as exporters write
        floats('overlap', [1], [0.5]),
        ints('one', [1], [1]),
        ints('two', [1], [2]),
        ints('three', [1], [3]),
        ints('leading', [2], [0, 1]),
      ],
    );
    // The first two boxes overlap; the last one is apart.
    const boxes = kn.array([[[0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]]]); // prettier-ignore
    const scores = kn.array([[[0.5, 0.75, 0.25]]]);
    const weights = kn.array([1, 10, 100]);
    const run = (...mask: readonly number[]): unknown =>
      graph.run({ boxes, scores, weights, mask: bools(...mask) })['z'].tolist();
    assert.deepEqual(run(1, 1, 0), [0.75, 2.5]);
    assert.deepEqual(run(0, 1, 0), [7.5, 2.5]);
    assert.throws(() => run(1, 1, 1), kn.ShapeError);
  });

  it('gradients pass through sizes that have met', () => {
    const graph = graphOf([...compressed, node('Mul', ['a', 'b'], 'z')], masked, ['z']);
    const [x, y] = [kn.array([1, 2, 3, 4]), kn.array([5, 6, 7, 8])];
    const gradients = (m: readonly number[], n: readonly number[]): unknown[] => {
      for (const each of [x, y]) each.attachGrad();
      const run = (): kn.NDArray => graph.run({ x, y, m: bools(...m), n: bools(...n) })['z'].sum();
      kn.autograd.record(run).backward();
      return [x.grad!.tolist(), y.grad!.tolist()];
    };
    assert.deepEqual(gradients([1, 1, 0, 0], [0, 0, 1, 1]), [[7, 8, 0, 0], [0, 0, 1, 2]]); // prettier-ignore
    assert.deepEqual(gradients([0, 1, 0, 0], [0, 1, 1, 1]), [[0, 21, 0, 0], [0, 2, 2, 2]]); // prettier-ignore
  });
});
