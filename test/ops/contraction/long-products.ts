import assert from 'node:assert/strict';
import * as kn from '../../../src/index.js';

type Arrays = readonly kn.NDArray[];

/** A product whose sums have so many terms of one sign that a single accumulator would lose digits. */
export interface LongProduct {
  readonly name: string;
  readonly code: (...arrays: kn.NDArray[]) => kn.NDArray;
  readonly on: () => Arrays;
  /** Names for axes of any size. */
  readonly dynamic: readonly (readonly (string | null)[] | null)[];
  /** Element `at` of the result, from the elements of the operands. */
  readonly expected: (arrays: readonly ArrayLike<number>[], at: number) => number;
}

/** What sums may be off, relative to themselves (decision 46). */
export const within = 1e-6;

/** Between 1/8 and 1, the same every time; `seed` 0 gives `equal` everywhere, the worst case of rounding. */
export function positive(
  shape: readonly number[],
  seed: number,
  dtype: kn.DType = 'float32',
  equal = 0.1,
): kn.NDArray {
  const length = shape.reduce((product, extent) => product * extent, 1);
  const elements = new Float32Array(length).fill(equal);
  if (seed > 0) {
    let state = seed;
    for (let i = 0; i < length; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) | 0;
      elements[i] = 0.125 + ((state >>> 8) / 2 ** 24) * 0.875;
    }
  }
  return kn.array(elements, { shape: [...shape] }).astype(dtype);
}

/** The sum over `terms` places, each of which `at` takes from one of two operands. */
function sumOf(
  terms: number,
  [x, y]: readonly ArrayLike<number>[],
  place: (k: number) => readonly [number, number],
): number {
  let sum = 0;
  for (let k = 0; k < terms; k++) {
    const [i, j] = place(k);
    sum += x[i] * y[j];
  }
  return sum;
}

interface Matrices {
  readonly name: string;
  readonly m: number;
  readonly n: number;
  /** Whether the inner index runs along the rows of an operand, or down its columns. */
  readonly left?: 'down';
  readonly right?: 'along';
  readonly k?: number;
  readonly seed?: number;
  /** Of both operands, where `seed` is 0. */
  readonly elements?: readonly [number, number];
  readonly dtype?: kn.DType;
}

/** Sizes and layouts that take each of the schedules of `gemm.ts`. */
const matrices: readonly Matrices[] = [
  { name: 'inner product', m: 1, n: 1, k: 10_000_019 },
  { name: 'inner product of unequal terms', m: 1, n: 1, seed: 7 },
  { name: 'more blocks than their carries alone can count', m: 1, n: 2, k: 10_000_000, elements: [1, 0.8950617] }, // prettier-ignore
  { name: 'matrix by vector', m: 7, n: 1 },
  { name: 'vector by narrow matrix', m: 1, n: 3 },
  { name: 'vector by matrix in the order of memory', m: 1, n: 21 },
  { name: 'few rows by columns that lie along the inner index', m: 3, n: 5, right: 'along' },
  { name: 'few rows that lie across it', m: 3, n: 5, left: 'down' },
  { name: 'rows by columns in place', m: 6, n: 9 },
  { name: 'rows by columns in panels', m: 6, n: 19, seed: 3 },
  { name: 'rows by columns in panels that are turned', m: 18, n: 5, right: 'along' },
  { name: 'gradient of a weight', m: 9, n: 6, left: 'down' },
  { name: 'float64', m: 5, n: 3, dtype: 'float64' },
  { name: 'float16', m: 5, n: 3, dtype: 'float16', k: 400_003, seed: 5 },
  { name: 'bfloat16', m: 5, n: 6, dtype: 'bfloat16' },
  { name: 'bfloat16, few rows', m: 1, n: 1, dtype: 'bfloat16', seed: 3 },
];

