import assert from 'node:assert/strict';
import * as kn from '../../src/index.js';

/** Compares nested numbers with a tolerance relative to the larger of 1 and the expected size. */
export function near(actual: unknown, expected: unknown, tolerance: number = 1e-5): void {
  if (Array.isArray(expected)) {
    assert.ok(Array.isArray(actual), `${String(actual)} is no list`);
    assert.equal(actual.length, expected.length);
    expected.forEach((entry, i) => near((actual as unknown[])[i], entry, tolerance));
    return;
  }
  const [a, e] = [Number(actual), Number(expected)];
  if (Number.isNaN(e)) return assert.ok(Number.isNaN(a), `${a} is not NaN`);
  assert.ok(
    a === e || Math.abs(a - e) <= tolerance * Math.max(1, Math.abs(e)),
    `${a} is not near ${e}`,
  );
}

/** Expects an error of a class whose message holds the given words. */
export function refuses(
  act: () => unknown,
  Kind: abstract new (...args: never[]) => kn.KaonError,
  ...words: readonly string[]
): kn.KaonError {
  let thrown: unknown;
  try {
    act();
  } catch (error) {
    thrown = error;
  }
  assert.ok(thrown instanceof Kind, `expected ${Kind.name}, got ${String(thrown)}`);
  for (const word of words)
    assert.ok(thrown.message.includes(word), `${thrown.message}\nlacks ${word}`);
  return thrown;
}

/** Central differences of a scalar function of one float64 array. */
export function differences(
  f: (x: kn.NDArray) => kn.NDArray,
  at: readonly number[],
  step: number = 1e-5,
): number[] {
  return at.map((_, i) => {
    const moved = (by: number): number => {
      const point = at.map((value, k) => (k === i ? value + by : value));
      return Number(f(kn.array(point, { dtype: 'float64' })).item());
    };
    return (moved(step) - moved(-step)) / (2 * step);
  });
}
