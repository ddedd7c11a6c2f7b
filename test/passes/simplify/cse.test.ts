import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundsOf } from '../../../src/base/dim/index.js';
import { bytesOf, viewOf } from '../../../src/base/dtype.js';
import { Program, type Value } from '../../../src/ir/program.js';
import { verify } from '../../../src/ir/verify.js';
import { booleanMask, broadcastTo, cond, exp, extents, greater } from '../../../src/ops/index.js';
import { add } from '../../../src/ops/elementwise/arithmetic.js';
import { sum } from '../../../src/ops/reduction/sum.js';
import { eliminateCommonSubexpressions } from '../../../src/passes/simplify/cse.js';
import { eliminateDeadCode } from '../../../src/passes/rewrite/dce.js';
import { passes, runPipeline } from '../../../src/passes/pipeline.js';
import { parse } from '../../support/program-texts.js';

const vector = { dtype: 'float32', shape: [3] } as const;

/** A constant whose elements have exactly these bits. */
function bits(program: Program, ...words: number[]) {
  const data = new Float32Array(new Uint32Array(words).buffer);
  return program.constant({ type: { dtype: 'float32', shape: [words.length] }, data });
}

function operators(program: Program): string[] {
  return [...program.graph.nodes()].map((id) => {
    const node = program.node(id);
    return node.kind === 'call' ? node.op.name : node.kind;
  });
}

test('equal calls become one, calls with other attributes or operands stay', () => {
  const program = new Program();
  const x = program.variable('x', vector);
  const y = program.variable('y', vector);
  const first = sum(add(x, y));
  const second = sum(add(x, y));
  const kept = sum(add(x, y), 0, { keepdims: true });
  const swapped = sum(add(y, x));
  program.setOutputs([
    { name: 'a', value: first },
    { name: 'b', value: second },
    { name: 'c', value: kept },
    { name: 'd', value: swapped },
  ]);
  const after = eliminateCommonSubexpressions(program);
  assert.deepEqual(operators(after), ['variable', 'variable', 'add', 'sum', 'sum', 'add', 'sum']);
  const [a, b, c, d] = after.outputs.map(({ value }) => value);
  assert.equal(a, b);
  assert.notEqual(a, c);
  assert.notEqual(a, d);
});

test('constants are compared by bits: -0 is not 0, a NaN equals itself', () => {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float32', shape: [1] });
  const constants = [0, 0x80000000, 0x7fc00000, 0x7fc00000, 0x7fc00001, 0];
  const sums = constants.map((word) => add(x, bits(program, word)));
  program.setOutputs(sums.map((value, i) => ({ name: `s${i}`, value })));
  const after = eliminateCommonSubexpressions(program);
  const distinct = new Set(after.outputs.map(({ value }) => value.node));
  assert.equal(distinct.size, 4);
  assert.equal(operators(after).filter((kind) => kind === 'constant').length, 4);
});

test('equal elements of odd lengths and alignments are found', () => {
  for (const [dtype, count] of [
    ['int8', 3],
    ['int8', 8],
    ['int64', 1],
    ['float16', 5],
  ] as const) {
    const program = new Program();
    const values = [8, 16, 2 * bytesOf(dtype)].map((offset) => {
      const bytes = new Uint8Array(64);
      bytes.forEach((_, i) => (bytes[i] = i < offset ? 0 : ((i - offset) * 37 + 1) & 127));
      const data = viewOf(dtype, bytes.buffer, offset, count);
      return program.constant({ type: { dtype, shape: [count] }, data });
    });
    program.setOutputs(values.map((value, i) => ({ name: `c${i}`, value })));
    assert.equal(eliminateCommonSubexpressions(program).graph.nodeCount, 1, `${dtype} ${count}`);
  }
});

test('a program without repetition is returned as it is', () => {
  const program = new Program();
  const x = program.variable('x', vector);
  program.setOutputs([{ name: 'y', value: add(x, sum(x, 0, { keepdims: true })) }]);
  assert.equal(eliminateCommonSubexpressions(program), program);
  assert.equal(eliminateDeadCode(program), program);
});

test('dead code goes, unused inputs stay', () => {
  const program = new Program();
  const x = program.variable('x', vector);
  program.variable('unused', vector);
  add(sum(x), 1);
  program.setOutputs([{ name: 'y', value: add(x, x) }]);
  const after = eliminateDeadCode(program);
  assert.deepEqual(operators(after), ['variable', 'variable', 'add']);
  assert.equal(after.inputs.length, 2);
});

test('what one mask selects has one size; sizes of other bounds stay apart', () => {
  const program = new Program();
  const x = program.variable('x', vector);
  const y = program.variable('y', vector);
  const mask = (): Value => greater(x, y);
  const [rows] = extents<Value>(sum(mask())).type.shape;
  const [few] = extents<Value>(sum(mask()), { most: [2] }).type.shape;
  program.setOutputs([
    { name: 'a', value: booleanMask(x, mask()) },
    { name: 'b', value: booleanMask(y, mask()) },
    { name: 'c', value: broadcastTo(sum(x), [rows]) },
    { name: 'd', value: broadcastTo(sum(x), [few]) },
    { name: 'e', value: broadcastTo(sum(x), [extents<Value>(sum(mask())).type.shape[0]]) },
  ]);
  verify(program);
  const lowest = runPipeline(program, passes);
  verify(lowest);
  const [a, b, c, d, e] = lowest.outputs.map(({ value }) => String(value.type.shape[0]));
  assert.equal(a, b);
  assert.equal(c, e);
  assert.equal(new Set([a, c, d]).size, 3);
  assert.equal(operators(lowest).filter((name) => name === 'greater').length, 1);
  assert.equal(operators(lowest).filter((name) => name === 'extents').length, 3);
});

