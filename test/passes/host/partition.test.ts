import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { UnsupportedError } from '../../../src/base/errors.js';
import type { Program, Value } from '../../../src/ir/program.js';
import { verify } from '../../../src/ir/verify.js';
import {
  add,
  booleanMask,
  broadcastTo,
  expandDims,
  fill,
  foreach,
  greater,
  mean,
  mul,
  nonzero,
  reshape,
  sub,
  sum,
  whileLoop,
} from '../../../src/ops/index.js';
import { type Partition, partition } from '../../../src/passes/host/partition.js';
import { passes, runPipeline } from '../../../src/passes/pipeline.js';
import { program } from '../../runtime/dynamic/host.js';

const n = symbol('n');
const vector = { dtype: 'float32', shape: [n] } as const;

function cut(whole: Program): Partition {
  const lowest = runPipeline(whole, passes);
  verify(lowest);
  const made = partition(lowest);
  assert.ok(made !== null);
  for (const { island } of made.stages) if (island !== null) verify(island.program);
  return made;
}

/** The operators in each island. */
function islandsOf({ stages }: Partition): (readonly string[])[] {
  return stages.map(({ island }) => {
    if (island === null) return [];
    return callsOf(island.program);
  });
}

const counts = (names: readonly string[], name: string): number =>
  names.filter((other) => other === name).length;

test('a program without cuts is not cut', () => {
  const goesOn = program([vector], (x) => [greater(sum(x), 0)]);
  const step = program([vector], (x) => [sub(x, 1)]);
  const plain = program([vector], (x) => {
    const [total] = foreach<Value>(
      program(
        [
          { dtype: 'float32', shape: [] },
          { dtype: 'float32', shape: [] },
        ],
        (e, s) => [add(e, s)],
      ),
      { data: [x], states: [sum(x)], captures: [] },
    );
    return [total, ...whileLoop<Value>(goesOn, step, { states: [x], captures: [] })];
  });
  assert.equal(partition(runPipeline(plain, passes)), null);
});

test('as few islands as there are sizes one behind the other, and nothing twice', () => {
  const made = cut(
    program([vector, vector], (x, y) => {
      const a = booleanMask(x, greater(x, 0));
      const b = booleanMask(y, greater(y, 0));
      const c = booleanMask(a, greater(a, mean(b)));
      return [sum(c), sum(b), mul(y, 7), add(sum(a), 1)];
    }),
  );
  const islands = islandsOf(made);
  assert.equal(islands.length, 3);
  assert.deepEqual(
    made.stages.map(({ extents }) => extents.length),
    [2, 1, 0],
  );
  // Multiplying needs no size, so that it is in the first island; both greater of inputs are.
  assert.deepEqual(
    islands.map((names) => counts(names, 'mul')),
    [1, 0, 0],
  );
  assert.equal(counts(islands.flat(), 'greater'), 3);
  assert.equal(counts(islands.flat(), 'countedPositions'), 3);
  const all = new Set<Value>();
  for (const { island } of made.stages) {
    for (const value of island?.gives ?? []) {
      assert.ok(!all.has(value), 'no value is made by two islands');
      all.add(value);
    }
  }
});

test('equal sizes are one: masks that are the same select as many', () => {
  const made = cut(
    program([vector, vector], (x, y) => {
      const a = booleanMask(x, greater(x, 0));
      const b = booleanMask(y, greater(x, 0));
      return [a, b, nonzero(greater(x, 0))];
    }),
  );
  assert.equal(made.stages.length, 2);
  assert.equal(made.stages[0].extents.length, 1);
  const shapes = made.program.outputs.map(({ value }) => String(value.type.shape[0]));
  assert.equal(new Set(shapes).size, 1);
  assert.equal(counts(islandsOf(made).flat(), 'greater'), 1);
  assert.equal(counts(islandsOf(made).flat(), 'countedPositions'), 1);
});

