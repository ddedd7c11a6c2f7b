import { type FloatFormat, inOrder, orderOf } from './formats.js';

/** A generator of numbers in [0, 1) that is the same everywhere (Marsaglia 2003, "Xorshift RNGs"). */
export function generator(seed: number): () => number {
  let state = BigInt(seed) * 0x9e3779b97f4a7c15n || 1n;
  return () => {
    state = BigInt.asUintN(64, state ^ (state << 13n));
    state ^= state >> 7n;
    state = BigInt.asUintN(64, state ^ (state << 17n));
    return Number(state >> 11n) * 2 ** -53;
  };
}

/** Numbers at which functions do something: ends of the format, whole numbers, halves, powers of two. */
export function specialNumbers(format: FloatFormat): readonly number[] {
  const { fraction, least, greatest } = format;
  const near = (x: number): number[] => [x, x + 2 ** -fraction * x, x - 2 ** -(fraction + 1) * x];
  const magnitudes = [
    0, 2 ** (least - fraction), 3 * 2 ** (least - fraction), 2 ** least - 2 ** (least - fraction), 2 ** least, Infinity,
    (2 - 2 ** -fraction) * 2 ** greatest, 2 ** greatest, 2 ** -fraction, 2 ** fraction, 2 ** (fraction + 1),
    ...[0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 10, 20, 100, 1000].flatMap(near),
    Math.PI, Math.PI / 2, Math.E, Math.LN2, 1e-5, 1e-10, 1e30,
  ]; // prettier-ignore
  const all = magnitudes.map(format.round).flatMap((x) => [x, -x]);
  return [NaN, ...new Map(all.map((x) => [Object.is(x, -0) ? '-0' : String(x), x])).values()];
}

/** A number of the format: of any bits, of any magnitude near 1, or from where functions bend. */
export function anyNumber(format: FloatFormat, random: () => number): number {
  const kind = Math.floor(random() * 4);
  if (kind === 0) {
    const high = BigInt(Math.floor(random() * 2 ** 32));
    const bits = (high << 32n) | BigInt(Math.floor(random() * 2 ** 32));
    return format.fromBits(BigInt.asUintN(format.width, bits));
  }
  if (kind === 1) return format.round((random() < 0.5 ? -1 : 1) * 2 ** (random() * 40 - 28));
  const span = [2, 8, 40, 110, 760][Math.floor(random() * 5)];
  return format.round((random() * 2 - 1) * span);
}

/** The class of a result; where it changes from one number to the next, a function is worth a closer look. */
export type Class = string;

/**
 * Numbers around the places between `from` and `to`, where a class changes: found by halving the range in the
 * order of the format.
 */
export function aroundChange(
  format: FloatFormat,
  [from, to]: readonly [number, number],
  classOf: (x: number) => Class,
  width: number,
): readonly number[] {
  let [low, high] = [orderOf(from, format), orderOf(to, format)];
  const first = classOf(from);
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (classOf(inOrder(middle, format)) === first) low = middle;
    else high = middle;
  }
  return Array.from({ length: 2 * width }, (_, i) => inOrder(low + BigInt(i + 1 - width), format));
}
