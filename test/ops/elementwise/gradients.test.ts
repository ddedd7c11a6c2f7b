import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Program, type Value } from '../../../src/ir/program.js';
import * as ops from '../../../src/ops/elementwise/index.js';
import { gradient } from '../../../src/passes/gradient/gradient.js';
import { compile } from '../../../src/runtime/compile/compile.js';
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

/** Checks a slope, and that of it, against what mpmath gives. */
function near(
  f: (x: Value) => Value,
  rows: readonly (readonly [x: number, first: number, second?: number])[],
  tolerance = 4e-15,
): void {
  const check = (got: number, wanted: number, what: string): void =>
    assert.ok(
      Math.abs(got - wanted) <= tolerance * Math.abs(wanted),
      `${what}: ${got} for ${wanted}`,
    );
  const xs = rows.map(([x]) => x);
  slopes(f, xs)[0].forEach((got, i) => check(got, rows[i][1], `slope at ${xs[i]}`));
  slopes(twice(f), xs)[0].forEach((got, i) => {
    const second = rows[i][2];
    if (second !== undefined) check(got, second, `second slope at ${xs[i]}`);
  });
}

test('slopes of exponentials keep their digits where the result is flat', () => {
  // Their slopes are exponentials.
  const scale = 1.7580993408473766; // of selu
  near(ops.selu, [[-40, 7.46902881591429e-18, 7.46902881591429e-18], [-1, 0.646768603034814]]);
  near(ops.expm1, [[-40, Math.exp(-40), Math.exp(-40)], [-700, Math.exp(-700)]]);
  near((x) => ops.elu(x), [[-40, Math.exp(-40), Math.exp(-40)]]);
  near(ops.selu, [[-1e-9, scale * Math.exp(-1e-9), scale * Math.exp(-1e-9)]]);
  // Nor does what is not chosen overflow.
  assert.deepEqual(slopes(twice((x) => ops.elu(x)), [800]), [[0]]); // prettier-ignore
  assert.deepEqual(slopes(twice(ops.selu), [800]), [[0]]);
}); // prettier-ignore

test('sinc has its slopes near 0, at the change of formulas, and far off', () => {
  const [a, b] = [Math.PI ** 2 / 3, Math.PI ** 4 / 30];
  near(ops.sinc, [1e-30, 1e-9, 1e-5, -1e-5].map((x) => [x, -a * x + b * x ** 3, -a + 3 * b * x * x]));
  assert.deepEqual(slopes(twice(ops.sinc), [0]).map(([x]) => Math.abs(x + a) < 1e-14), [true]);
  for (const x of [0.5, 0.4999999999999999]) {
    near(ops.sinc, [[x, -4 / Math.PI, -2 * Math.PI + 16 / Math.PI]], 1e-14);
  }
  // Whole turns are dropped before the cosine: at even numbers the slope is 1 / x.
  near(ops.sinc, [[1e8, 1e-8], [1e15, 1e-15], [1e30, 1e-30], [1e8 + 1, -1 / (1e8 + 1)]]);
}); // prettier-ignore

test('what is nearly straight bends by all its digits', () => {
  // sigmoid(x) sigmoid(-x), by mpmath.
  const bends = [
    [30, 9.357622968838423e-14],
    [3.82, 0.02099687443557835],
    [0, 0.25],
    [-3.82, 0.02099687443557835],
    [-30, 9.357622968838423e-14],
  ] as const;
  const xs = bends.map(([x]) => x);
  const [found] = slopes(twice(ops.softplus), xs);
  const [ofLogs] = slopes(twice(ops.logSigmoid), xs);
  const [ofSums] = slopes(
    twice((x) => ops.logaddexp(x, 0)),
    xs,
  );
  bends.forEach(([x, wanted], i) => {
    for (const bend of [found[i], -ofLogs[i], ofSums[i]]) {
      assert.ok(Math.abs(bend - wanted) <= 2e-15 * wanted, `at ${x}: ${bend}, not ${wanted}`);
    }
  });
});

