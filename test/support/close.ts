import assert from 'node:assert/strict';

/** Asserts that numbers agree within an absolute and a relative tolerance; NaN agrees with NaN. */
export function assertClose(
  actual: Iterable<number | bigint>,
  expected: Iterable<number | bigint>,
  tolerance: number = 1e-5,
  message: string = '',
): void {
  const [a, b] = [[...actual].map(Number), [...expected].map(Number)];
  assert.equal(a.length, b.length, `${message} lengths`);
  a.forEach((value, i) => {
    const close =
      Object.is(value, b[i]) || Math.abs(value - b[i]) <= tolerance * Math.max(1, Math.abs(b[i]));
    assert.ok(close, `${message} element ${i}: ${value}, not ${b[i]}`);
  });
}
