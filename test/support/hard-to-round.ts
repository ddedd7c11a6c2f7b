import { generator } from './samples.js';

/** Numbers that go wrong when they are rounded to float32 on their way to 16 bits, and others. */

const few = [
  0,
  -0,
  1,
  0.1,
  -1 / 3,
  Math.PI,
  65504,
  65519,
  65520,
  65535,
  1e-8,
  1e5,
  3.4e38,
  1e300,
  5e-324,
];

/** Ties between neighbors of either format, moved off by less than float32 can tell. */
const ties = [
  // Of float16: 11 digits, the least normal number is 2 ** -14, the least of all 2 ** -24.
  1 + 2 ** -11, 1 + 3 * 2 ** -11, 2 ** -14 * (1 + 2 ** -11), 2 ** -25, 3 * 2 ** -25, 65520, 2049, 1023.75,
  // Of bfloat16: 8 digits.
  1 + 2 ** -8, 1 + 3 * 2 ** -8, 257, 2 ** -126 * (1 + 2 ** -8), 2 ** -134, 3 * 2 ** -134, 2 ** 127 * (2 - 2 ** -8),
]; // prettier-ignore

/** Float64 numbers, both signs of each. */
export function hardFloats(): number[] {
  const random = generator(5);
  const near = ties.flatMap((tie) => [tie, tie * (1 + 2 ** -40), tie * (1 - 2 ** -40), tie * (1 + 2 ** -52)]); // prettier-ignore
  const any = Array.from({ length: 400 }, () => (1 + random()) * 2 ** Math.floor(random() * 60 - 30));
  // A random number of the format and a half, with a digit far behind.
  const made = Array.from({ length: 400 }, (_, i) => {
    const digits = i % 2 === 0 ? 11 : 8;
    const half = Math.floor(random() * 2 ** digits) + 0.5;
    const exponent = Math.floor(random() * 24) - 14;
    return half * 2 ** exponent * (1 + (Math.floor(random() * 3) - 1) * 2 ** -(30 + (i % 20)));
  });
  const positive = [...few, ...near, ...any, ...made];
  return [...positive, ...positive.map((value) => -value), Infinity, -Infinity];
} // prettier-ignore

/** Integers of 64 bits, both signs of each. */
export function hardIntegers(): bigint[] {
  const random = generator(6);
  const bits = (count: number): bigint =>
    Array.from({ length: count }, () => (random() < 0.5 ? '0' : '1')).reduce((all, bit) => all * 2n + BigInt(bit), 1n); // prettier-ignore
  const near = [8, 11, 24].flatMap((digits) =>
    Array.from({ length: 62 - digits }, (_, at) => {
      const half = 1n << BigInt(at);
      const tie = ((1n << BigInt(digits)) + BigInt(at % 2)) * 2n * half + half;
      return tie < 1n << 63n ? [tie - 1n, tie, tie + 1n] : [];
    }).flat(),
  );
  const any = Array.from({ length: 300 }, (_, i) => bits(i % 63));
  const positive = [0n, 1n, 65519n, 65520n, (1n << 63n) - 1n, ...near, ...any];
  return [...positive, ...positive.map((value) => -value), -(1n << 63n)];
}
