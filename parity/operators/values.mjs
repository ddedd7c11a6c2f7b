// Elements: random ones, and those at which operators go wrong.

/** Repeatable numbers in [0, 1): a 32-bit mixing generator that a text seeds. */
export function generator(text) {
  let state = 0;
  for (const letter of text) state = (Math.imul(state, 31) + letter.codePointAt(0)) | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** Of every float format: least denormal, least normal, greatest, and the ulp of 1. */
const formats = {
  float16: { tiny: 2 ** -24, least: 2 ** -14, most: 65504, ulp: 2 ** -10 },
  bfloat16: { tiny: 2 ** -133, least: 2 ** -126, most: (2 - 2 ** -7) * 2 ** 127, ulp: 2 ** -7 },
  float32: { tiny: 2 ** -149, least: 2 ** -126, most: (2 - 2 ** -23) * 2 ** 127, ulp: 2 ** -23 },
  float64: { tiny: 2 ** -1074, least: 2 ** -1022, most: Number.MAX_VALUE, ulp: 2 ** -52 },
};

const ranges = {
  uint8: [0n, 255n],
  int8: [-128n, 127n],
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
};

export const floats = Object.keys(formats);
export const integers = Object.keys(ranges);
export const isFloat = (dtype) => Object.hasOwn(formats, dtype);

const both = (values) => values.flatMap((value) => [value, -value]);

/** The elements that a dtype has at its ends, at its seams, and where functions have theirs. */
export function edges(dtype) {
  if (dtype === 'bool') return [false, true];
  if (!isFloat(dtype)) {
    const [least, most] = ranges[dtype];
    const near = [0n, 1n, 2n, 3n, 7n, -1n, -2n, -7n];
    return [least, least + 1n, most, most - 1n, ...near.filter((n) => n >= least)];
  }
  const { tiny, least, most, ulp } = formats[dtype];
  return [
    ...both([0, tiny, least - tiny, least, most, Infinity, 1, 1 + ulp, 1 - ulp / 2, 0.5, 1.5, 2, 2.5, 3]),
    ...both([Math.PI / 2, 10, 88.5, 104, 2 ** 24 + 1]),
    NaN,
  ]; // prettier-ignore
}

/** A number of any magnitude that the dtype has. */
function anyMagnitude(dtype, random) {
  const { least, most } = formats[dtype];
  const [low, high] = [Math.log2(least), Math.log2(most)];
  // Half of them near 1, where functions are not yet what they are at their ends.
  const exponent = random() < 0.5 ? random() * 16 - 10 : low + random() * (high - low);
  return (random() < 0.5 ? -1 : 1) * 2 ** Math.min(exponent, high - 0.01) * (1 - random() / 4);
}

/**
 * From where to where squares, and products of a few, stay in the range in which they are computed: halves are
 * computed in single precision, in which theirs do anyway.
 */
function squares(dtype) {
  const { least, most } = formats[dtype];
  if (dtype === 'float16') return { least, most };
  return {
    least: 2 ** Math.ceil(Math.log2(least) / 3),
    most: 2 ** Math.floor(Math.log2(most) / 3),
  };
}

/** Pools that elements are drawn from, by name; each gets the dtype and a generator. */
export const pools = {
  ties: (dtype, random) => {
    if (dtype === 'bool') return random() < 0.5;
    const value = [-1, -0, 0, 0, 1, 1, 2][Math.floor(random() * 7)];
    return isFloat(dtype) ? value : clamped(dtype, BigInt(value));
  },
  huge: (dtype, random, isComposite) => {
    if (!isFloat(dtype)) return endOf(dtype, random);
    const most = isComposite ? squares(dtype).most : formats[dtype].most;
    return [most, -most, most / 2, most / 4, 1, most / 3][Math.floor(random() * 6)];
  },
  tiny: (dtype, random, isComposite) => {
    const { least } = isComposite ? squares(dtype) : formats[dtype];
    const tiny = isComposite ? least / 64 : formats[dtype].tiny;
    return [tiny, -tiny, 3 * tiny, least, 1.5 * least, 0][Math.floor(random() * 6)];
  },
  any: (dtype, random, isComposite) => {
    if (dtype === 'bool') return random() < 0.5;
    if (!isFloat(dtype)) return endOf(dtype, random);
    if (isComposite) return (random() < 0.5 ? -1 : 1) * 2 ** (random() * 12 - 6);
    const all = edges(dtype);
    return random() < 0.3 ? all[Math.floor(random() * all.length)] : anyMagnitude(dtype, random);
  },
};

function endOf(dtype, random) {
  if (dtype === 'bool') return random() < 0.5;
  const all = edges(dtype);
  return all[Math.floor(random() * all.length)];
}

function clamped(dtype, value) {
  const [least, most] = ranges[dtype];
  return value < least ? least : value > most ? most : value;
}

/** An element as a sample wants it: spread evenly from `low` to `high`. */
export function ordinary({ low, high }, dtype, random) {
  if (dtype === 'bool') return random() < 0.5;
  if (isFloat(dtype)) return low + random() * (high - low);
  const [from, to] = [Math.ceil(low), Math.floor(high)];
  const count = Math.max(1, to - from + 1);
  return clamped(dtype, BigInt(from + Math.floor(random() * count)));
}

/** A given element, where the dtype may be another than it was given for. */
export function given(value, dtype) {
  if (dtype === 'bool') return Boolean(value) || Number.isNaN(value);
  if (isFloat(dtype)) return Number(value);
  return clamped(dtype, BigInt(Number.isFinite(Number(value)) ? Math.trunc(Number(value)) : 3));
}