test('a call stays that decides a size which something live speaks of', () => {
  const program = new Program();
  const x = program.variable('x', vector);
  const other = booleanMask(x, greater(x, 1));
  const [rows] = booleanMask(x, greater(x, 0)).type.shape;
  program.setOutputs([{ name: 'y', value: broadcastTo(sum(x), [rows]) }]);
  assert.notEqual(String(rows), String(other.type.shape[0]));
  const live = eliminateDeadCode(program);
  verify(live);
  assert.equal(operators(live).filter((name) => name === 'booleanMask').length, 1);
  const lowest = runPipeline(program, passes);
  verify(lowest);
  // Its elements are never selected: only how many there are is counted.
  assert.ok(!operators(lowest).includes('take'));
  assert.equal(operators(lowest).filter((name) => name === 'extents').length, 1);
});

test('equal calls whose sizes have other bounds stay apart: code behind them relies on the bounds', () => {
  const program = parse(
    `program {
  dim 0 <= few <= 2
  dim 0 <= fewer <= 2
  dim 0 <= more <= 5
  dim 1 <= some <= 5
  input n: int64[]
  input x: float32[]
  %0 = extents(n) {most: null}: bool[few]
  %1 = extents(n) {most: null}: bool[more]
  %2 = extents(n) {most: null}: bool[some]
  %3 = extents(n) {most: null}: bool[any]
  %4 = extents(n) {most: null}: bool[fewer]
  %5 = broadcastTo(x) {shape: ["few"]}: float32[few]
  %6 = broadcastTo(x) {shape: ["more"]}: float32[more]
  %7 = broadcastTo(x) {shape: ["some"]}: float32[some]
  %8 = broadcastTo(x) {shape: ["any"]}: float32[any]
  %9 = broadcastTo(x) {shape: ["fewer"]}: float32[fewer]
  output a = %5
  output b = %6
  output c = %7
  output d = %8
  output e = %9
}
`,
  );
  const after = eliminateCommonSubexpressions(program);
  verify(after);
  assert.equal(operators(after).filter((name) => name === 'extents').length, 4);
  const sizes = after.outputs.map(({ value }) => value.type.shape[0]);
  assert.deepEqual(sizes.map(String), ['few', 'more', 'some', 'any', 'few']);
  assert.deepEqual(
    sizes.map((size) => boundsOf(size)),
    [
      { min: 0, max: 2 },
      { min: 0, max: 5 },
      { min: 1, max: 5 },
      { min: 0, max: Infinity },
      { min: 0, max: 2 },
    ],
  );
});

test('calls of equal regions become one, calls of regions that differ stay', () => {
  const program = new Program();
  const x = program.variable('x', vector);
  const test = program.variable('test', { dtype: 'bool', shape: [] });
  const region = (build: (x: Value) => Value): Program => {
    const inner = new Program();
    const input = inner.variable('x', vector);
    inner.setOutputs([{ name: 'y', value: build(input) }]);
    return inner;
  };
  const doubled = (): Program => region((y) => add(y, y));
  const chosen = [doubled, doubled, () => region((y) => exp(y))].map(
    (other) => cond<Value>(test, region((y) => y), other(), [x])[0], // prettier-ignore
  );
  program.setOutputs(chosen.map((value, i) => ({ name: `y${i}`, value })));
  const [a, b, c] = eliminateCommonSubexpressions(program).outputs.map(({ value }) => value);
  assert.equal(a, b);
  assert.notEqual(a, c);
});

test('inside of regions, too, only the first of equal calls stays', () => {
  const program = new Program();
  const x = program.variable('x', vector);
  const test = program.variable('test', { dtype: 'bool', shape: [] });
  const inner = new Program();
  const input = inner.variable('x', vector);
  inner.setOutputs([{ name: 'y', value: add(exp(input), exp(input)) }]);
  program.setOutputs([{ name: 'y', value: cond<Value>(test, inner, inner, [x])[0] }]);
  const after = eliminateCommonSubexpressions(program);
  const call = after.node(after.outputs[0].value.node);
  assert.ok(call.kind === 'call');
  for (const region of call.regions)
    assert.deepEqual(operators(region), ['variable', 'exp', 'add']);
});

test('of hundreds of calls each is found again, and none is taken for another', () => {
  const program = new Program();
  const values = Array.from({ length: 20 }, (_, i) => program.variable(`x${i}`, vector));
  const sums = [0, 1].flatMap(() => values.flatMap((a) => values.map((b) => add(a, b))));
  program.setOutputs(sums.map((value, i) => ({ name: `y${i}`, value })));
  const found = eliminateCommonSubexpressions(program).outputs.map(({ value }) => value);
  const [first, second] = [found.slice(0, 400), found.slice(400)];
  assert.deepEqual(second, first);
  assert.equal(new Set(first).size, 400);
});

test('a program in which nothing is computed twice is the same object, with constants and regions', () => {
  const program = new Program();
  const x = program.variable('x', vector);
  const test = program.variable('test', { dtype: 'bool', shape: [] });
  const inner = new Program();
  const input = inner.variable('x', vector);
  inner.setOutputs([{ name: 'y', value: exp(input) }]);
  const y = cond<Value>(test, inner, inner, [x])[0];
  program.setOutputs([{ name: 'y', value: add(add(y, bits(program, 1, 2, 3)), bits(program, 3, 2, 1)) }]); // prettier-ignore
  assert.equal(eliminateCommonSubexpressions(program), program);
});
