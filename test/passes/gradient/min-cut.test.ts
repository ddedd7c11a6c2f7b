import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Network } from '../../../src/passes/gradient/min-cut.js';

interface Edge {
  readonly from: number;
  readonly to: number;
  readonly capacity: number;
}

/** The price of the cut that has the given vertices on the side of the sink. */
function price(edges: readonly Edge[], behind: (vertex: number) => boolean): number {
  return edges.reduce(
    (sum, { from, to, capacity }) => sum + (!behind(from) && behind(to) ? capacity : 0),
    0,
  );
}

const vertices = 7;
const edges: fc.Arbitrary<Edge[]> = fc.array(
  fc.record({
    from: fc.nat(vertices - 1),
    to: fc.nat(vertices - 1),
    capacity: fc.oneof(fc.nat(9), fc.constant(Infinity)),
  }),
  { maxLength: 20 },
);

test('the cut is the least of all, and of the least ones the nearest to the sink', () => {
  fc.assert(
    fc.property(edges, (list) => {
      const network = new Network();
      for (let i = 2; i < vertices; i++) network.vertex();
      for (const { from, to, capacity } of list) network.edge(from, to, capacity);
      let least = Infinity;
      const best: number[] = [];
      // Bit i says that vertex i is behind the cut: the sink, vertex 1, is, and the source, 0, is not.
      for (let set = 2; set < 2 ** vertices; set++) {
        if ((set & 3) !== 2) continue;
        const cost = price(list, (vertex) => ((set >> vertex) & 1) === 1);
        if (cost < least) best.length = 0;
        least = Math.min(least, cost);
        if (cost === least) best.push(set);
      }
      fc.pre(Number.isFinite(least));
      const behind = network.behindLeastCut();
      assert.equal(price(list, (vertex) => behind[vertex] === 1), least); // prettier-ignore
      const nearest = best.reduce((a, b) => a & b);
      behind.forEach((flag, vertex) => assert.equal(flag, (nearest >> vertex) & 1));
    }),
    { seed: 20261121, numRuns: 400 },
  );
});

test('a long chain needs no stack', () => {
  const network = new Network();
  let last = network.source;
  const chain = Array.from({ length: 100_000 }, (_, i) => {
    const next = network.vertex();
    network.edge(last, next, i === 70_000 ? 1 : 2);
    return (last = next);
  });
  network.edge(last, network.sink, Infinity);
  const behind = network.behindLeastCut();
  assert.deepEqual([behind[chain[69_999]], behind[chain[70_000]]], [0, 1]);
});
