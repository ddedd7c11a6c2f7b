import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundsOf } from '../../../src/base/dim/index.js';
import { ShapeError } from '../../../src/base/errors.js';
import type { Program } from '../../../src/ir/program.js';
import { verify } from '../../../src/ir/verify.js';
import type { Evaluate } from '../../../src/passes/rewrite/pass.js';
import { foldConstants } from '../../../src/passes/simplify/fold.js';
import { partition } from '../../../src/passes/host/partition.js';
import { passes, runPipeline } from '../../../src/passes/pipeline.js';
import { compile, evaluateConstant } from '../../../src/runtime/compile/compile.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { elementsOf, floats } from '../../support/programs.js';
import { parse } from '../../support/program-texts.js';

function operators(program: Program): string[] {
  return [...program.graph.nodes()].flatMap((id) => {
    const node = program.node(id);
    return node.kind === 'call' ? [node.op.name] : [];
  });
}

const never: Evaluate = () => {
  throw new Error('this must not be computed');
};

test('what would be large is never made: neither filled arrays nor what is computed of them', () => {
  const program = parse(`program {
    %0 = fill() {shape: [10000, 10000], value: 0, dtype: "float32"}: float32[10000, 10000]
    %1 = constant float32[] [2]
    %2 = add(%0, %1): float32[10000, 10000]
    %3 = broadcastTo(%1) {shape: [10000, 10000]}: float32[10000, 10000]
    output y = %2
    output z = %3
  }`);
  assert.equal(foldConstants(program, { evaluate: never }), program);
  const lowest = runPipeline(program, passes, { evaluate: evaluateConstant });
  assert.deepEqual(operators(lowest), ['fill', 'add', 'broadcastTo']);
});

test('the limit is on elements, of every result', () => {
  const folded = (extent: number): string[] =>
    operators(
      foldConstants(
        parse(`program {
          %0 = constant float32[] [2]
          %1 = broadcastTo(%0) {shape: [${extent}]}: float32[${extent}]
          output y = %1
        }`),
        { evaluate: evaluateConstant },
      ),
    );
  assert.deepEqual(folded(4096), []);
  assert.deepEqual(folded(4097), ['broadcastTo']);
});

test('random numbers are never frozen into a program, although a constant state would tell them', () => {
  const program = parse(`program {
    %0 = constant int64[2] [1, 2]
    %1 = randomUniform(%0) {shape: [2], low: 0, high: 1, dtype: "float32"}: float32[2]
    output y = %1
  }`);
  assert.equal(foldConstants(program, { evaluate: never }), program);
});

test('constants of all kinds fold to what eager arithmetic says', () => {
  const program = runPipeline(
    parse(`program {
      %0 = constant int64[2] [9007199254740993, -1]
      %1 = add(%0, %0): int64[2]
      %2 = constant float32[2] [0.1, -0]
      %3 = mul(%2, %2): float32[2]
      %4 = constant bool[] [true]
      %5 = logicalNot(%4): bool[]
      output a = %1
      output b = %3
      output c = %5
    }`),
    passes,
    { evaluate: evaluateConstant },
  );
  assert.deepEqual(operators(program), []);
  const elements = program.outputs.map(({ value }) => {
    const node = program.node(value.node);
    return node.kind === 'constant' ? [...(node.data.data as Iterable<number | bigint>)] : [];
  });
  const tenth = Math.fround(0.1);
  assert.deepEqual(elements, [[18014398509481986n, -2n], [Math.fround(tenth * tenth), 0], [0]]);
});

test('sizes that constants decide become numbers, and need no cut', () => {
  const lowest = runPipeline(
    parse(`program {
      dim 0 <= count_0 <= 4
      input x: float32[4]
      %0 = constant bool[4] [true, false, true, true]
      %1 = booleanMask(x, %0): float32[count_0]
      %2 = fill() {shape: ["count_0"], value: 2, dtype: "float32"}: float32[count_0]
      %3 = mul(%1, %2): float32[count_0]
      output y = %3
    }`),
    passes,
    { evaluate: evaluateConstant },
  );
  assert.deepEqual(lowest.outputs[0].value.type.shape, [3]);
  assert.equal(partition(lowest), null);
  assert.ok(!operators(lowest).includes('extents'));
  const [y] = compile(lowest).run([floats([4], [5, 6, 7, 8])]);
  assert.deepEqual(elementsOf(y), [10, 14, 16]);
});

