import { cbrt, pow } from '../../../src/ops/elementwise/index.js';
import { generator } from '../../support/samples.js';
import { testInIntegers } from './integer-support.js';

/* Powers and cube roots of float32 on devices that emulate float64. */

const random = generator(9);
const between = (low: number, high: number): number => Math.fround(low + random() * (high - low));
const neighbor = (x: number): number => Math.fround(x * (1 + (Math.floor(random() * 9) - 4) * 2 ** -23)); // prettier-ignore

/** Bases close to 1 with great exponents, results at the ends of the range, whole exponents, and powers of two. */
function powers(): readonly (readonly number[])[] {
  const pairs: (readonly number[])[] = [];
  for (let k = 0; k < 1000; k++) {
    const base = between(0, 4);
    const close = Math.fround(1 + between(-1, 1) * 2 ** -Math.floor(random() * 24));
    const result = between(-151, 129); // its logarithm
    pairs.push([close, result / Math.log2(close)]);
    pairs.push([base, result / Math.log2(base)]);
    pairs.push([neighbor(1), between(-2, 2) * 2 ** 30], [neighbor(Math.SQRT2), between(-260, 260)]);
    pairs.push([neighbor(Math.SQRT1_2), between(-260, 260)], [between(-4, 4), (k % 61) - 30]);
    pairs.push([between(1, 2) * 2 ** -149, between(-2, 2)], [between(0, 100), k % 2 ? 2 : -2]);
  }
  for (let k = -152; k <= 130; k++) pairs.push([2, k], [0.5, k], [-2, k], [4, k / 2], [2, k + 0.5]);
  for (let k = -16; k <= 16; k++) pairs.push([3, k], [-7, k], [10, k], [1, k], [-1, k], [k, 3]);
  return pairs.map((pair) => pair.map(Math.fround));
}

const cubes = Array.from({ length: 255 }, (_, k) => [k ** 3, -(k ** 3), 1 / (k + 1) ** 3]).flat();
const roots = [
  ...cubes.flatMap((x) => [x, neighbor(x)]),
  ...Array.from({ length: 1500 }, (_, k) => neighbor(2 ** ((k % 277) - 149 + random()))),
];

testInIntegers({ label: 'pow', apply: ([x, y]) => pow(x, y), operands: powers(), bound: 0.507 });
const operands = roots.map((x) => [Math.fround(x)]);
testInIntegers({ label: 'cbrt', apply: ([x]) => cbrt(x), operands, bound: 0.506 });
