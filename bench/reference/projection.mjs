// Products that are too large to be computed by plain loops: they are compared by what they do to vectors.
import { randomData } from '../harness/data.mjs';
import { relativeError } from '../harness/statistics.mjs';
import { multiply } from './multiply.mjs';

/** Numbers of both signs of which none is near 0, so that none hides an error. */
const vector = (length, seed) => {
  const signs = randomData(length, seed);
  return randomData(length, seed + 1).map((value, i) => (signs[i] < 0 ? -1 : 1) * (1 + value / 8));
};

/** The greatest difference in terms of the size that numbers of the reference have. */
function greatestError(out, reference) {
  const size = Math.sqrt(reference.reduce((sum, value) => sum + value ** 2, 0) / reference.length);
  const greatest = reference.reduce((most, value, i) => {
    const error = Math.abs(out[i] - value);
    return Number.isNaN(error) ? Infinity : Math.max(most, error);
  }, 0);
  return greatest / size;
}

/**
 * The error of a product `c` of `a` (m by k) and `b` (k by n): `c v` against `a (b v)` and `u c` against `(u a) b` for
 * random vectors, number by number, and a few whole rows. An element that is wrong by as much as elements are large
 * makes an error of about `1 / sqrt(max(m, n))`.
 */
export function productError(a, b, m, k, n) {
  const [v, u] = [vector(n, 71), vector(m, 73)];
  const right = multiply(a, multiply(b, v, k, n, 1), m, k, 1);
  const left = multiply(multiply(u, a, 1, m, k), b, 1, k, n);
  const rows = [0, Math.floor(m / 2) + 1, m - 1].map((row) => ({
    at: row * n,
    reference: multiply(a.subarray(row * k, (row + 1) * k), b, 1, k, n),
  }));
  return (c) => {
    if (c.length !== m * n) return Infinity;
    return Math.max(
      greatestError(multiply(c, v, m, n, 1), right),
      greatestError(multiply(u, c, 1, m, n), left),
      ...rows.map(({ at, reference }) => relativeError(c.subarray(at, at + n), reference)),
    );
  };
}
