import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { benchModule } from './load.js';

type Numbers = Float32Array | Float64Array;
interface Projection {
  productError(
    a: Numbers,
    b: Numbers,
    m: number,
    k: number,
    n: number,
  ): (c: Float64Array) => number;
}
interface Multiply {
  multiply(
    a: Numbers,
    b: Numbers,
    m: number,
    k: number,
    n: number,
    options?: { transposeA?: boolean; transposeB?: boolean },
  ): Float64Array;
}
interface Data {
  randomData(length: number, seed: number): Float32Array;
}

const { productError } = (await benchModule('reference/projection.mjs')) as Projection;
const { multiply } = (await benchModule('reference/multiply.mjs')) as Multiply;
const { randomData } = (await benchModule('harness/data.mjs')) as Data;

const [m, k, n] = [96, 70, 128];
const [a, b] = [randomData(m * k, 1), randomData(k * n, 2)];

/** Term by term, in the precision that `round` keeps of each sum. */
function product(round: (sum: number) => number): Float64Array {
  return Float64Array.from({ length: m * n }, (_, at) => {
    const [row, column] = [Math.floor(at / n), at % n];
    let sum = 0;
    for (let p = 0; p < k; p++) sum = round(sum + a[row * k + p] * b[p * n + column]);
    return sum;
  });
}

const exact = product((sum) => sum);
const transposed = (x: Float32Array, rows: number): Float32Array =>
  x.map((_, at) => x[(at % rows) * (x.length / rows) + Math.floor(at / rows)]);

describe('products of the references', () => {
  const close = (found: Float64Array): void =>
    found.forEach((value, at) => assert.ok(Math.abs(value - exact[at]) < 1e-12));

  it('are those of the definition, whichever operand is given transposed', () => {
    close(multiply(a, b, m, k, n));
    close(multiply(transposed(a, m), b, m, k, n, { transposeA: true }));
    close(multiply(a, transposed(b, k), m, k, n, { transposeB: true }));
  });
});

describe('products that are compared by what they do to vectors', () => {
  const errorOf = productError(a, b, m, k, n);
  const tolerance = 1e-4;
  const changed = (change: (c: Float64Array) => void): number => {
    const c = exact.slice();
    change(c);
    return errorOf(c);
  };

  it('are right where they are exact or rounded to float32', () => {
    assert.ok(errorOf(exact) < 1e-13);
    assert.ok(errorOf(product(Math.fround)) < tolerance / 10);
  });

  it('are wrong where any one element is', () => {
    for (let at = 0; at < exact.length; at += 61) {
      assert.ok(changed((c) => (c[at] += 1)) > tolerance, `element ${at}`);
    }
    assert.equal(
      changed((c) => (c[at(50, 3)] = Number.NaN)),
      Infinity,
    );
  });

  it('are wrong where a row or a column is left out', () => {
    assert.ok(changed((c) => c.fill(0, at(41, 0), at(42, 0))) > tolerance);
    assert.ok(changed((c) => every((row) => (c[at(row, 77)] = 0))) > tolerance);
  });

  it('are wrong where elements or rows have changed places', () => {
    const swap = (c: Float64Array, one: number, other: number): void => {
      [c[one], c[other]] = [c[other], c[one]];
    };
    assert.ok(changed((c) => swap(c, at(20, 20), at(20, 21))) > tolerance);
    assert.ok(changed((c) => every((_, column) => swap(c, at(7, column), at(8, column)))) > tolerance); // prettier-ignore
  });

  it('are wrong where a tile is transposed', () => {
    const side = 16;
    const transposeTile = (c: Float64Array): void => {
      for (let i = 0; i < side; i++) {
        for (let j = 0; j < side; j++) c[at(32 + i, 48 + j)] = exact[at(32 + j, 48 + i)];
      }
    };
    assert.ok(changed(transposeTile) > tolerance);
  });

  it('are wrong where the last block of sums is missing', () => {
    const short = multiply(a, b.map((value, i) => (i < (k - 2) * n ? value : 0)), m, k, n); // prettier-ignore
    assert.ok(errorOf(short) > tolerance);
    assert.equal(errorOf(exact.subarray(n)), Infinity);
  });
});

const at = (row: number, column: number): number => row * n + column;

/** Rows and columns at once: as many as there are rows. */
function every(act: (row: number, column: number) => void): void {
  for (let i = 0; i < m; i++) act(i, i);
}
