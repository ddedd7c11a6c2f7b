import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { NodeId } from '../../../src/graph/graph.js';
import { BindingIndex, newStepGraph, type StepGraph } from '../../../src/source/flow/flow-graph.js';
import {
  definiteAssignment,
  liveness,
  reachingDefinitions,
} from '../../../src/source/flow/passes.js';
import type { VariableBinding } from '../../../src/source/syntax/scopes.js';

/*
 * The passes against all ways through random small graphs. Whatever has a witness has one that uses no edge
 * twice, so those ways are enough.
 */

interface Case {
  readonly graph: StepGraph;
  readonly entry: NodeId;
  readonly exit: NodeId;
  readonly raised: NodeId;
  readonly bindings: readonly VariableBinding[];
}

const variables = ['a', 'b', 'c'];

const cases: fc.Arbitrary<Case> = fc
  .record({
    steps: fc.array(
      fc.record({
        kind: fc.constantFrom('read' as const, 'write' as const, 'write' as const, 'join' as const),
        variable: fc.nat(variables.length - 1),
      }),
      { minLength: 1, maxLength: 6 },
    ),
    edges: fc.array(fc.tuple(fc.nat(8), fc.nat(8)), { minLength: 6, maxLength: 12 }),
  })
  .map(({ steps, edges }) => {
    // The passes tell variables by identity, and look at nothing in them.
    const bindings = variables.map((name) => ({ name }) as VariableBinding);
    const graph = newStepGraph();
    const entry = graph.addNode({ kind: 'entry' });
    const exit = graph.addNode({ kind: 'exit' });
    const raised = graph.addNode({ kind: 'raise' });
    for (const { kind, variable } of steps) {
      graph.addNode(kind === 'join' ? { kind } : { kind, binding: bindings[variable] });
    }
    for (const [from, to] of edges) {
      // Nothing leaves the ends, and nothing enters the entry.
      const source = from % graph.nodeCount;
      const target = to % graph.nodeCount;
      if (source === exit || source === raised || target === entry) continue;
      graph.addEdge(source as NodeId, target as NodeId, 'next');
    }
    return { graph, entry, exit, raised, bindings };
  });

/** Calls `visit` with every way from a node that uses no edge twice; the node itself comes first. */
function eachWay(graph: StepGraph, from: NodeId, visit: (way: readonly NodeId[]) => void): void {
  const used = new Set<number>();
  const go = (way: readonly NodeId[]): void => {
    visit(way);
    for (const edge of graph.outEdges(way[way.length - 1])) {
      if (used.has(edge)) continue;
      used.add(edge);
      go([...way, graph.target(edge)]);
      used.delete(edge);
    }
  };
  go([from]);
}

const writes = ({ graph }: Case, id: NodeId, binding: VariableBinding): boolean =>
  graph.node(id).kind === 'write' && graph.node(id).binding === binding;

const parameters = { numRuns: 300, seed: 7 };

test('liveness is a read on some way with no write before it', () => {
  let seen = 0;
  fc.assert(
    fc.property(cases, (each) => {
      const { graph, bindings } = each;
      const { before } = liveness(each, new BindingIndex(bindings));
      for (const id of graph.nodes()) {
        bindings.forEach((binding, bit) => {
          let isLive = false;
          eachWay(graph, id, (way) => {
            const last = graph.node(way[way.length - 1]);
            const isRead = last.kind === 'read' && last.binding === binding;
            if (isRead && !way.some((step) => writes(each, step, binding))) isLive = true;
          });
          seen += Number(isLive);
          assert.equal(before.get(id).has(bit), isLive);
        });
      }
    }),
    parameters,
  );
  assert.ok(seen > 300);
});

test('a definition reaches where some way from it has no other write', () => {
  let seen = 0;
  fc.assert(
    fc.property(cases, (each) => {
      const { graph } = each;
      const { before, definitions } = reachingDefinitions(each);
      const expected = new Map<NodeId, Set<NodeId>>();
      for (const definition of definitions) {
        const binding = graph.node(definition).binding!;
        eachWay(graph, definition, (way) => {
          const between = way.slice(1, -1);
          if (way.length < 2 || between.some((step) => writes(each, step, binding))) return;
          const end = way[way.length - 1];
          expected.set(end, (expected.get(end) ?? new Set()).add(definition));
        });
      }
      for (const id of graph.nodes()) {
        const found = Array.from(before.get(id).members(), (bit) => definitions[bit]);
        assert.deepEqual(new Set(found), expected.get(id) ?? new Set());
        seen += found.length;
      }
    }),
    parameters,
  );
  assert.ok(seen > 300);
});

test('a variable is assigned where no way from the entry avoids all writes of it', () => {
  let seen = 0;
  fc.assert(
    fc.property(cases, (each) => {
      const { graph, entry, bindings } = each;
      const { before } = definiteAssignment(each, new BindingIndex(bindings));
      bindings.forEach((binding, bit) => {
        const avoids = new Set<NodeId>();
        eachWay(graph, entry, (way) => {
          const passed = way.slice(0, -1);
          if (!passed.some((step) => writes(each, step, binding))) avoids.add(way[way.length - 1]);
        });
        for (const id of graph.nodes()) {
          assert.equal(before.get(id).has(bit), !avoids.has(id));
          seen += Number(avoids.has(id));
        }
      });
    }),
    parameters,
  );
  assert.ok(seen > 300);
});
