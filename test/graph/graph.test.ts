import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GraphError } from '../../src/base/errors.js';
import { type EdgeId, Graph, type NodeId } from '../../src/graph/graph.js';

test('an empty graph', () => {
  const graph = new Graph<string, string>(Uint32Array);
  assert.equal(graph.nodeCount, 0);
  assert.equal(graph.edgeCount, 0);
  assert.deepEqual([...graph.nodes()], []);
});

test('edges keep their order, parallel edges and loops count', () => {
  const graph = new Graph<string, number, Uint8Array>(Uint8Array);
  const [a, b, c] = ['a', 'b', 'c'].map((name) => graph.addNode(name));
  const edges = [
    [a, b], [a, c], [a, b], [b, b], [c, a],
  ].map(([from, to], k) => graph.addEdge(from, to, k * 10)); // prettier-ignore
  assert.deepEqual([...graph.outEdges(a)], [edges[0], edges[1], edges[2]]);
  assert.deepEqual([...graph.inEdges(b)], [edges[0], edges[2], edges[3]]);
  assert.deepEqual(
    [...graph.inEdges(b)].map((edge) => graph.edge(edge)),
    [0, 20, 30],
  );
  assert.equal(graph.source(edges[4]), c);
  assert.equal(graph.target(edges[4]), a);
  assert.equal(graph.node(c), 'c');
  const successors: NodeId[] = [];
  graph.forEachSuccessor(a, (id) => successors.push(id));
  assert.deepEqual(successors, [b, c, b]);
  const predecessors: NodeId[] = [];
  graph.forEachPredecessor(b, (id) => predecessors.push(id));
  assert.deepEqual(predecessors, [a, a, b]);
});

test('growth beyond the capacity loses nothing', () => {
  const graph = new Graph<number, number>(Uint32Array, 1);
  for (let i = 0; i < 1000; i++) graph.addNode(i);
  for (let i = 1; i < 1000; i++) graph.addEdge((i >> 1) as NodeId, i as NodeId, -i);
  for (let i = 1; i < 1000; i++) {
    assert.deepEqual([...graph.inEdges(i as NodeId)], [i - 1]);
    assert.equal(graph.edge((i - 1) as EdgeId), -i);
  }
});

test('an index type that is full is an error, and changes nothing', () => {
  const graph = new Graph<number, number, Uint8Array>(Uint8Array);
  for (let i = 0; i < 255; i++) graph.addNode(i);
  assert.throws(() => graph.addNode(255), {
    name: GraphError.name,
    op: 'Graph',
    message: /holds 255 nodes\n[^]*a wider index type/,
  });
  assert.equal(graph.nodeCount, 255);
  for (let i = 0; i < 255; i++) graph.addEdge(254 as NodeId, 253 as NodeId, i);
  assert.throws(() => graph.addEdge(0 as NodeId, 0 as NodeId, 0), GraphError);
  assert.equal(graph.edgeCount, 255);
  assert.equal([...graph.outEdges(0 as NodeId)].length, 0);
  assert.equal([...graph.inEdges(253 as NodeId)].length, 255);
});

test('ids that are not there are errors', () => {
  const graph = new Graph<number, number, Uint16Array>(Uint16Array);
  graph.addNode(0);
  for (const id of [-1, 1, NaN]) {
    assert.throws(() => graph.node(id as NodeId), GraphError);
    assert.throws(() => graph.addEdge(0 as NodeId, id as NodeId, 0), GraphError);
    assert.throws(() => [...graph.inEdges(id as NodeId)], GraphError);
    assert.throws(() => graph.edge(id as EdgeId), GraphError);
  }
});
