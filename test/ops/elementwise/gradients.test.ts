import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Program, type Value } from '../../../src/ir/program.js';
import * as ops from '../../../src/ops/elementwise/index.js';
import { gradient } from '../../../src/passes/gradient.js';
import { compile } from '../../../src/runtime/compile.js';
import { elements, vector } from './support.js';

/*
 * What finite differences cannot see: kinks, ties, infinite slopes and NaN. Expected values are PyTorch's
 * conventions, written down by hand. Smooth points are the business of the gradient law.
 */

/** The gradients of every operand of `f`, element by element, for a gradient of 1. */
function slopes(
  f: (...values: Value[]) => Value,
  ...columns: (readonly number[])[]
): readonly (readonly number[])[] {
  const program = new Program();
  const shape = [columns[0].length];
  const inputs = columns.map((_, i) => program.variable(`x${i}`, { dtype: 'float64', shape }));
  const ones = program.constant({
    type: { dtype: 'float64', shape },
    data: new Float64Array(columns[0].length).fill(1),
  });
  const found = gradient<Value>({
    program,
    outputs: [{ value: f(...inputs), grad: ones }],
    wrt: inputs,
    valueOf: (value) => value,
    add: (a, b) => ops.add(a, b),
  });
  const values = found.map((grad, i) => grad ?? ops.mul(inputs[i], 0));
  program.setOutputs(values.map((value, i) => ({ name: `g${i}`, value })));
  return compile(program, { target: 'interpreter' })
    .run(columns.map((column) => vector('float64', column)))
    .map((output) => elements(output).map((x) => Number(x) + 0));
}

/** The gradient of the gradient's sum. */
const twice = (f: (x: Value) => Value) => (x: Value): Value =>
  gradient<Value>({
    program: x.program,
    outputs: [{ value: f(x), grad: ops.cast(ops.equal(x, x), 'float64') }],
    wrt: [x],
    valueOf: (value) => value,
    add: (a, b) => ops.add(a, b),
  })[0]!; // prettier-ignore

test('kinks take the side that PyTorch takes', () => {
  assert.deepEqual(slopes(ops.relu, [-1, 0, 1]), [[0, 0, 1]]);
  assert.deepEqual(slopes(ops.relu6, [-1, 0, 3, 6, 7]), [[0, 0, 1, 0, 0]]);
  assert.deepEqual(slopes(ops.abs, [-2, 0, 3]), [[-1, 0, 1]]);
  assert.deepEqual(
    slopes((x) => ops.leakyRelu(x, { slope: 0.5 }), [-1, 0, 1]),
    [[0.5, 0.5, 1]],
  );
  assert.deepEqual(
    slopes((x) => ops.elu(x), [0, 1]),
    [[1, 1]],
  );
  assert.deepEqual(slopes(ops.hardSigmoid, [-3, 0, 3]), [[0, 1 / 6, 0]]);
  assert.deepEqual(slopes(ops.hardSwish, [-4, 4]), [[0, 1]]);
  assert.deepEqual(slopes(ops.sign, [-1, 0, 1]), [[0, 0, 0]]);
  assert.deepEqual(slopes(ops.floor, [0.5, 1]), [[0, 0]]);
});

test('slopes at the edge of a domain are infinite', () => {
  assert.deepEqual(slopes(ops.sqrt, [0, 4]), [[Infinity, 0.25]]);
  assert.deepEqual(slopes(ops.cbrt, [0, 8]), [[Infinity, 1 / 12]]);
  assert.deepEqual(slopes(ops.log, [0, 2]), [[Infinity, 0.5]]);
  assert.deepEqual(slopes(ops.asin, [1, 0]), [[Infinity, 1]]);
  assert.deepEqual(slopes(ops.acos, [1, 0]), [[-Infinity, -1]]);
  assert.deepEqual(slopes(ops.acosh, [1]), [[Infinity]]);
});

test('ties share the gradient in halves', () => {
  const [x, y] = [[1, 2, 3, NaN], [1, 3, 2, 1]]; // prettier-ignore
  assert.deepEqual(slopes(ops.maximum, x, y), [[0.5, 0, 1, 1], [0.5, 1, 0, 1]]); // prettier-ignore
  assert.deepEqual(slopes(ops.minimum, x, y), [[0.5, 1, 0, 1], [0.5, 0, 1, 1]]); // prettier-ignore
  assert.deepEqual(slopes(ops.fmax, x, y), [[0.5, 0, 1, 0], [0.5, 1, 0, 1]]); // prettier-ignore
  assert.deepEqual(slopes(ops.fmin, y, x), [[0.5, 0, 1, 1], [0.5, 1, 0, 0]]); // prettier-ignore
});

