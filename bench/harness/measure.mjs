// How a row is measured: contestants take turns in short rounds, so that a noisy moment hits all of them
// alike. Results are compared with the reference before any time is taken, and what computes something
// else is not timed. At the deadline a row ends with the rounds that it has.
import { relativeError, summarize } from './statistics.mjs';

/**
 * Measures entries `{ name, technology, result?(): Float64Array or null, round(milliseconds): milliseconds a
 * run, note?(), warm? }` and meters (see limits/index.mjs). Results are held against `check`: `{ reference, tolerance }`,
 * or `{ errorOf, tolerance }`, where `errorOf(result)` is the relative error. Returns `{ figures, limits, refused }`:
 * figures by name, in milliseconds, limits by technology and quantity, and why entries were left out.
 */
export async function measureEntries(entries, meters, check, options) {
  const refused = [];
  const late = () => performance.now() > (options.deadline ?? Infinity);
  /** Of entries or meters those that can do something, which the others refuse. */
  const able = async (list, act) => {
    const able = [];
    for (const one of list) {
      try {
        await act(one);
        able.push(one);
      } catch (error) {
        refused.push({ name: one.name, reason: error.message });
      }
    }
    return able;
  };
  const checks = entries.map((entry) => checkEntry(entry, check));
  await Promise.allSettled(checks); // all at once, since nothing is timed yet
  let racing = await able(entries, async (entry) => {
    await checks[entries.indexOf(entry)];
    if (late()) throw new Error('the time of the row was over');
    if (entry.warm !== false) await entry.round(options.warmupMilliseconds);
  });
  let limiting = await able(meters, (meter) => meter.round(options.limitMilliseconds));
  const taken = new Map([...racing, ...limiting].map((one) => [one, []]));
  for (let round = 0; round < options.rounds && !(round > 0 && late()); round++) {
    racing = await able(racing, async (entry) => {
      taken.get(entry).push(await entry.round(options.roundMilliseconds));
    });
    limiting = await able(limiting, async (meter) => {
      taken.get(meter).push(await meter.round(options.limitMilliseconds));
    });
  }
  const figures = {};
  for (const entry of racing) {
    const note = await entry.note?.().catch(() => {}); // who has ended since has none
    figures[entry.name] = { ...summarize(taken.get(entry)), note };
  }
  return { figures, limits: highest(limiting, taken), refused };
}

async function checkEntry({ result }, { reference, errorOf, tolerance = 1e-4 }) {
  const measure = errorOf ?? (reference && ((found) => relativeError(found, reference)));
  if (result === undefined || measure === undefined) return;
  const found = await result();
  if (found === null) return;
  const error = measure(found);
  if (!(error <= tolerance)) {
    throw new Error(`computes something else: relative error ${error.toPrecision(3)}`);
  }
}

/** By technology and quantity the highest rate that any form reached, with every round of every form. */
function highest(meters, rates) {
  const limits = {};
  for (const meter of meters) {
    const { technology, quantity, form } = meter;
    const found = ((limits[technology] ??= {})[quantity] ??= { best: 0, forms: {} });
    found.forms[form] = rates.get(meter);
    found.best = Math.max(found.best, ...found.forms[form]);
  }
  return limits;
}