test('views and what is made of nothing are made where they are read', () => {
  const made = cut(
    program([{ dtype: 'float32', shape: [n, 4] }], (x) => {
      const doubled = mul(x, 2);
      const flat = reshape(doubled, [-1]);
      const rows = booleanMask(doubled, greater(sum(x, 1), 0));
      const threes = x.program.append(fill.declaration, [], {
        shape: [4],
        value: 3,
        dtype: 'float32',
      });
      return [add(rows, threes[0]), mul(x, threes[0]), sum(flat), expandDims(flat, 0)];
    }),
  );
  const [first, second] = made.stages.map(({ island }) => island!);
  for (const value of first.gives) {
    const node = made.program.node(value.node);
    assert.ok(node.kind === 'call' && node.op.name !== 'reshape' && node.op.name !== 'fill');
  }
  const doubled = second.reads.filter((value) => {
    const node = made.program.node(value.node);
    return node.kind === 'call' && node.op.name === 'mul';
  });
  assert.equal(doubled.length, 1, 'the product crosses once, whatever is seen of it');
});

test('an island is told the sizes that its operands do not show', () => {
  const made = cut(
    program([vector, { dtype: 'float32', shape: [] }], (x, y) => {
      const [rows] = nonzero(greater(x, 0)).type.shape;
      return [broadcastTo(y, [rows])];
    }),
  );
  const [, second] = made.stages.map(({ island }) => island!);
  assert.deepEqual(second.program.sizes.map(String), ['count_0']);
  assert.equal(second.program.inputs.length, second.reads.length);
  assert.deepEqual(islandsOf(made)[1], ['broadcastTo']);
});

test('requirements are settled behind the cut that brings their sizes', () => {
  const made = cut(
    program([vector], (x) => {
      const a = booleanMask(x, greater(x, 0));
      const b = booleanMask(a, greater(a, 1));
      return [reshape(a, [-1, 2]), reshape(b, [-1, 3]), reshape(x, [-1, 5])];
    }),
  );
  assert.deepEqual(
    made.stages.map(({ requirements }) => requirements.map(({ condition }) => condition.dim.key)),
    made.stages.map((_, k) =>
      made.program.requirements
        .map(({ condition }) => condition.dim.key)
        .filter((key) => key.includes(`count_${k}`)),
    ),
  );
  assert.equal(made.program.requirements.length, 3);
});

test('a loop with a size that nobody knows before it is run by the host', () => {
  const goesOn = program([vector], (x) => [greater(sum(x), 0)]);
  const step = program([vector], (x) => [sum(x), sub(x, 1)]);
  const made = cut(
    program([vector], (x) => {
      const [sums, left] = whileLoop<Value>(goesOn, step, { states: [mul(x, 2)], captures: [] });
      return [sum(sums), add(left, x)];
    }),
  );
  assert.deepEqual(
    made.stages.map(({ calls }) => calls.length),
    [1, 0],
  );
  assert.deepEqual(islandsOf(made), [['mul'], ['sum', 'add']]);
});

test('a size that is not defined is refused', () => {
  const whole = program([{ dtype: 'float32', shape: [] }], (x) => [
    broadcastTo(x, [symbol('unknown')]),
  ]);
  assert.throws(
    () => partition(whole),
    (error) => error instanceof UnsupportedError && /unknown/.test(error.message),
  );
});

test('calls that run elsewhere are cut out, as few times as what they read allows', () => {
  const whole = program([vector], (x) => {
    const doubled = mul(x, 2);
    const total = sum<Value>(doubled);
    return [add(sub(doubled, total), total)];
  });
  const lowest = runPipeline(whole, passes);
  const made = partition(lowest, { runsElsewhere: ({ op }) => op.name === 'sum' })!;
  const elsewhere = made.stages.flatMap(({ elsewhere: each }) => each?.island ?? []);
  assert.deepEqual(
    elsewhere.map((island) => callsOf(island.program).filter((name) => name === 'sum').length > 0),
    [true],
  );
  for (const { island } of made.stages) {
    if (island === null) continue;
    verify(island.program);
    assert.ok(!callsOf(island.program).includes('sum'));
  }
  for (const { program: inner } of elsewhere) verify(inner);
});

test('a program without cuts is one island where it is to be one', () => {
  const whole = program([vector], (x) => [mul(x, 2), x]);
  const made = partition(runPipeline(whole, passes), { isWhole: true })!;
  assert.equal(made.stages.length, 1);
  // An output that is an input needs no code.
  assert.equal(made.stages[0].island!.gives.length, 1);
});

function callsOf(inner: Program): readonly string[] {
  return [...inner.graph.nodes()].flatMap((id) => {
    const node = inner.node(id);
    return node.kind === 'call' ? [node.op.name] : [];
  });
}
