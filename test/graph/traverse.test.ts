import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { toDot } from '../../src/graph/dot.js';
import { dominators } from '../../src/graph/dominators.js';
import { Graph, type NodeId } from '../../src/graph/graph.js';
import { Table } from '../../src/graph/table.js';
import { postorder, preorder, toposort } from '../../src/graph/traverse.js';
import { filtered, reversed } from '../../src/graph/views.js';
import { InternalError } from '../../src/base/errors.js';

type Pairs = readonly (readonly [number, number])[];

function build(count: number, edges: Pairs): Graph<null, null> {
  const graph = new Graph<null, null>(Uint32Array);
  for (let i = 0; i < count; i++) graph.addNode(null);
  for (const [from, to] of edges) graph.addEdge(from as NodeId, to as NodeId, null);
  return graph;
}

const root = 0 as NodeId;
const randomGraph = fc.integer({ min: 1, max: 12 }).chain((count) => {
  const node = fc.integer({ min: 0, max: count - 1 });
  return fc.record({
    count: fc.constant(count),
    edges: fc.array(fc.tuple(node, node), { maxLength: 3 * count }),
  });
});
const property = (check: (count: number, edges: Pairs) => void): void =>
  fc.assert(
    fc.property(randomGraph, ({ count, edges }) => check(count, edges)),
    { seed: 7, numRuns: 500 },
  );

/** The textbook's recursive search. */
function recursive(count: number, edges: Pairs): { pre: number[]; post: number[] } {
  const [pre, post]: [number[], number[]] = [[], []];
  const seen = new Set<number>();
  const visit = (id: number): void => {
    if (seen.has(id)) return;
    seen.add(id);
    pre.push(id);
    for (const [from, to] of edges) if (from === id) visit(to);
    post.push(id);
  };
  if (count > 0) visit(0);
  return { pre, post };
}

function reachable(count: number, edges: Pairs, without: number): Set<number> {
  const kept = edges.filter(([from, to]) => from !== without && to !== without);
  return new Set(without === 0 ? [] : recursive(count, kept).pre);
}

test('orders are those of the recursive search', () => {
  property((count, edges) => {
    const graph = build(count, edges);
    const { pre, post } = recursive(count, edges);
    assert.deepEqual(preorder(graph, [root]), pre);
    assert.deepEqual(postorder(graph, [root]), post);
  });
});

test('toposort gives an order in which edges point forward, or a cycle that is one', () => {
  property((count, edges) => {
    const sorted = toposort<NodeId>(build(count, edges));
    if ('order' in sorted) {
      const position = new Map(sorted.order.map((id, k) => [id as number, k]));
      assert.equal(position.size, count);
      for (const [from, to] of edges) assert.ok(position.get(from)! < position.get(to)!);
    } else {
      const { cycle } = sorted;
      assert.ok(cycle.length > 0);
      assert.equal(new Set(cycle).size, cycle.length);
      cycle.forEach((id, k) => {
        const next = cycle[(k + 1) % cycle.length];
        assert.ok(
          edges.some(([from, to]) => from === id && to === next),
          `${id} -> ${next}`,
        );
      });
    }
  });
});

test('a dominates b exactly when b is out of reach without a', () => {
  property((count, edges) => {
    const tree = dominators<NodeId>(build(count, edges), root);
    const all = new Set(recursive(count, edges).pre);
    for (let a = 0; a < count; a++) {
      const without = reachable(count, edges, a);
      for (let b = 0; b < count; b++) {
        const expected = all.has(b) && (a === b || !without.has(b)) && all.has(a);
        assert.equal(tree.dominates(a as NodeId, b as NodeId), expected, `${a} dominates ${b}`);
      }
    }
    for (let b = 1; b < count; b++) {
      const parent = tree.immediate(b as NodeId);
      assert.equal(parent !== undefined, all.has(b));
      if (parent !== undefined) assert.ok(tree.dominates(parent, b as NodeId) && parent !== b);
    }
    assert.equal(tree.immediate(root), undefined);
  });
});

test('the reversed view turns edges, the filtered one hides nodes', () => {
  const graph = build(4, [[0, 1], [1, 2], [0, 3], [3, 2]]); // prettier-ignore
  assert.deepEqual(preorder(reversed<NodeId>(graph), [2 as NodeId]), [2, 1, 0, 3]);
  const view = filtered<NodeId>(graph, (id) => id !== 1);
  assert.deepEqual(preorder(view, [root]), [0, 3, 2]);
  assert.deepEqual(preorder(reversed(view), [2 as NodeId]), [2, 3, 0]);
  assert.equal(view.nodeCount, 4);
});

test('a chain of a million nodes is an ordinary graph', () => {
  const count = 1_000_000;
  const graph = new Graph<null, null>(Uint32Array, count);
  for (let i = 0; i < count; i++) graph.addNode(null);
  for (let i = 1; i < count; i++) graph.addEdge((i - 1) as NodeId, i as NodeId, null);
  assert.equal(postorder(graph, [root])[0], count - 1);
  const sorted = toposort<NodeId>(graph);
  assert.ok('order' in sorted && sorted.order[count - 1] === count - 1);
  assert.equal(dominators<NodeId>(graph, root).immediate((count - 1) as NodeId), count - 2);
});

test('dot text quotes what it must', () => {
  const graph = build(2, [[0, 1]]);
  const text = toDot<NodeId>(graph, {
    name: 'a "b"',
    label: (id) => (id === 0 ? 'x\\y\n"z"' : 'plain'),
    attributes: () => ({ shape: 'box' }),
  });
  assert.equal(
    text,
    'digraph "a \\"b\\"" {\n' +
      '  0 ["label"="x\\\\y\\n\\"z\\"", "shape"="box"];\n' +
      '  1 ["label"="plain", "shape"="box"];\n' +
      '  0 -> 1;\n' +
      '}\n',
  );
});

test('a table holds one entry for every id', () => {
  const table = new Table<NodeId, string>(2, 'none');
  table.set(1 as NodeId, 'one');
  assert.deepEqual([table.get(root), table.get(1 as NodeId)], ['none', 'one']);
  assert.throws(() => table.get(2 as NodeId), InternalError);
  assert.throws(() => table.set(-1 as NodeId, 'x'), InternalError);
  assert.equal(new Table(0, 1).length, 0);
});
