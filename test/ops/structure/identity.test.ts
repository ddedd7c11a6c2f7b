import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '../../../src/ir/program.js';
import { add, barrier, conv, matmul, mul, reshape, sin, sum } from '../../../src/ops/index.js';
import { fuse } from '../../../src/passes/fuse/fuse.js';
import { runPipeline } from '../../../src/passes/pipeline.js';
import { schedule } from '../../../src/passes/plan/schedule.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { elementsOf, floats, programOf } from '../../support/programs.js';

const f32 = (...shape: number[]) => ({ dtype: 'float32', shape }) as const;

test('equal calls on both sides of a barrier stay two', () => {
  const program = programOf({ x: f32(3) }, ({ x }) => ({ y: add(sin(x), sin(barrier(x))) }));
  const count = [...runPipeline(program).graph.nodes()].length;
  const without = programOf({ x: f32(3) }, ({ x }) => ({ y: add(sin(x), sin(x)) }));
  assert.equal(count, [...runPipeline(without).graph.nodes()].length + 2);
});

test('no reader copies what a barrier hands it', () => {
  const readers: readonly ((x: Value) => Value)[] = [
    (x) => matmul(x, x),
    (x) => conv(reshape(x, [1, 4, 4]), reshape(x, [2, 4, 2])),
    (x) => sum(x, 0),
    (x) => sum(reshape(x, [2, 8]), 0),
    (x) => mul(reshape(x, [16]), 2),
  ];
  const input = floats(
    [4, 4],
    Array.from({ length: 16 }, (_, i) => i * i - 20),
  );
  for (const read of readers) {
    const [program, plainly] = [barrier, (x: Value) => x].map((before) =>
      programOf({ x: f32(4, 4) }, ({ x }) => ({ y: read(before(x)) })),
    );
    assert.equal(fuse(runPipeline(program)).length, fuse(runPipeline(plainly)).length);
    assert.deepEqual(
      elementsOf(compile(program).run([input])[0]),
      elementsOf(compile(plainly).run([input])[0]),
    );
  }
});

test('what reads through a barrier waits for all that comes before it and can run', () => {
  // The sum is ready at once and writes little; the products before it write more.
  const program = programOf({ x: f32(32, 32) }, ({ x }) => {
    const products = [1, 2, 3].map((k) => matmul(x, mul(x, k)));
    const late = sum(barrier(x), 0);
    return {
      y: add(
        products.reduce((a, b) => matmul(a, b)),
        late,
      ),
    };
  });
  const lowest = runPipeline(program);
  const order = schedule(lowest, fuse(lowest)).map(({ anchors }) => anchors[0]);
  const through = order.findIndex((id) =>
    lowest.operands(id).some(({ node }) => {
      const read = lowest.node(node);
      return read.kind === 'call' && read.op === barrier.declaration;
    }),
  );
  assert.ok(through > 0);
  assert.ok(order.slice(through).every((id) => id >= order[through]));
});
