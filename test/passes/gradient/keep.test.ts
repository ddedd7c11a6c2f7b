import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { elementCount, symbol } from '../../../src/base/dim/index.js';
import { bytesOf } from '../../../src/base/dtype.js';
import type { NodeId } from '../../../src/graph/graph.js';
import type { Program, Value } from '../../../src/ir/program.js';
import { add, cos, matmul, mul, reshape, sin, sum } from '../../../src/ops/index.js';
import {
  chooseSaved,
  type SavedValues,
  type SavePolicy,
} from '../../../src/passes/gradient/keep.js';
import { programOf } from '../../support/programs.js';
import { spelledProgram } from '../../support/random-programs.js';

const f32 = (...shape: number[]) => ({ dtype: 'float32', shape }) as const;

/** What is kept when the nodes from a certain one on are the backward pass. */
function kept(program: Program, boundary: number, policy: SavePolicy): SavedValues {
  return chooseSaved({
    program,
    isLate: (id) => id >= boundary,
    wanted: [],
    held: program.inputs,
    policy,
  });
}

function bytes(program: Program, { values }: SavedValues): number {
  return values
    .filter((value) => !program.inputs.includes(value))
    .reduce((sum, { type }) => sum + bytesOf(type.dtype) * Number(elementCount(type.shape)), 0);
}

const choices = fc.array(fc.tuple(fc.nat(1000), fc.nat(5), fc.nat(8), fc.nat(3)), {
  minLength: 4,
  maxLength: 24,
});
const programs = choices.map((spelled) =>
  spelledProgram('float32', [3, 5], ['exact', 'folding', 'moving', 'rounding'], spelled),
);
const policies: readonly SavePolicy[] = ['all', 'auto', 'none', 0, 40, 100, 200, 400];

test('what backward reads is kept, or computed again from what is kept', () => {
  fc.assert(
    fc.property(programs, fc.double({ min: 0.3, max: 1, noNaN: true }), (program, part) => {
      const { graph } = program;
      const boundary = Math.floor(graph.nodeCount * part);
      for (const policy of policies) {
        const { again, values } = kept(program, boundary, policy);
        const known = new Set<Value>(values);
        const reads = (id: NodeId): void => {
          for (const value of program.operands(id)) {
            const isThere = value.node >= boundary || again.has(value.node) || known.has(value);
            assert.ok(isThere || program.node(value.node).kind === 'constant');
          }
        };
        for (const id of graph.nodes()) if (id >= boundary || again.has(id)) reads(id);
        for (const id of again) assert.ok(id < boundary && program.node(id).kind === 'call');
      }
    }),
    { seed: 7, numRuns: 100 },
  );
});

test('none <= auto <= all, and a budget is kept to', () => {
  fc.assert(
    fc.property(programs, fc.double({ min: 0.3, max: 1, noNaN: true }), (program, part) => {
      const boundary = Math.floor(program.graph.nodeCount * part);
      const size = (policy: SavePolicy): number => bytes(program, kept(program, boundary, policy));
      assert.equal(size('none'), 0);
      assert.ok(size('auto') <= size('all'));
      for (const budget of [0, 40, 100, 200, 400]) {
        assert.ok(size(budget) <= budget);
      }
      assert.equal(size(1e9), size('all'));
    }),
    { seed: 8, numRuns: 100 },
  );
});

/** Nodes of a program by the name of their operator. */
function named(program: Program, again: ReadonlySet<NodeId>): string[] {
  return [...again].sort((a, b) => a - b).map((id) => {
    const node = program.node(id);
    return node.kind === 'call' ? node.op.name : node.kind;
  }); // prettier-ignore
}

test('auto computes again what is cheap, and only where that saves bytes', () => {
  const program = programOf({ x: f32(8, 8), w: f32(8, 8) }, ({ x, w }) => {
    const product = matmul(x, w);
    const [a, b] = [sin(product), cos(product)];
    const total = sum(sin(product), 1, { keepdims: true });
    const late = mul(a, b); // the backward pass
    return { y: add(mul(late, product), total) };
  });
  const boundary = [...program.graph.nodes()].find((id) => {
    const node = program.node(id);
    return node.kind === 'call' && node.op.name === 'mul';
  })!;
  const all = kept(program, boundary, 'all');
  assert.deepEqual(named(program, all.again), []);
  assert.equal(bytes(program, all), 4 * (3 * 64 + 8));
  const auto = kept(program, boundary, 'auto');
  assert.deepEqual(named(program, auto.again), ['sin', 'cos']);
  assert.equal(bytes(program, auto), 4 * (64 + 8));
  const none = kept(program, boundary, 'none');
  assert.deepEqual(named(program, none.again), ['matmul', 'sin', 'cos', 'sin', 'sum']);
});

test('equal bytes: nothing is computed again', () => {
  const program = programOf({ x: f32(8, 8), w: f32(8, 8) }, ({ x, w }) => {
    const y = cos(sin(matmul(x, w)));
    return { z: mul(y, y) };
  });
  const boundary = program.outputs[0].value.node;
  assert.deepEqual(named(program, kept(program, boundary, 'auto').again), []);
});

test('views are never kept beside what they view, under any policy', () => {
  const program = programOf({ x: f32(8, 8), w: f32(8, 8) }, ({ x, w }) => {
    const y = matmul(x, w);
    const flat = reshape(y, [64]);
    return { z: mul(reshape(sin(y), [64]), flat) };
  });
  const boundary = program.outputs[0].value.node - 2;
  const { values } = kept(program, boundary, 'all');
  assert.equal(values.length, 1);
});

test('what is kept of a deep chain of equals is spread over it', () => {
  const depth = 64;
  const program = programOf({ x: f32(8, 8), w: f32(8, 8) }, ({ x, w }) => {
    const layers: Value[] = [];
    let h = x;
    for (let i = 0; i < depth; i++) layers.push((h = matmul(h, w)));
    return { y: layers.reduceRight((g, layer) => mul(g, layer)) };
  });
  const boundary = program.graph.nodeCount - (depth - 1);
  for (const count of [4, 8, 16]) {
    const { values } = kept(program, boundary, count * 256);
    const places = values
      .filter((value) => !program.inputs.includes(value))
      .map(({ node }) => node)
      .sort((a, b) => a - b);
    assert.ok(places.length <= count && places.length > count / 2, `${places.length} of ${count}`);
    const gaps = places.map((at, i) => at - (i === 0 ? 1 : places[i - 1]));
    assert.ok(Math.max(...gaps) <= (2 * depth) / count, `gaps of ${gaps.join()}`);
  }
});

test('symbolic sizes count as their bounds, or as 64', () => {
  const [n, m] = [symbol('n'), symbol('m', { max: 16 })];
  const make = (rows: typeof n): Program =>
    programOf({ x: { dtype: 'float32', shape: [rows, 4] }, w: f32(4, 4) }, ({ x, w }) => {
      const y = matmul(x, w);
      return { z: mul(y, y) };
    });
  for (const [rows, size] of [[n, 64], [m, 16]] as const) {
    const program = make(rows);
    const boundary = program.outputs[0].value.node;
    assert.equal(kept(program, boundary, 16 * size).again.size, 0);
    assert.equal(kept(program, boundary, 16 * size - 1).again.size, 1);
  } // prettier-ignore
});