function ofMatrices(
  { name, m, n, left, right, k: terms = 1_000_003, seed = 0, dtype, elements }: Matrices,
  most: number,
): LongProduct {
  const k = Math.min(terms, most);
  return {
    name,
    code: (a, b) =>
      (left === 'down' ? a.transpose() : a).matmul(right === 'along' ? b.transpose() : b),
    on: () => {
      const scale = dtype === 'float16' ? 1 / 16 : 1;
      return [
        positive(left === 'down' ? [k, m] : [m, k], seed, dtype, elements?.[0]).mul(scale),
        positive(right === 'along' ? [n, k] : [k, n], 2 * seed, dtype, elements?.[1]),
      ];
    },
    dynamic: [
      left === 'down' ? ['k', null] : [null, 'k'],
      right === 'along' ? [null, 'k'] : ['k', null],
    ],
    expected: (operands, at) => {
      const [i, j] = [Math.floor(at / n), at % n];
      return sumOf(k, operands, (kk) => [
        left === 'down' ? kk * m + i : i * k + kk,
        right === 'along' ? j * k + kk : kk * n + j,
      ]);
    },
  };
}

const weights = (x: kn.NDArray, g: kn.NDArray, shape: number[]): kn.NDArray =>
  kn.grad((w: kn.NDArray) => kn.conv2d(x, w).mul(g).sum())(kn.zeros(shape)) as kn.NDArray;

const others: readonly LongProduct[] = [
  {
    name: 'a batch of products',
    code: (a, b) => a.matmul(b),
    on: () => [positive([2, 5, 200_003], 0), positive([2, 200_003, 6], 0)],
    dynamic: [
      ['b', null, 'k'],
      ['b', 'k', null],
    ],
    expected: (operands, at) => {
      const [b, i, j] = [Math.floor(at / 30), Math.floor(at / 6) % 5, at % 6];
      const k = 200_003;
      return sumOf(k, operands, (kk) => [(b * 5 + i) * k + kk, (b * k + kk) * 6 + j]);
    },
  },
  {
    name: 'einsum over two axes',
    code: (a, b) => kn.einsum('xyi,jxy->ij', a, b),
    on: () => [positive([1000, 211, 3], 0), positive([4, 1000, 211], 2)],
    dynamic: [
      ['x', null, null],
      [null, 'x', null],
    ],
    expected: (operands, at) =>
      sumOf(211_000, operands, (kk) => [kk * 3 + Math.floor(at / 4), (at % 4) * 211_000 + kk]),
  },
  {
    name: 'gradient of the weights of a convolution',
    code: (x, g) => weights(x, g, [2, 2, 3, 1]),
    on: () => [positive([31, 2, 102, 100], 0), positive([31, 2, 100, 100], 0)],
    dynamic: [
      ['n', null, null, null],
      ['n', null, null, null],
    ],
    expected: (operands, at) => {
      const [o, c, tap] = [Math.floor(at / 6), Math.floor(at / 3) % 2, at % 3];
      return sumOf(310_000, operands, (kk) => {
        const [image, place] = [Math.floor(kk / 10_000), kk % 10_000];
        return [(image * 2 + c) * 10_200 + tap * 100 + place, (image * 2 + o) * 10_000 + place];
      });
    },
  },
  {
    name: 'convolution of many channels, three taps down',
    code: (x, w) => kn.conv2d(x, w, { padding: [1, 0] }),
    on: () => [positive([1, 50_000, 9, 2], 0), positive([3, 50_000, 3, 1], 0)],
    dynamic: [
      [null, 'c', null, null],
      [null, 'c', null, null],
    ],
    expected: ([x, w], at) => {
      const [o, y, column] = [Math.floor(at / 18), Math.floor(at / 2) % 9, at % 2];
      return [0, 1, 2].reduce((total, tap) => {
        const row = y + tap - 1;
        if (row < 0 || row > 8) return total;
        return total + sumOf(50_000, [x, w], (c) => [(c * 9 + row) * 2 + column, (o * 50_000 + c) * 3 + tap]); // prettier-ignore
      }, 0);
    },
  },
  {
    name: 'convolution of many channels with a stride',
    code: (x, w) => kn.conv1d(x, w, { strides: 2 }),
    on: () => [positive([2, 100_000, 5], 0), positive([3, 100_000, 2], 4)],
    dynamic: [
      [null, 'c', null],
      [null, 'c', null],
    ],
    expected: ([x, w], at) => {
      const [image, o, place] = [Math.floor(at / 6), Math.floor(at / 2) % 3, at % 2];
      return sumOf(200_000, [x, w], (k) => {
        const [c, tap] = [k >> 1, k & 1];
        return [(image * 100_000 + c) * 5 + 2 * place + tap, o * 200_000 + k];
      });
    },
  },
  {
    name: 'transposed convolution of many channels',
    code: (x, w) => kn.convTranspose1d(x, w, { strides: 2 }),
    on: () => [positive([1, 200_000, 2], 0), positive([200_000, 3, 2], 0)],
    dynamic: [
      [null, 'c', null],
      ['c', null, null],
    ],
    expected: ([x, w], at) => {
      const [o, place] = [Math.floor(at / 4), at % 4];
      return sumOf(200_000, [x, w], (c) => [c * 2 + (place >> 1), (c * 3 + o) * 2 + (place & 1)]);
    },
  },
  ...[false, true].map((causal): LongProduct => ({
    name: causal ? 'causal attention to many keys' : 'attention to many keys',
    code: (q, k, v) => kn.attention(q, k, v, { causal }).slice([-3]),
    on: () => {
      const keys = causal ? 6000 : 50_000;
      return [positive([causal ? keys : 5, 1], 0), positive([keys, 1], 0), positive([keys, 2], 0)];
    },
    dynamic: [causal ? ['k', null] : null, ['k', null], ['k', null]],
    expected: () => Math.fround(0.1),
  })),
  {
    name: 'gradient of the values of attention from many queries',
    code: (q, k, g) =>
      kn.grad((v: kn.NDArray) => kn.attention(q.mul(0), k, v).mul(g).sum())(
        kn.zeros([3, 2]),
      ) as kn.NDArray,
    on: () => [positive([40_000, 1], 0), positive([3, 1], 0), positive([40_000, 2], 0)],
    dynamic: [['q', null], null, ['q', null]],
    expected: ([, , g], at) => {
      let sum = 0;
      for (let i = 0; i < 40_000; i++) sum += g[2 * i + (at % 2)] / 3;
      return sum;
    },
  },
];

