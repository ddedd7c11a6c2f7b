// How rows are measured: contestants take turns in short rounds, so that a noisy moment hits all of
// them alike, and every figure is the best of the rounds' means. Results are compared before timing.

/** Pseudo-random normal-ish numbers, the same for every contestant; never zeros. */
export function randomData(length, seed = 1, scale = 1) {
  const data = new Float32Array(length);
  let state = seed >>> 0 || 1;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  for (let i = 0; i < length; i++) data[i] = (next() + next() + next() - 1.5) * 1.15 * scale;
  return data;
}

/** |out - ref| / |ref| over whole arrays. */
export function relativeError(out, reference) {
  if (out.length !== reference.length) return Infinity;
  let error = 0;
  let norm = 0;
  for (let i = 0; i < out.length; i++) {
    error += (out[i] - reference[i]) ** 2;
    norm += reference[i] ** 2;
  }
  return Math.sqrt(error / Math.max(norm, 1e-30));
}

async function timeRound(run, milliseconds) {
  let runs = 0;
  const start = performance.now();
  let elapsed = 0;
  do {
    const pending = run();
    if (pending instanceof Promise) await pending;
    runs++;
    elapsed = performance.now() - start;
  } while (elapsed < milliseconds);
  return elapsed / runs;
}

/** Fails unless a contestant's result is the row's reference, within its tolerance. */
export function checkResult({ name, reference, tolerance = 1e-4 }, contestant, result) {
  const error = relativeError(result, reference);
  if (error <= tolerance) return;
  throw new Error(`${name}: ${contestant} computes something else (relative error ${error})`);
}

/** `a 2.5, b 1.3 times as fast as c`, by the best times. */
export function ratios(figures, slowest) {
  const others = Object.keys(figures).filter((name) => name !== slowest);
  const parts = others.map(
    (name) => `${name} ${(figures[slowest].best / figures[name].best).toFixed(2)}`,
  );
  return `${parts.join(', ')} times as fast as ${slowest}`;
}

/**
 * Measures a row: `{ name, unit, reference?, tolerance?, scale?, against?, contestants: { name: { run,
 * result? } } }`. `scale(ms)` turns milliseconds a run into the unit; `against` names the contestant that
 * the others are compared with. Returns figures by contestant.
 */
export async function measure(
  row,
  { rounds = 7, roundMilliseconds = 120, warmupMilliseconds = 400 } = {},
) {
  const contestants = Object.entries(row.contestants).filter(
    ([, contestant]) => contestant !== null,
  );
  for (const [name, { result }] of contestants) {
    if (result === undefined || row.reference === undefined) continue;
    checkResult(row, name, await result());
  }
  for (const [, { run }] of contestants) await timeRound(run, warmupMilliseconds);
  const times = new Map(contestants.map(([name]) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, { run }] of contestants)
      times.get(name).push(await timeRound(run, roundMilliseconds));
  }
  const figures = {};
  for (const [name, list] of times) {
    list.sort((a, b) => a - b);
    const scale = row.scale ?? ((ms) => ms);
    figures[name] = {
      best: scale(list[0]),
      median: scale(list[list.length >> 1]),
      noise: list[list.length >> 1] / list[0],
    };
  }
  const note = row.against === undefined ? undefined : ratios(figures, row.against);
  return { name: row.name, unit: row.unit, note, figures };
}
