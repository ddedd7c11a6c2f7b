// What becomes of the rounds of a contestant.

/** |out - ref| / |ref| over whole arrays. */
export function relativeError(out, reference) {
  if (out.length !== reference.length) return Infinity;
  let error = 0;
  let norm = 0;
  for (let i = 0; i < out.length; i++) {
    error += (out[i] - reference[i]) ** 2;
    norm += reference[i] ** 2;
  }
  const relative = Math.sqrt(error / Math.max(norm, 1e-30));
  return Number.isNaN(relative) ? Infinity : relative;
}

/** The least and the middle of a list of times; `noise` is how far the middle lies above the least. */
export function summarize(times) {
  const sorted = times.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  return { best: sorted[0], median, noise: median / sorted[0], rounds: times };
}

/**
 * The least milliseconds that a machine needs for so many operations and bytes: it does both at the same
 * time, so the slower of the two decides. `compute` is in GFLOP/s, `copy` in GB/s.
 */
export function leastMilliseconds({ operations = 0, bytes = 0 }, { compute, copy }) {
  const computing = operations === 0 ? 0 : operations / compute / 1e6;
  const copying = bytes === 0 ? 0 : bytes / copy / 1e6;
  return computing >= copying
    ? { milliseconds: computing, by: 'compute' }
    : { milliseconds: copying, by: 'copy' };
}
