// Sums of matrices, in plain float64 loops.

/** Totals along an axis of a matrix with rows of `width`. */
export function sumsOf(x, width, axis) {
  const sums = new Float64Array(axis === 0 ? width : x.length / width);
  for (let i = 0; i < x.length; i++) sums[axis === 0 ? i % width : Math.floor(i / width)] += x[i];
  return sums;
}

export const meanOf = (x) => x.reduce((total, value) => total + value, 0) / x.length;

/** Of each row, with `width` as the divisor. */
export function variancesOf(x, width) {
  const means = sumsOf(x, width, 1).map((total) => total / width);
  const squares = Float64Array.from(x, (value, i) => (value - means[Math.floor(i / width)]) ** 2);
  return sumsOf(squares, width, 1).map((total) => total / width);
}

/** Euclidean, of each row. */
export const normsOf = (x, width) =>
  sumsOf(
    Float64Array.from(x, (value) => value * value),
    width,
    1,
  ).map(Math.sqrt);
