import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesOf } from '../../../src/base/dtype.js';
import type { Program, Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { foreach, type LoopSave } from '../../../src/ops/control/foreach.js';
import { whileLoop } from '../../../src/ops/control/while-loop.js';
import { matmul } from '../../../src/ops/contraction/index.js';
import { add, mul, square } from '../../../src/ops/elementwise/arithmetic.js';
import { less } from '../../../src/ops/elementwise/comparison.js';
import { slice } from '../../../src/ops/movement/slice.js';
import { tanh } from '../../../src/ops/elementwise/hyperbolic.js';
import { jointProgram } from '../../../src/passes/gradient/joint.js';
import { randomOperand, sizeOf } from '../../support/arrays.js';
import { programOf } from '../../support/programs.js';
import { checkGradients, expectSame, runJoint, seedsFor } from './check.js';
import { random } from './random.js';
import { run } from './unroll.js';

const f64 = (...shape: TensorType['shape']): TensorType => ({ dtype: 'float64', shape });
const next = random(29);
const floats = (...shape: number[]) => randomOperand(next, shape);

/** The bytes that forward gives beside the results. */
function savedBytes(program: Program): number {
  const { forward, outputs } = jointProgram(
    program,
    program.inputs.map(() => true),
  );
  return forward.outputs
    .slice(outputs)
    .reduce(
      (sum, { value: { type } }) => sum + bytesOf(type.dtype) * sizeOf(type.shape as number[]),
      0,
    );
}

/** A product, which is dear, then arithmetic, which is cheap; the state is no row. */
const body = programOf({ x: f64(3), h: f64(4), w: f64(3, 4), u: f64(4, 4) }, ({ x, h, w, u }) => {
  const product = add<Value>(matmul(x, w), matmul(h, u));
  const gate = tanh<Value>(product);
  const other = square<Value>(gate);
  return { h: mul(add<Value>(mul(gate, h), other), 0.5) };
});

const length = 6;
const program = (save: LoopSave): Program =>
  programOf({ x: f64(length, 3), h: f64(4), w: f64(3, 4), u: f64(4, 4) }, ({ x, h, w, u }) => {
    const [last] = foreach<Value>(body, { data: [x], states: [h], captures: [w, u], save });
    return { last };
  });
const inputs = [floats(length, 3), floats(4), floats(3, 4), floats(4, 4)];

test('what loops stack for their backward, in bytes', () => {
  const state = length * 4 * 8;
  // Carried states, nothing else.
  assert.equal(savedBytes(program('none')), state);
  // Nothing dear is computed again: a value behind the products besides.
  assert.equal(savedBytes(program('auto')), 2 * state);
  // Whatever is read: the state, the activation, and at most two products of it.
  const all = savedBytes(program('all'));
  assert.ok(all >= 2 * state && all <= 4 * state, String(all));
});

test('no policy changes a gradient', () => {
  const seeds = seedsFor(run(program('all'), inputs), [true], 31);
  const gradients = (['all', 'none', 'auto'] as const).map((save) => {
    checkGradients(program(save), inputs);
    return runJoint(jointProgram(program(save), [true, true, true, true]), inputs, seeds).grads;
  });
  expectSame(gradients[1], gradients[0], 'none');
  expectSame(gradients[2], gradients[0], 'auto');
});

/** What backward computes of a kind of operator. */
function count(program: Program, name: string): number {
  return [...program.graph.nodes()].reduce((sum, id) => {
    const node = program.node(id);
    if (node.kind !== 'call') return sum;
    const own = node.op.name === name ? 1 : 0;
    return node.regions.reduce((total, region) => total + count(region, name), sum + own);
  }, 0);
}

test('what is saved is not computed again, and what is not, is', () => {
  const backward = (save: LoopSave): Program =>
    jointProgram(program(save), [false, true, false, false]).backward;
  // With respect to the state alone there is one product in the way back.
  assert.equal(count(backward('all'), 'matmul'), 1);
  assert.equal(count(backward('all'), 'tanh'), 0);
  assert.equal(count(backward('auto'), 'matmul'), 1);
  assert.equal(count(backward('none'), 'matmul'), 3);
  assert.equal(count(backward('none'), 'tanh'), 1);
});

test('what is the same in every iteration is not stacked', () => {
  const body = programOf({ x: f64(4), h: f64(4), u: f64(4, 4) }, ({ x, h, u }) => {
    const weights = tanh<Value>(u);
    return { h: add(matmul<Value>(h, matmul<Value>(weights, weights)), x) };
  });
  const program = programOf({ x: f64(5, 4), h: f64(4), u: f64(4, 4) }, ({ x, h, u }) => {
    const [last] = foreach<Value>(body, { data: [x], states: [h], captures: [u], save: 'all' });
    return { last };
  });
  assert.equal(savedBytes(program), 5 * 4 * 8);
  checkGradients(program, [floats(5, 4), floats(4), floats(4, 4)]);
});

test('a loop without stacked results is padded for its gradient only if that takes little', () => {
  const size = 1 << 10;
  const looping = (limit: number): Program => {
    const condition = programOf({ s: f64(size), w: f64(size) }, ({ s }) => ({
      more: less<Value>(slice<Value>(s, 0), 3),
    }));
    const body = programOf({ s: f64(size), w: f64(size) }, ({ s, w }) => ({ s: mul(s, w) }));
    return programOf({ s: f64(size), w: f64(size) }, ({ s, w }) => ({
      last: whileLoop<Value>(condition, body, { states: [s], captures: [w], limit })[0],
    }));
  };
  const rowsOf = (limit: number): string => {
    const { forward, outputs } = jointProgram(looping(limit), [true, true]);
    return forward.outputs
      .slice(outputs)
      .map(({ value }) => String(value.type.shape[0]))
      .join();
  };
  assert.match(rowsOf(8), /(^|,)8(,|$)/);
  assert.doesNotMatch(rowsOf(1 << 20), /1048576/);
});

test('a state that is a row is not stacked once more', () => {
  const body = programOf({ x: f64(4), h: f64(4), u: f64(4, 4) }, ({ x, h, u }) => {
    const made = tanh<Value>(add(matmul<Value>(square<Value>(h), u), x));
    return { row: made, h: made };
  });
  for (const reverse of [false, true]) {
    const program = programOf({ x: f64(5, 4), h: f64(4), u: f64(4, 4) }, ({ x, h, u }) => {
      const [row] = foreach<Value>(body, { data: [x], states: [h], captures: [u], reverse });
      return { row };
    });
    assert.equal(savedBytes(program), 0);
    checkGradients(program, [floats(5, 4), floats(4), floats(4, 4)]);
  }
});
