import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bounds } from '../../../accuracy/reference/bounds.js';
import { operatorReferences } from '../../../accuracy/reference/operators.js';
import { toNumber } from '../../../accuracy/reference/real.js';
import type { Value } from '../../../src/ir/program.js';
import * as operators from '../../../src/ops/elementwise/index.js';
import { generator } from '../../support/samples.js';
import { type Float, map } from './support.js';
import { references } from './references.js';

type UnaryFunction = (x: Value) => Value;
const functionNamed = (name: string): UnaryFunction =>
  (operators as unknown as Record<string, UnaryFunction>)[name];

const fractionBits = { float32: 23, float64: 52 } as const;
const leastExponent = { float32: -126, float64: -1022 } as const;

/** The distance between neighboring numbers of a dtype around `y`. */
function ulp(y: number, dtype: Float): number {
  let exponent = Math.floor(Math.log2(Math.abs(y)));
  if (2 ** exponent > Math.abs(y)) exponent--;
  else if (2 ** (exponent + 1) <= Math.abs(y)) exponent++;
  return 2 ** (Math.max(exponent, leastExponent[dtype]) - fractionBits[dtype]);
}

/** Of the numbers here some functions have smaller errors than of all. */
const ofThese: typeof bounds = { sigmoid: [2, 2], silu: [2, 2.5] };

/** The bound of decision 5. */
function boundFor(name: string, dtype: Float): number {
  const bound = ofThese[name] ?? bounds[name];
  return bound[dtype === 'float32' ? 0 : 1];
}

/** An ulp of the result or, where terms cancel, of the greatest of them. */
function unitOf(name: string, x: number, high: number, dtype: Float): number {
  const scale = operatorReferences[name].scale?.([x], {});
  return ulp(Math.max(Math.abs(high), scale === undefined ? 0 : toNumber(scale)), dtype);
}

for (const [name, list] of references) {
  for (const dtype of ['float32', 'float64'] as const) {
    test(`${name} of ${dtype} is within its bound of high-precision values`, () => {
      const usable = list.filter(
        ({ x, high }) => dtype === 'float64' || (Math.fround(x) === x && Math.abs(high) < 3.4e38),
      );
      assert.ok(usable.length >= 20);
      const results = map(functionNamed(name), dtype, usable.map(({ x }) => x)); // prettier-ignore
      usable.forEach(({ x, high, low }, i) => {
        const error = Math.abs(results[i] - high - low);
        const allowed = boundFor(name, dtype) * unitOf(name, x, high, dtype);
        assert.ok(error <= allowed, `${name}(${x}) is ${high}, not ${results[i]}: off by ${error / ulp(high, dtype)} ulp`); // prettier-ignore
      });
    });
  }
}

/** Functions of which V8's own, within 1 ulp in float64, are references anywhere. */
const twins = [
  'abs', 'acos', 'acosh', 'asin', 'asinh', 'atan', 'atanh', 'cbrt', 'ceil', 'cos', 'cosh', 'exp', 'expm1',
  'floor', 'log', 'log1p', 'log2', 'log10', 'sin', 'sinh', 'sqrt', 'tan', 'tanh', 'trunc',
] as const; // prettier-ignore

const edges = [
  NaN, Infinity, -Infinity, 0, -0, 1, -1, 2, -2, 0.5, -0.5, 1.5, -1.5, 100, -100, 1000, -1000, 2 ** -149,
  -(2 ** -149), 2 ** -126, 2 ** 127, -(2 ** 127), 5e-324, 2 ** -1022, 1e308, -1e308, 1 + 2 ** -23, 1 - 2 ** -24,
]; // prettier-ignore

for (const name of twins) {
  test(`${name} agrees with Math.${name} at zeros, infinities, NaN, denormals and extremes`, () => {
    for (const dtype of ['float32', 'float64'] as const) {
      const round = dtype === 'float32' ? Math.fround : (x: number): number => x;
      const random = generator(3);
      const xs = [...edges, ...Array.from({ length: 200 }, () => (random() - 0.5) * 10)].map(round);
      map(functionNamed(name), dtype, xs).forEach((got, i) => {
        const wanted = round(Math[name](xs[i]));
        const near = wanted !== 0 && Math.abs(got - wanted) <= 4 * ulp(wanted, dtype);
        assert.ok(Object.is(got, wanted) || near, `${name}(${xs[i]}) is ${wanted}, not ${got}`);
      });
    }
  });
}

test('exp2 and log2 are exact at whole numbers, log10 at powers of ten', () => {
  const powers = Array.from({ length: 2098 }, (_, i) => i - 1074);
  assert.deepEqual(map(operators.exp2, 'float64', powers), powers.map((n) => 2 ** n)); // prettier-ignore
  assert.deepEqual(map(operators.log2, 'float64', powers.map((n) => 2 ** n)), powers); // prettier-ignore
  const narrow = powers.filter((n) => n >= -149 && n < 128);
  assert.deepEqual(map(operators.exp2, 'float32', narrow), narrow.map((n) => 2 ** n)); // prettier-ignore
  assert.deepEqual(map(operators.log2, 'float32', narrow.map((n) => 2 ** n)), narrow); // prettier-ignore
  const tens = [1, 10, 100, 1000, 1e4, 1e5, 1e6, 1e9];
  assert.deepEqual(map(operators.log10, 'float64', tens), [0, 1, 2, 3, 4, 5, 6, 9]);
});

test('the gamma family at its edges', () => {
  const { digamma, lgamma, polygamma } = operators;
  const at = [0, -0, -1, -7, 1, 2, Infinity, -Infinity, NaN];
  const logs = map(lgamma, 'float64', at);
  assert.deepEqual(logs, [Infinity, Infinity, Infinity, Infinity, 0, 0, Infinity, Infinity, NaN]);
  assert.deepEqual(map(digamma, 'float64', [0, -0, -1, Infinity]), [-Infinity, Infinity, NaN, Infinity]); // prettier-ignore
  // zeta values: polygamma(n, 1) is (-1)^(n+1) n! zeta(n + 1).
  const close = (got: number, wanted: number): void =>
    assert.ok(Math.abs(got - wanted) <= 4e-15 * Math.abs(wanted), `${got} for ${wanted}`);
  close(map((x) => polygamma(1, x), 'float64', [1])[0], Math.PI ** 2 / 6);
  close(map((x) => polygamma(1, x), 'float64', [0.5])[0], Math.PI ** 2 / 2);
  close(map((x) => polygamma(3, x), 'float64', [1])[0], Math.PI ** 4 / 15);
  // Recurrence across zero: psi_n(x + 1) - psi_n(x) = (-1)^n n! / x^(n+1).
  const [below, above] = map((x) => polygamma(2, x), 'float64', [-0.3, 0.7]);
  close(above - below, 2 / (-0.3) ** 3);
});

test('derivatives of the gamma function of any order are within 3 ulp right of 0', () => {
  // By mpmath with 90 digits.
  const cases: readonly (readonly [order: number, x: number, wanted: number])[] = [
    [3, 2.995436783964213, 0.11956336666874698],
    [4, 7.954466060814075, -0.0019145376660517853],
    [12, 15.809992712077376, -2.3418357448765213e-7],
    [20, 15.248331461144163, -4.7446931899292844e-7],
  ];
  for (const [order, x, wanted] of cases) {
    const [got] = map((value) => operators.polygamma(order, value), 'float64', [x]);
    assert.ok(Math.abs(got - wanted) <= 3 * ulp(wanted, 'float64'), `${order}, ${x}: ${got}`);
  }
});
