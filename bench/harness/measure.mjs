// How a row is measured: contestants take turns in short rounds, so that a noisy moment hits all of them
// alike. Results are compared with the reference before any time is taken, and what computes something
// else is not timed.
import { relativeError, summarize } from './statistics.mjs';

/**
 * Measures entries `{ name, technology, result?(): Float64Array or null, round(milliseconds): milliseconds a
 * run, note?(), warm? }` and meters (see limits/index.mjs). Returns `{ figures, limits, refused }`: figures by name, in
 * milliseconds, limits by technology and quantity, and why entries were left out.
 */
export async function measureEntries(entries, meters, { reference, tolerance = 1e-4 }, options) {
  const refused = [];
  const racing = [];
  for (const entry of entries) {
    try {
      await checkEntry(entry, reference, tolerance);
      if (entry.warm !== false) await entry.round(options.warmupMilliseconds);
      racing.push(entry);
    } catch (error) {
      refused.push({ name: entry.name, reason: error.message });
    }
  }
  for (const meter of meters) await meter.round(options.limitMilliseconds);
  const times = new Map(racing.map(({ name }) => [name, []]));
  const rates = meters.map(() => []);
  for (let round = 0; round < options.rounds; round++) {
    for (const { name, round: run } of racing) {
      try {
        times.get(name)?.push(await run(options.roundMilliseconds));
      } catch (error) {
        times.delete(name);
        refused.push({ name, reason: error.message });
      }
    }
    for (const [at, meter] of meters.entries()) {
      rates[at].push(await meter.round(options.limitMilliseconds));
    }
  }
  const figures = {};
  for (const { name, note } of racing) {
    const list = times.get(name);
    if (list !== undefined) figures[name] = { ...summarize(list), note: await note?.() };
  }
  return { figures, limits: highest(meters, rates), refused };
}

async function checkEntry({ result }, reference, tolerance) {
  if (result === undefined || reference === undefined) return;
  const found = await result();
  if (found === null) return;
  const error = relativeError(found, reference);
  if (error > tolerance) {
    throw new Error(`computes something else: relative error ${error.toPrecision(3)}`);
  }
}

/** By technology and quantity the highest rate that any form reached, with every round of every form. */
function highest(meters, rates) {
  const limits = {};
  for (const [at, { technology, quantity, form }] of meters.entries()) {
    const found = ((limits[technology] ??= {})[quantity] ??= { best: 0, forms: {} });
    found.forms[form] = rates[at];
    found.best = Math.max(found.best, ...rates[at]);
  }
  return limits;
}
