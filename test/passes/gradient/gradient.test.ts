import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { InternalError, ShapeError } from '../../../src/base/errors.js';
import { Program, type Value } from '../../../src/ir/program.js';
import { operator, type OperatorFunction } from '../../../src/ops/declare/declare.js';
import { add, div, mul, square } from '../../../src/ops/elementwise/arithmetic.js';
import { cast } from '../../../src/ops/elementwise/conversion.js';
import { exp } from '../../../src/ops/elementwise/exponential.js';
import type { Unary } from '../../../src/ops/signatures.js';
import { sum } from '../../../src/ops/reduction/sum.js';
import { backwardProgram, gradient } from '../../../src/passes/gradient/gradient.js';
import { evaluate, plain, type Plain } from '../plain.js';

const n = symbol('n');
const one = plain([], [1]);

/** `sum(exp(x * y) / (square(y) + 1))` with x of shape [n, 3] and y of shape [3]. */
function sample(): Program {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float64', shape: [n, 3] });
  const y = program.variable('y', { dtype: 'float64', shape: [3] });
  program.setOutputs([{ name: 'f', value: sum(div(exp(mul(x, y)), add(square(y), 1))) }]);
  return program;
}

function numeric(f: (x: readonly number[]) => number, x: readonly number[]): number[] {
  const h = 1e-5;
  return x.map((_, i) => {
    const moved = (by: number): number => f(x.map((value, k) => (k === i ? value + by : value)));
    return (moved(h) - moved(-h)) / (2 * h);
  });
}

function close(actual: readonly number[], expected: readonly number[]): void {
  assert.equal(actual.length, expected.length);
  actual.forEach((value, i) => {
    const error = Math.abs(value - expected[i]) / (1 + Math.abs(expected[i]));
    assert.ok(error < 1e-6, `element ${i}: ${value} is not ${expected[i]}`);
  });
}

const at = (rows: number): readonly [Plain, Plain] => [
  plain(
    [rows, 3],
    Array.from({ length: rows * 3 }, (_, i) => Math.sin(i + 1)),
  ),
  plain([3], [0.3, -0.7, 1.1]),
];

for (const rows of [0, 1, 4]) {
  test(`first and second derivatives agree with finite differences, ${rows} rows`, () => {
    const program = sample();
    const [x, y] = at(rows);
    const value = (x: Plain, y: Plain): number => evaluate(program, [x, y])[0].data[0];
    const backward = backwardProgram(program, [true, true]);
    const [dx, dy] = evaluate(backward, [x, y, one]);
    close(
      dx.data,
      numeric((data) => value(plain(x.shape, data), y), x.data),
    );
    close(
      dy.data,
      numeric((data) => value(x, plain([3], data)), y.data),
    );

    // The gradient with respect to y, weighted by v, differentiated again: a Hessian times v.
    const v = [0.5, -2, 3];
    const twice = backwardProgram(backward, [true, true, false], [false, true]);
    const [vx, vy] = evaluate(twice, [x, y, one, plain([3], v)]);
    const weighted = (x: Plain, y: Plain): number =>
      evaluate(backward, [x, y, one])[1].data.reduce((total, g, i) => total + g * v[i], 0);
    close(
      vx.data,
      numeric((data) => weighted(plain(x.shape, data), y), x.data),
    );
    close(
      vy.data,
      numeric((data) => weighted(x, plain([3], data)), y.data),
    );
  });
}

test('an input that nothing flows to gets zeros of its type', () => {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float64', shape: [2] });
  program.variable('y', { dtype: 'float64', shape: [n, 2] });
  program.setOutputs([{ name: 'f', value: square(x) }]);
  const backward = backwardProgram(program, [false, true]);
  const y = plain([2, 2], [1, 2, 3, 4]);
  const [dy] = evaluate(backward, [plain([2], [1, 2]), y, plain([2], [1, 1])]);
  assert.deepEqual(dy, plain([2, 2], [0, 0, 0, 0]));
});

test('the same backward program is made once', () => {
  const program = sample();
  assert.equal(backwardProgram(program, [true, false]), backwardProgram(program, [true, false]));
  assert.notEqual(backwardProgram(program, [true, false]), backwardProgram(program, [true, true]));
});

function symbolic(program: Program, output: Value, seed: Value, wrt: readonly Value[]) {
  return gradient<Value>({
    program,
    outputs: [{ value: output, grad: seed }],
    wrt,
    valueOf: (value) => value,
    add: (a, b) => add<Value>(a, b),
  });
}

test('nothing flows: unrelated values, integers, operators without gradient', () => {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float64', shape: [] });
  const count = program.variable('count', { dtype: 'int64', shape: [] });
  const other = program.variable('other', { dtype: 'float64', shape: [] });
  const seed = program.variable('seed', { dtype: 'float64', shape: [] });
  const y = mul(x, cast(count, 'float64'));
  const before = program.graph.nodeCount;
  const [dother, dcount] = symbolic(program, y, seed, [other, count]);
  assert.equal(dother, null);
  assert.equal(dcount, null);
  assert.equal(program.graph.nodeCount, before);
});

test('wrt may be an intermediate, the output itself, and named twice', () => {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float64', shape: [] });
  const seed = program.variable('seed', { dtype: 'float64', shape: [] });
  const middle = square(x);
  const y = mul(middle, middle);
  const [dy, dmiddle, dx, again] = symbolic(program, y, seed, [y, middle, x, x]);
  assert.equal(dy, seed);
  assert.equal(again, dx);
  program.setOutputs([
    { name: 'middle', value: dmiddle! },
    { name: 'x', value: dx! },
  ]);
  const [atMiddle, atX] = evaluate(program, [plain([], [3]), plain([], [10])]);
  assert.deepEqual(atMiddle.data, [2 * 9 * 10]);
  assert.deepEqual(atX.data, [4 * 27 * 10]);
});

const failing = (message: () => Error, name: string): OperatorFunction<Unary> =>
  operator({
    name,
    family: 'structure',
    attributes: {},
    call: (x) => ({ inputs: [x], attributes: {} }),
    infer: ({ inputs: [x] }) => [x],
    gradient: () => {
      throw message();
    },
    lowering: { kind: 'view' },
    samples: [],
  });

test('an error in a rule names the operator and the line that is differentiated', () => {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float64', shape: [] });
  const seed = program.variable('seed', { dtype: 'float64', shape: [] });
  const typed = failing(() => new ShapeError('no such axis', { op: 'sum', actual: '7' }), 'typed');
  const broken = failing(() => new TypeError('oops'), 'broken');
  const y = program.withSource('model.ts:3:5', () => typed<Value>(x));
  const z = program.withSource('model.ts:4:5', () => broken<Value>(x));
  assert.throws(
    () => symbolic(program, y, seed, [x]),
    (error) =>
      error instanceof ShapeError &&
      error.op === 'typed' &&
      error.source === 'model.ts:3:5' &&
      error.actual === '7' &&
      error.message.includes('sum: no such axis'),
  );
  assert.throws(
    () => symbolic(program, z, seed, [x]),
    (error) =>
      error instanceof InternalError && error.op === 'broken' && error.source === 'model.ts:4:5',
  );
});

test('gradient calls carry the source of the call they differentiate', () => {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float64', shape: [] });
  const seed = program.variable('seed', { dtype: 'float64', shape: [] });
  const y = program.withSource('model.ts:3:5', () => mul<Value>(x, x));
  const [dx] = symbolic(program, y, seed, [x]);
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind === 'call' && id < dx!.node) assert.equal(node.source, 'model.ts:3:5');
  }
});
