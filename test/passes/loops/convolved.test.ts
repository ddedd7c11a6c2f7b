import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, symbol } from '../../../src/base/dim/index.js';
import type { DType } from '../../../src/base/dtype.js';
import { Program, type Value } from '../../../src/ir/program.js';
import { verify } from '../../../src/ir/verify.js';
import * as ops from '../../../src/ops/index.js';
import { backwardProgram } from '../../../src/passes/gradient/gradient.js';
import { sinkSums } from '../../../src/passes/loops/collect.js';
import { passes, runPipeline } from '../../../src/passes/pipeline.js';
import { compile, evaluateConstant } from '../../../src/runtime/compile/compile.js';
import { numbersOf } from '../../support/arrays.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { operand } from '../../support/programs.js';
import { agree, counts, generator, inputsOf, run } from './support.js';

/*
 * A recurrent network over frames and words: convolutions of the frame, of the state and for the output, and rows of a
 * table of words. Only the convolution of the state has to wait for the iteration before.
 */

const [words, depth, channels, width] = [5, 3, 2, 4];

function variable(
  program: Program,
  name: string,
  shape: readonly Dim[],
  dtype: DType = 'float64',
): Value {
  return program.variable(name, { dtype, shape });
}

const weights: Readonly<Record<string, readonly number[]>> = {
  table: [words, depth],
  embed: [depth, channels],
  frame: [channels, 1, 3],
  state: [channels, channels, 3],
  out: [1, channels, 1],
};

function network(time: Dim): Program {
  const body = new Program();
  const [batch, batches] = [symbol('n'), symbol('b')];
  const x = variable(body, 'x', [batch, 1, width]);
  const id = variable(body, 'id', [batch], 'int32');
  const h = variable(body, 'h', [batch, channels, width]);
  const [table, embed, frame, state, out] = Object.entries(weights).map(([name, shape]) =>
    variable(body, name, shape),
  );
  const said = ops.expandDims(ops.matmul(ops.take(table, id, { axis: 0 }), embed), -1);
  const seen = ops.conv(x, frame, { padding: 1 });
  const next = ops.tanh(
    ops.add(ops.add(seen, said), ops.conv(h, state, { padding: 1, strides: 1 })),
  );
  body.setOutputs([
    { name: 'y', value: ops.conv(next, out) },
    { name: 'h', value: next },
  ]);
  const program = new Program();
  const data = [
    variable(program, 'x', [time, batches, 1, width]),
    variable(program, 'id', [time, batches], 'int32'),
  ];
  const states = [variable(program, 'h', [batches, channels, width])];
  const captures = Object.entries(weights).map(([name, shape]) => variable(program, name, shape));
  const [y, last] = ops.foreach<Value>(body, { data, states, captures });
  const loss = ops.add(ops.sum(ops.square(y)), ops.sum(last));
  program.setOutputs([{ name: 'loss', value: loss }]);
  return program;
}

/** The gradients of all inputs but the words. */
function gradientOf(program: Program, flows: readonly boolean[] = [true]): Program {
  const wrt = program.inputs.map(({ type }) => type.dtype === 'float64');
  return backwardProgram(program, wrt, flows);
}

const optimized = (program: Program): Program =>
  runPipeline(program, passes, {
    evaluate: evaluateConstant,
    observe: ({ after }) => verify(after),
  });

function checks(program: Program, after: Program, sizes: readonly (readonly number[])[]): void {
  for (const [t, b] of sizes) {
    const inputs = inputsOf(program, { t, b }, generator(t + b));
    agree(program, after, inputs, 1e-11);
  }
}

test('forward, the convolution of the state is the only one that stays', () => {
  const program = network(symbol('t'));
  const after = optimized(program);
  assert.deepEqual(counts(after, 'conv'), { outside: 2, inside: 1 });
  assert.deepEqual(counts(after, 'matmul'), { outside: 1, inside: 0 });
  assert.deepEqual(counts(after, 'take'), { outside: 1, inside: 0 });
  checks(program, after, [[0, 2], [3, 1]]); // prettier-ignore
});

test('backward, all weights and the table gather their gradients behind the loop', () => {
  const program = gradientOf(network(symbol('t')));
  const after = optimized(program);
  // Forward and backward of the state; each of the others is one for all iterations.
  assert.equal(counts(after, 'conv').inside, 1);
  assert.equal(counts(after, 'convTranspose').inside, 1);
  assert.deepEqual(counts(after, 'convWeightGradient'), { outside: 3, inside: 0 });
  assert.deepEqual(counts(after, 'takeAdjoint'), { outside: 1, inside: 0 });
  assert.deepEqual(counts(after, 'matmul').inside, 0);
  checks(program, after, [[0, 2], [3, 1]]); // prettier-ignore
});