/** Products of at most so many terms, as far as their number matters to how much memory they take. */
export function longProducts(most: number = Infinity): readonly LongProduct[] {
  return [...matrices.map((each) => ofMatrices(each, most)), ...others];
}

/** Compares the first and the last element with what float64 gives; 16 bits are rounded once. */
export function checkLongProduct(
  { name, expected }: LongProduct,
  operands: Arrays,
  result: kn.NDArray,
): void {
  const [values, ...given] = [result, ...operands].map((array) => array.astype('float64').dataSync() as Float64Array); // prettier-ignore
  const roundings = { float16: 2 ** -11, bfloat16: 2 ** -8 } as Record<string, number>;
  const allowed = within + (roundings[result.dtype] ?? 0);
  for (const at of new Set([0, values.length >> 1, values.length - 1])) {
    const wanted = expected(given, at);
    const error = Math.abs(values[at] / wanted - 1);
    assert.ok(error <= allowed, `${name}, element ${at} is off by ${error}`);
  }
}

/** Code that computes all of some products, each from arrays of its own, and these. */
export function together(products: readonly LongProduct[]): {
  readonly code: (...arrays: kn.NDArray[]) => kn.NDArray[];
  readonly operands: Arrays;
  readonly dynamic: LongProduct['dynamic'];
  check(results: readonly kn.NDArray[]): void;
} {
  const groups = products.map((product) => product.on());
  const starts = groups.map((_, i) => groups.slice(0, i).flat().length);
  return {
    code: (...arrays) =>
      products.map(({ code }, i) => code(...arrays.slice(starts[i], starts[i] + groups[i].length))),
    operands: groups.flat(),
    dynamic: products.flatMap(({ dynamic }, i) =>
      dynamic.map((axes) => axes?.map((name) => name && `${name}${i}`) ?? null),
    ),
    check: (results) =>
      products.forEach((product, i) => checkLongProduct(product, groups[i], results[i])),
  };
}
