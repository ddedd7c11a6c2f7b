/** Whole numbers from `low` up to and including `high`, the same ones for the same seed. */
export type Draw = (low: number, high: number) => number;

/** A source of random numbers for generated data. Source: mulberry32, Tommy Ettinger, 2017, public domain. */
export function seeded(seed: number): Draw {
  let state = seed | 0;
  return (low, high) => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    const fraction = ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
    return low + Math.floor(fraction * (high - low + 1));
  };
}
