import assert from 'node:assert/strict';
import { test } from 'node:test';
import { div, fromNumber, mul, one, sub, toNumber } from '../../../../accuracy/reference/real.js';
import * as reference from '../../../../accuracy/reference/special.js';
import * as series from '../../../../src/ops/elementwise/expressions/gamma-series.js';

/* Against values of 192 bits. */

const xs = [0.5, 0.7, 1.001, 1.25, 1.5, 1.999, 2.5, 3, 4.75, 7.9, 8, 15.5, 16, 21, 40.25, 1000];

function near(found: number, exact: number, unit: number, what: string): void {
  assert.ok(Math.abs(found - exact) <= unit * 2 ** -46, `${what}: ${found}, not ${exact}`);
}

test('the logarithm of the gamma function and digamma', () => {
  for (const x of xs) {
    const [gamma, digamma] = [reference.lgamma, reference.digamma].map((f) =>
      toNumber(f(fromNumber(x))),
    );
    near(series.logGamma(x), gamma, 1 + Math.abs(gamma), `logGamma(${x})`);
    near(series.digammaOf(x), digamma, 1 + Math.abs(digamma), `digamma(${x})`);
  }
});

test('what the asymptotic series add is accurate where it is small', () => {
  for (const x of xs) {
    const rest = 1 / (12 * x) - 1 / (360 * x ** 3);
    if (x > 100) near(series.stirlingRest(x), rest, rest, `stirlingRest(${x})`);
    if (x > 100)
      near(
        series.digammaRest(x) * 12 * x * x,
        1 - 1 / (10 * x ** 2) + 1 / (21 * x ** 4),
        1,
        `digammaRest(${x})`,
      );
  }
});

test('the zeta function of Hurwitz is a derivative of digamma', () => {
  for (const order of [1, 2, 3, 6, 10]) {
    let factorial = one;
    for (let k = 2; k <= order; k++) factorial = mul(factorial, fromNumber(k));
    for (const x of xs) {
      const derivative = reference.polygamma(order, fromNumber(x));
      const quotient = div(
        order % 2 === 1 ? derivative : sub(fromNumber(0), derivative),
        factorial,
      );
      const exact = toNumber(quotient);
      near(series.zeta(order + 1, x), exact, exact, `zeta(${order + 1}, ${x})`);
    }
  }
});