test('mish and the tanh form of gelu bend as they should where they are nearly straight', () => {
  near(ops.mish, [[-30, -2.713710660963392e-12, -2.620134431274741e-12]], 1e-13);
  // Beyond, only what exceeds an ulp of 1 counts.
  for (const x of [20, 30, 100]) {
    const [[second]] = slopes(twice(ops.mish), [x]);
    assert.ok(Math.abs(second) < 1e-14, `${x}: ${second}`);
  }
  near((x) => ops.gelu(x, { approximate: 'tanh' }), [[5, 1.0000015463619876, -0.000009934132224996203]], 2e-10);
}); // prettier-ignore

test('inverse functions have slopes near 1, far off, and none outside their domain', () => {
  const x = 1 - 2 ** -40;
  const root = Math.sqrt(2 ** -40 * (2 - 2 ** -40));
  near(ops.asin, [[x, 1 / root], [-x, 1 / root], [1e-9, 1, 1e-9]]);
  near(ops.acos, [[x, -1 / root], [1e-9, -1, -1e-9]]);
  near(ops.atanh, [[x, 1 / root / root], [1e-9, 1, 2e-9]]);
  near(ops.asinh, [[1e200, 1e-200], [-1e300, 1e-300]]);
  const [y, step] = [1 + 2 ** -40, 2 ** -40];
  near(ops.acosh, [[y, 1 / Math.sqrt(step * (2 + step))], [1e200, 1e-200]]);
  assert.deepEqual(slopes(ops.acosh, [-2, 0.5, NaN]), [[NaN, NaN, NaN]]);
  for (const [scale, slope] of [[1e200, 5e-201], [1e-200, 5e199]]) {
    const [gy, gx] = slopes(ops.atan2, [scale], [scale]);
    assert.ok(Math.abs(gy[0] / slope - 1) < 1e-15 && Math.abs(gx[0] / slope + 1) < 1e-15);
  }
}); // prettier-ignore

test('lengths and angles have slopes where squares, lengths or quotients are beyond the range', () => {
  const [least, end] = [5e-324, Number.MAX_VALUE];
  const near = (found: readonly number[], wanted: readonly number[]): void =>
    found.forEach((x, i) => assert.ok(Math.abs(x - wanted[i]) <= 1e-15 * Math.abs(wanted[i]), `${x} for ${wanted[i]}`)); // prettier-ignore
  const [byX, byY] = slopes(ops.hypot, [least, 3 * least, end, 0], [least, 4 * least, end, 0]);
  near(byX, [Math.SQRT1_2, 0.6, Math.SQRT1_2, 0]);
  near(byY, [Math.SQRT1_2, 0.8, Math.SQRT1_2, 0]);
  // d atan2(y, x) / dy = x / (x^2 + y^2), a little less than the greatest number here.
  const [angle] = slopes(
    (y, x) => ops.mul(ops.atan2(y, x), 2 ** -20),
    [2 ** -1035, 2 ** 1000],
    [2 ** -1035, 2 ** 1000],
  );
  near(angle, [2 ** 1014, 2 ** -1021]);
});

test('no term of a slope leaves the range where the slope does not', () => {
  const end = Number.MAX_VALUE;
  const weighed = (f: (x: Value) => Value) => (x: Value) => ops.mul(f(x), 2 ** -20);
  const tanh = (x: Value): Value => ops.gelu(x, { approximate: 'tanh' });
  assert.deepEqual(slopes(tanh, [1e160, -1e160, Infinity, -Infinity]), [[1, 0, 1, 0]]);
  assert.deepEqual(slopes(weighed(ops.square), [end, -end]), [[end * 2 ** -19, -end * 2 ** -19]]);
  assert.deepEqual(
    slopes(
      weighed((x) => ops.pow(x, 2)),
      [end],
    ),
    [[end * 2 ** -19]],
  );
  assert.deepEqual(slopes(weighed(ops.reciprocal), [2 ** -520]), [[-(2 ** 1020)]]);
  assert.deepEqual(slopes(weighed(ops.rsqrt), [2 ** -688]), [[-(2 ** 1011)]]);
  const [[slope]] = slopes(ops.log10, [2 ** 1023]);
  assert.ok(Math.abs(slope / (Math.LOG10E * 2 ** -1023) - 1) < 1e-14, String(slope));
});

test('between two NaN fmax and fmin give the gradient to the first', () => {
  for (const f of [ops.fmax, ops.fmin]) {
    assert.deepEqual(slopes(f, [NaN, NaN, 1], [NaN, 1, NaN]), [[1, 0, 1], [0, 1, 0]]);
  }
}); // prettier-ignore