test('a size that cannot be is refused when it happens, and not before', () => {
  const program = parse(`program {
    input x: float32[]
    %0 = constant int32[1] [-2]
    %1 = extents(%0) {most: null}: bool[size_0]
    %2 = broadcastTo(x) {shape: ["size_0"]}: float32[size_0]
    output y = %2
  }`);
  const executable = compile(program);
  assert.throws(() => executable.run([floats([], [1])]), ShapeError);
});

test('a number that a size has in both branches is that of the result, and what follows is of that size', () => {
  const lowest = runPipeline(
    parse(`program {
      dim 0 <= size_0 <= 4
      input p: bool[]
      input x: float32[4]
      %0 = cond(p, x) [@0 {
        dim 0 <= count_0 <= 4
        input x: float32[4]
        %0 = constant bool[4] [true, false, true, true]
        %1 = booleanMask(x, %0): float32[count_0]
        output y = %1
      }, @1 {
        dim 0 <= count_0 <= 4
        input x: float32[4]
        %0 = constant bool[4] [false, true, true, true]
        %1 = booleanMask(x, %0): float32[count_0]
        output y = %1
      }]: float32[size_0]
      %1 = fill() {shape: ["size_0"], value: 2, dtype: "float32"}: float32[size_0]
      %2 = mul(%0, %1): float32[size_0]
      output y = %2
    }`),
    passes,
    { evaluate: evaluateConstant },
  );
  verify(lowest);
  assert.deepEqual(lowest.outputs[0].value.type.shape, [3]);
  assert.equal(partition(lowest), null);
  const executable = compile(lowest);
  for (const [taken, expected] of [
    [1, [10, 14, 16]],
    [0, [12, 14, 16]],
  ] as const) {
    const p = { storage: new Storage('bool', Uint8Array.of(taken)), shape: [] };
    const [y] = executable.run([p, floats([4], [5, 6, 7, 8])]);
    assert.deepEqual(elementsOf(y), expected);
  }
});

test('bounds of which a branch knows more are those of the result', () => {
  const program = parse(`program {
    dim 0 <= size_0 <= 4
    input p: bool[]
    input x: float32[4]
    input m: bool[4]
    %0 = cond(p, x, m) [@0 {
      dim 0 <= count_0 <= 4
      input x: float32[4]
      input m: bool[4]
      %0 = constant bool[4] [true, false, true, true]
      %1 = booleanMask(x, %0): float32[count_0]
      output y = %1
    }, @1 {
      input x: float32[4]
      input m: bool[4]
      %0 = sin(x): float32[4]
      output y = %0
    }]: float32[size_0]
    output y = %0
  }`);
  const lowest = runPipeline(program, passes, { evaluate: evaluateConstant });
  verify(lowest);
  const [size] = lowest.outputs[0].value.type.shape;
  assert.deepEqual(boundsOf(size), { min: 3, max: 4 });
});

test('a number that rows of a loop have is that of the stacked rows', () => {
  const lowest = runPipeline(
    parse(`program {
      dim 0 <= count_0 <= 4
      input x: float32[5, 4]
      %0 = foreach(x) {data: 1, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
        dim 0 <= count_0 <= 4
        input x: float32[4]
        %0 = constant bool[4] [true, false, false, true]
        %1 = booleanMask(x, %0): float32[count_0]
        output y = %1
      }]: float32[5, count_0]
      output y = %0
    }`),
    passes,
    { evaluate: evaluateConstant },
  );
  verify(lowest);
  assert.deepEqual(lowest.outputs[0].value.type.shape, [5, 2]);
  assert.equal(partition(lowest), null);
});

test('the value of a size is no constant, although the array that it is made like is one', () => {
  const program = parse(`program {
    input x: float32[n]
    %0 = constant float32[] [7]
    %1 = dimLike(%0) {dim: "n + 1", dtype: null}: float32[]
    output y = %1
  }`);
  assert.equal(foldConstants(program, { evaluate: never }), program);
});
