/** In which order a matrix lies in memory. */
export type Layout = 'rows' | 'columns';

/** Sizes and layouts of a batch of products of `[m, k]` and `[k, n]`. */
export interface ProductSizes {
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly a: Layout;
  readonly b: Layout;
}

/** Elements of the operands, and the sums of the definition in float64. */
export interface Product {
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly sums: Float64Array;
}

/** The products of operands whose elements are `sample(place, 13)` and `sample(place, 17)`. */
export function productOf(
  { batch, m, n, k, a, b }: ProductSizes,
  sample: (at: number, spread: number) => number,
): Product {
  const x = new Float64Array(batch * m * k);
  const y = new Float64Array(batch * k * n);
  const sums = new Float64Array(batch * m * n);
  for (let at = 0; at < x.length; at++) x[at] = sample(at, 13);
  for (let at = 0; at < y.length; at++) y[at] = sample(at, 17);
  // Distances in memory from one row, column and term to the next.
  const [row, leftTerm] = a === 'rows' ? [k, 1] : [1, m];
  const [rightTerm, column] = b === 'rows' ? [n, 1] : [1, k];
  for (let at = 0; at < sums.length; at++) {
    const matrix = Math.floor(at / (m * n));
    const left = matrix * m * k + (Math.floor(at / n) % m) * row;
    const right = matrix * k * n + (at % n) * column;
    for (let term = 0; term < k; term++) {
      sums[at] += x[left + term * leftTerm] * y[right + term * rightTerm];
    }
  }
  return { x, y, sums };
}

/** Small whole numbers, so that every order of summation gives the same sum. */
export const wholeNumber = (at: number, spread: number): number =>
  ((at * 7919 + 3) % spread) - (spread >> 1);
