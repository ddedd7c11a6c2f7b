import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, symbol } from '../../src/base/dim/index.js';
import type { NodeId } from '../../src/graph/graph.js';
import { programToDot } from '../../src/ir/formats/dot.js';
import { Program, type Value } from '../../src/ir/program.js';
import { type Comparison, equalSizes, words } from '../../src/ir/requirement.js';
import type { TensorType } from '../../src/ir/types.js';
import { verify } from '../../src/ir/verify.js';
import { add } from '../../src/ops/elementwise/arithmetic.js';
import { booleanMask } from '../../src/ops/dynamic/boolean-mask.js';
import { fill } from '../../src/ops/movement/fill.js';
import { eliminateDeadCode } from '../../src/passes/rewrite/dce.js';
import { transform } from '../../src/passes/rewrite/transform.js';

const n = symbol('n');
const f32 = (...shape: Dim[]): TensorType => ({ dtype: 'float32', shape });

/** `x[mask]`, zeros of as many elements, and of as many as `x` has. */
function masked(): {
  readonly program: Program;
  readonly x: Value;
  readonly found: Value;
  readonly zeros: Value;
  readonly others: Value;
} {
  const program = new Program();
  const x = program.variable('x', f32(n));
  const mask = program.variable('mask', { dtype: 'bool', shape: [n] });
  const found = booleanMask<Value>(x, mask);
  const filled = (size: Dim): Value =>
    program.append(fill.declaration, [], { shape: [size], value: 0, dtype: 'float32' })[0];
  return { program, x, found, zeros: filled(found.type.shape[0]), others: filled(n) };
}

/** What the edges into a node carry, and where they come from. */
function reads({ graph }: Program, id: NodeId): readonly string[] {
  return [...graph.inEdges(id)].map((edge) => {
    const weight = graph.edge(edge);
    const what = weight.kind === 'data' ? weight.port : weight.name;
    return `${weight.kind} ${what} of ${graph.source(edge)}`;
  });
}

test('a size comes from the call whose data decides it, or from an input', () => {
  const { program, found, zeros, others } = masked();
  const [size] = found.type.shape;
  assert.deepEqual([...program.decidedSizes], [[String(size), found]]);
  assert.deepEqual(program.sizeReads(found.node), []);
  assert.deepEqual(program.sizeReads(zeros.node), [found]);
  assert.deepEqual(program.sizeReads(others.node), []);
  assert.deepEqual(reads(program, zeros.node), [`size ${String(size)} of ${found.node}`]);
});

test('a call that reads an array and speaks of its size has an edge for each, operands first', () => {
  const { program, found, zeros } = masked();
  const sum = add<Value>(zeros, found);
  assert.deepEqual(reads(program, sum.node), [
    `data 0 of ${zeros.node}`,
    `data 0 of ${found.node}`,
    `size ${String(found.type.shape[0])} of ${found.node}`,
  ]);
  assert.deepEqual(program.operands(sum.node), [zeros, found]);
  verify(program);
});

test('an input that comes later does not take over a size', () => {
  const { program, found } = masked();
  const late = program.variable('late', f32(found.type.shape[0]));
  const sum = add<Value>(late, late);
  assert.deepEqual(program.sizeReads(sum.node), [found]);
});

test('what decides a size lives as long as somebody speaks of it', () => {
  const { program, found, zeros, others } = masked();
  program.setOutputs([{ name: 'y', value: zeros }]);
  const live = eliminateDeadCode(program);
  assert.equal(live.graph.nodeCount, 4);
  assert.deepEqual([...live.decidedSizes.keys()], [String(found.type.shape[0])]);
  program.setOutputs([{ name: 'y', value: others }]);
  assert.equal(eliminateDeadCode(program).graph.nodeCount, 3);
  program.require({
    error: 'shape',
    op: 'test',
    problem: words`there are not three`,
    expected: words`3`,
    actual: words`${found.type.shape[0]}`,
    condition: equalSizes(found.type.shape[0], 3) as Comparison,
  });
  const checked = eliminateDeadCode(program);
  assert.deepEqual([...checked.decidedSizes.keys()], [String(found.type.shape[0])]);
  const last = (checked.graph.nodeCount - 1) as NodeId;
  assert.equal(checked.node(last).kind, 'check');
  assert.deepEqual(checked.sizeReads(last), [...checked.decidedSizes.values()]);
});

test('a program that is made from another has edges of its own', () => {
  const { program, found, zeros } = masked();
  program.setOutputs([{ name: 'y', value: zeros }]);
  const rebuilt = transform(program, ({ node, operands, into }) =>
    node.kind === 'call' && node.op === booleanMask.declaration
      ? into.append(node.op, operands, node.attributes)
      : undefined,
  );
  const [{ value }] = rebuilt.outputs;
  const [from] = rebuilt.sizeReads(value.node);
  assert.equal(from.program, rebuilt);
  assert.equal((rebuilt.node(from.node) as { op?: unknown }).op, booleanMask.declaration);
  assert.notEqual(from, found);
});

test('a size that is spoken of is drawn dashed', () => {
  const { program, found, zeros } = masked();
  program.setOutputs([{ name: 'y', value: zeros }]);
  const line = `  ${found.node} -> ${zeros.node} ["label"="${String(found.type.shape[0])}", "style"="dashed"];`;
  assert.ok(programToDot(program, 'f').split('\n').includes(line));
});