test('logaddexp shares among infinities and ties, at every order', () => {
  const xs = [-Infinity, Infinity, -Infinity, 0, 1e300, 2];
  const ys = [-Infinity, Infinity, 3, 0, -1e300, NaN];
  const [gx, gy] = slopes(ops.logaddexp, xs, ys);
  assert.deepEqual(gx, [0.5, 0.5, 0, 0.5, 1, NaN]);
  assert.deepEqual(gy, [0.5, 0.5, 1, 0.5, 0, NaN]);
  // The second derivative is s (1 - s) for the share s, at ties as well, and nothing beside an infinity.
  for (const [x, y, second] of [[0, 0, 0.25], [-Infinity, 3, 0], [-Infinity, -Infinity, 0]]) {
    assert.deepEqual(slopes(twice((z) => ops.logaddexp(z, y)), [x]), [[second]]);
  } // prettier-ignore
});

test('clip passes on its bounds, and beyond them to the bound', () => {
  assert.deepEqual(
    slopes((x) => ops.clip(x, -1, 1), [-2, -1, 0, 1, 2]),
    [[0, 1, 1, 1, 0]],
  );
  assert.deepEqual(
    slopes((x) => ops.clip(x, null, 1), [-2, 1, 2]),
    [[1, 1, 0]],
  );
  const [x, lo, hi] = slopes(ops.clip, [0, 2, 5, 5], [1, 1, 1, 4], [3, 3, 3, 3]);
  assert.deepEqual([x, lo, hi], [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1]]); // prettier-ignore
});

test('pow with a zero base, by number and by array', () => {
  for (const [exponent, slope] of [
    [0, 0],
    [1, 1],
    [2, 0],
    [3, 0],
  ] as const) {
    // prettier-ignore
    assert.deepEqual(slopes((x) => ops.pow(x, exponent), [0]), [[slope]]);
    assert.deepEqual(slopes(ops.pow, [0], [exponent])[0], [slope]);
  }
  assert.deepEqual(slopes(ops.pow, [0, 0, 2], [0, 2, 0])[1], [0, 0, Math.LN2]);
  assert.deepEqual(
    slopes((x) => ops.pow(x, 2), [-3, 3]),
    [[-6, 6]],
  );
  assert.deepEqual(
    slopes((x) => ops.pow(x, 0.5), [0]),
    [[Infinity]],
  );
  assert.deepEqual(
    slopes(
      twice((x) => ops.pow(x, 2)),
      [0, 5],
    ),
    [[2, 2]],
  );
  assert.deepEqual(
    slopes(
      twice((x) => ops.pow(x, 3)),
      [0, -2],
    ),
    [[0, -12]],
  );
});

test('what where does not choose has no influence', () => {
  const safe = (x: Value): Value => ops.where(ops.greater(x, 0), ops.mul(x, 3), 0);
  assert.deepEqual(slopes(safe, [-1, 0, NaN, 2]), [[0, 0, 0, 3]]);
  const [, a, b] = slopes((c, x, y) => ops.where(c, x, y), [0, 1], [NaN, 2], [3, NaN]);
  assert.deepEqual([a, b], [[0, 1], [1, 0]]); // prettier-ignore
  assert.deepEqual(
    slopes((x) => ops.nanToNum(x), [NaN, Infinity, 1]),
    [[0, 0, 1]],
  );
});

test('removable singularities have their limits', () => {
  assert.deepEqual(slopes(ops.sinc, [0]), [[0]]);
  assert.deepEqual(slopes(ops.hypot, [0], [0]), [[0], [0]]);
  assert.deepEqual(slopes(ops.silu, [0]), [[0.5]]);
  assert.deepEqual(slopes(ops.mod, [5.5, -5.5], [2, 2]), [[1, 1], [-2, 3]]); // prettier-ignore
});

test('saturated activations have a zero slope, not NaN', () => {
  for (const f of [ops.sigmoid, ops.tanh, ops.erf])
    assert.deepEqual(slopes(f, [-1e4, 1e4]), [[0, 0]]);
  for (const f of [ops.silu, ops.softplus, ops.mish, (x: Value) => ops.gelu(x)]) {
    assert.deepEqual(slopes(f, [-1e4, 1e4]), [[0, 1]]);
  }
  assert.deepEqual(
    slopes((x) => ops.elu(x), [-1e4, 1e4]),
    [[0, 1]],
  );
  assert.deepEqual(
    slopes((x) => ops.gelu(x, { approximate: 'tanh' }), [-1e4, 1e4]),
    [[0, 1]],
  );
});

test('a fourth derivative of a chain is right', () => {
  // exp(2x) has 16 exp(2x).
  const fourth = twice(twice(twice((x) => ops.exp(ops.mul(x, 2)))));
  const [[value]] = slopes(fourth, [0.3]);
  assert.ok(Math.abs(value - 16 * Math.exp(0.6)) < 1e-12);
});