test('compiled programs compute the same', () => {
  const program = gradientOf(network(symbol('t')));
  const inputs = inputsOf(program, { t: 4, b: 2 }, generator(3));
  const expected = run(program, inputs);
  compile(program)
    .run(inputs)
    .forEach((array: Operand, k: number) => {
      const wanted = numbersOf(expected[k]);
      numbersOf(array).forEach((value, i) =>
        assert.ok(
          Math.abs(value - wanted[i]) < 1e-11 * Math.max(1, Math.abs(wanted[i])),
          `output ${k}, element ${i}`,
        ),
      );
    });
});

test('gradients of gradients leave the loop as well', () => {
  const first = gradientOf(network(symbol('t')));
  const flows = first.outputs.map(() => true);
  const program = gradientOf(first, flows);
  const after = optimized(program);
  assert.equal(counts(after, 'takeAdjoint').inside, 0);
  assert.equal(counts(after, 'convWeightGradient').inside, 0);
  checks(program, after, [[2, 1]]);
});

test('weights that differ from row to row are groups of one convolution', () => {
  const body = new Program();
  const [x, w] = [variable(body, 'x', [2, 4, 5]), variable(body, 'w', [6, 2, 3])];
  const y = ops.conv(x, w, { groups: 2, strides: 2, padding: 1 });
  body.setOutputs([{ name: 'y', value: y }]);
  for (const time of [3, symbol('t')]) {
    const program = new Program();
    const data = [variable(program, 'x', [time, 2, 4, 5]), variable(program, 'w', [time, 6, 2, 3])];
    const [made] = ops.foreach<Value>(body, { data, states: [], captures: [] });
    program.setOutputs([{ name: 'y', value: made }]);
    const after = optimized(program);
    // A symbolic number of rows is no number of groups.
    assert.equal(counts(after, 'foreach').outside, time === 3 ? 0 : 1);
    checks(program, after, [[3, 0]]);
  }
});

test('sums over a count of rows take no part of the rows beyond it', () => {
  const [g, x, ids] = [[2, 3], [4, 3], [2]]; // prettier-ignore
  const adds: readonly ((g: Value, x: Value, id: Value) => Value)[] = [
    (each, _, id) => ops.takeAdjoint(each, id, x, { axis: 0 }),
    (each, onto, id) => ops.scatterAdd(onto, ops.broadcastTo(ops.reshape(id, [2, 1]), g), each, 0),
  ];
  // What differs from row to row: the gradient, the array to which is added, the indices.
  for (const differs of [
    [true, true, true],
    [true, false, true],
    [false, true, true],
    [false, false, true],
    [true, false, false],
  ]) {
    // prettier-ignore
    for (const add of adds) {
      const body = new Program();
      const shapes = [g, x, ids];
      const order = [0, 1, 2].sort((a, b) => Number(differs[b]) - Number(differs[a]));
      const lead = differs.filter(Boolean).length;
      const dtype = (k: number): DType => (k === 2 ? 'int32' : 'float64');
      const own = order.slice(0, lead).map((k) => variable(body, `x${k}`, shapes[k], dtype(k)));
      const total = variable(body, 'total', x);
      const same = order.slice(lead).map((k) => variable(body, `x${k}`, shapes[k], dtype(k)));
      const all = [...own, ...same];
      const made = add(all[order.indexOf(0)], all[order.indexOf(1)], all[order.indexOf(2)]);
      body.setOutputs([{ name: 'total', value: ops.add(total, made) }]);
      const program = new Program();
      const data = order.slice(0, lead).map((k) => variable(program, `x${k}`, [3, ...shapes[k]], dtype(k))); // prettier-ignore
      const states = [variable(program, 'total', x)];
      const captures = order.slice(lead).map((k) => variable(program, `x${k}`, shapes[k], dtype(k))); // prettier-ignore
      const count = variable(program, 'count', [], 'int32');
      const [value] = ops.foreach<Value>(body, { data, states, captures, count });
      program.setOutputs([{ name: 'total', value }]);
      const after = sinkSums(program);
      verify(after);
      for (const rows of [0, 2, 3]) {
        const inputs = [...inputsOf(program, {}, generator(5)).slice(0, -1), operand('int32', [], [rows])]; // prettier-ignore
        agree(program, after, inputs, 1e-12);
      }
    }
  }
});
