/**
 * The order of one epoch: a permutation that depends on the seed and the epoch only, so that a loader can
 * resume anywhere. Fisher-Yates over a 32-bit mixing generator (Steele, Lea and Flood's SplitMix, 32-bit
 * variant), separate from the arrays' generator: loading never disturbs a model's randomness.
 */
export function shuffledOrder(length: number, seed: number, epoch: number): Uint32Array {
  const order = Uint32Array.from({ length }, (_, i) => i);
  let state = (Math.imul(seed | 0, 0x9e3779b1) ^ Math.imul(epoch + 1, 0x85ebca77)) | 0;
  const next = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
  };
  for (let i = length - 1; i > 0; i--) {
    const j = Math.floor(next() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
