import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '../../../src/ir/program.js';
import * as ops from '../../../src/ops/elementwise/index.js';
import { generator } from '../../support/samples.js';
import { evaluate } from '../../support/evaluate.js';
import { elements, type Float, vector } from './support.js';

/* Values at the ends of formats and domains, on both targets; expected ones are mathematics, or mpmath's. */

function map(f: (...values: Value[]) => Value, dtype: Float, ...columns: number[][]): number[] {
  const operands = columns.map((column) => vector(dtype, column));
  const [wasm, interpreter] = (['wasm', 'interpreter'] as const).map((target) =>
    elements(evaluate(operands, f, target)[0]).map(Number),
  );
  assert.deepEqual(wasm, interpreter);
  return wasm;
}

test('hyperbolic functions overflow where their results do, not before', () => {
  const ends = [Infinity, -Infinity, 1e30];
  for (const dtype of ['float32', 'float64'] as const) {
    assert.deepEqual(map(ops.cosh, dtype, ends), [Infinity, Infinity, Infinity]);
    assert.deepEqual(map(ops.sinh, dtype, ends), [Infinity, -Infinity, Infinity]);
  }
  // The greatest arguments with finite results, and the next.
  for (const f of [ops.cosh, ops.sinh]) {
    const [below, above] = map(f, 'float32', [89.41598510742188, 89.4159927368164]);
    assert.ok(Math.abs(below / 3.40281963751e38 - 1) < 4e-7, String(below));
    assert.equal(above, Infinity);
    const [wide, beyond] = map(f, 'float64', [710.4758600739439, 710.475860073944]);
    assert.ok(Math.abs(wide / 1.7976931348621744e308 - 1) < 1e-15, String(wide));
    assert.equal(beyond, Infinity);
  }
});

test('results are right where they or what they are made of is denormal', () => {
  const within = (f: (x: Value) => Value, x: number, wanted: number, dtype: Float): void => {
    const [got] = map(f, dtype, [x]);
    const unit = dtype === 'float32' ? 2 ** -149 : 5e-324;
    const relative = dtype === 'float32' ? 3 * 2 ** -23 : 3 * 2 ** -52;
    const allowed = Math.max(unit, relative * Math.abs(wanted));
    assert.ok(Math.abs(got - wanted) <= allowed, `${x}: ${got} for ${wanted}`);
  };
  for (const f of [ops.silu, ops.mish]) {
    within(f, -100, -100 * Math.exp(-100), 'float32');
    within(f, -103.5, -103.5 * Math.exp(-103.5), 'float32');
    within(f, -740, -3.09967e-319, 'float64');
  }
  within((x) => ops.gelu(x), -13.5, -1.0555389862638154e-40, 'float32');
  within((x) => ops.pow(x, -2), 1e20, 1e-40, 'float32');
  within((x) => ops.pow(x, -3), 1e14, 1e-42, 'float32');
  within((x) => ops.pow(x, -2), 1e160, 1e-320, 'float64');
});

test('the tails of both forms of gelu are as accurate as the rest', () => {
  const exact = map((x) => ops.gelu(x), 'float64', [-20, -7.625]);
  const approximate = map((x) => ops.gelu(x, { approximate: 'tanh' }), 'float64', [-20, -10]);
  const wanted = [-5.507248237212468e-88, -9.303810979898167e-14, -3.3754509563109673e-261, -1.204092348209806e-37];
  [...exact, ...approximate].forEach((got, i) =>
    assert.ok(Math.abs(got / wanted[i] - 1) < 7e-16, `${got} for ${wanted[i]}`),
  );
}); // prettier-ignore

test('lgamma and digamma at the ends and at roots', () => {
  const whole = map(ops.lgamma, 'float64', [-1e308, -(2 ** 53), -1.7976931348623157e308, 1e308]);
  assert.deepEqual(whole, [Infinity, Infinity, Infinity, Infinity]);
  assert.deepEqual(map(ops.lgamma, 'float32', [-(2 ** 127), -3e38]), [Infinity, Infinity]);
  // The root of digamma lies between these neighbors.
  const [below, above] = map(ops.digamma, 'float64', [1.4616321449683622, 1.4616321449683625]);
  assert.ok(Math.abs(below / -9.241265521729427e-17 - 1) < 1e-14, String(below));
  assert.ok(Math.abs(above / 1.2245374622004068e-16 - 1) < 1e-14, String(above));
  assert.deepEqual(map(ops.sinc, 'float64', [1e308, -(2 ** 60), 3]).map(Math.abs), [0, 0, 0]);
});

/** Floats of any bits; many with all fraction bits set, which leaves no room for wrong quotients. */
function anyFloats(dtype: Float, count: number, seed: number): number[] {
  const random = generator(seed);
  const view = new DataView(new ArrayBuffer(8));
  return Array.from({ length: count }, () => {
    view.setUint32(0, random() * 2 ** 32);
    view.setUint32(4, random() < 0.3 ? 2 ** 32 - 1 - Math.floor(random() * 8) : random() * 2 ** 32);
    if (random() < 0.3) view.setUint32(0, view.getUint32(0) | 0xfffff);
    return dtype === 'float32' ? view.getFloat32(0) : view.getFloat64(0);
  });
}

test('remainders are exact for every quotient', () => {
  for (const dtype of ['float32', 'float64'] as const) {
    const [xs, ys] = [anyFloats(dtype, 4000, 5), anyFloats(dtype, 4000, 6)];
    const [end, least] = dtype === 'float32' ? [3.4028234663852886e38, 2 ** -149] : [1.7976931348623157e308, 5e-324]; // prettier-ignore
    xs.push(end, end, end, -end, 1e30, 2 ** 100);
    ys.push(least, 3 * least, 5 * least, 7 * least, 3, 3);
    const round = dtype === 'float32' ? Math.fround : (x: number): number => x;
    const given = xs.map(round);
    map(ops.fmod, dtype, xs, ys).forEach((got, i) => {
      const wanted = given[i] % ys[i];
      assert.ok(Object.is(got, wanted), `fmod(${given[i]}, ${ys[i]}) is ${wanted}, not ${got}`);
    });
    map(ops.mod, dtype, xs, ys).forEach((got, i) => {
      const rest = given[i] % ys[i];
      const turned = rest !== 0 && rest < 0 !== ys[i] < 0 ? round(rest + ys[i]) : rest;
      assert.ok(got === turned || Number.isNaN(turned), `mod(${given[i]}, ${ys[i]}): ${got}`);
    });
  }
});

test('a floored quotient by a divisor near the end of the range is not off by one', () => {
  const end = Number.MAX_VALUE;
  const [xs, ys] = [[end, end, -end, end, end, 2 ** 1000], [end / 2, end, end / 2, -end / 2, end / 3, 2 ** 999]];
  // A third of the greatest number is rounded up: of three there are not quite so many.
  const thirds = 3n * BigInt(end / 3) > BigInt(end) ? 2 : 3;
  assert.deepEqual(map(ops.floorDivide, 'float64', xs, ys), [2, 1, -2, -2, thirds, 2]);
}); // prettier-ignore

test('a floored quotient of nearly 53 bits is not off by one', () => {
  const [x, y] = [-4.624921495122952e-308, -1.5e-323];
  assert.deepEqual(map(ops.floorDivide, 'float64', [x, -x], [y, y]), [3120315106607671, -3120315106607672]); // prettier-ignore
});
