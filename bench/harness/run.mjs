// One row from its description to its figures.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kaon, peers } from '../contestants.mjs';
import { withThreads } from '../limits/index.mjs';
import { measureEntries } from './measure.mjs';
import { wanted } from './options.mjs';
import { leastMilliseconds } from './statistics.mjs';
import { judge } from './targets.mjs';

/** Writes the inputs of a case where every process can read them. */
function asFiles(inputs, folder) {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, { data, shape }]) => {
      const file = join(folder, `${name}.bin`);
      writeFileSync(file, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
      return [name, { file, shape, dtype: data instanceof Int32Array ? 'int32' : 'float32' }];
    }),
  );
}

/** Kaon on each tier that is asked for, for rows about threads with each number of them. */
function ownContestants(row, options) {
  const { threads, tiers = options.tiers } = row;
  if (threads === undefined) {
    const { against } = options;
    const other = (tier) => kaon(tier, { ...options, dist: against, name: `other ${tier}` });
    return tiers.flatMap((tier) =>
      against === undefined ? [kaon(tier, options)] : [kaon(tier, options), other(tier)],
    );
  }
  return tiers.flatMap((tier) =>
    threads.map((count) => {
      const name = withThreads(`kaon ${tier}`, count);
      const contestant = kaon(tier, { ...options, threads: count, name });
      return { ...contestant, technology: withThreads(contestant.technology, count) };
    }),
  );
}

function otherContestants(row, options) {
  if (row.threads !== undefined || row.kaonOnly) return [];
  return peers(options).filter(({ name }) => wanted(options.peers, name));
}

/** The share of the limit that applies to it that each contestant has reached. */
function sharesOf(row, figures, limits, technologies) {
  const shares = {};
  for (const [name, { best }] of Object.entries(figures)) {
    const limit = limits[technologies.get(name)];
    if (limit === undefined) continue;
    const rates = { compute: limit.compute?.best, copy: limit.copy?.best };
    shares[name] = leastMilliseconds(row, rates).milliseconds / best;
  }
  return shares;
}

/**
 * Measures a row:
 *
 * - `title`, `section`, `unit` (with `per`), `targets`;
 * - either `kind` with the fields of the case and `build()` giving `inputs` and what measure.mjs checks results by
 *   (`reference`, or `errorOf` where it would take minutes, and `tolerance`), or `entries(context)` giving entries of
 *   its own;
 * - `operations` and `bytes` of a run, where the machine limits it; `threads` for rows about threads;
 *   `kaonOnly` where peers have nothing like it; `tiers` where not all make sense; `rounds` where fewer are
 *   enough.
 *
 * A row that cannot be measured is reported as refused.
 */
export async function runRow(row, { options, team, limits, folder }) {
  const { build, entries: ownEntries, targets = [], ...work } = row;
  const own = ownContestants(row, options);
  const all = [...own, ...otherContestants(row, options)];
  const scratch = mkdtempSync(join(folder, 'row-'));
  const refused = [];
  try {
    const starting = row.kind === undefined ? [] : team.start(all);
    const { inputs = {}, ...check } = build?.() ?? {}; // while they start
    await starting;
    const deadline = performance.now() + options.rowMilliseconds;
    team.waitUntil(deadline);
    const sent = { ...work, inputs: asFiles(inputs, scratch) };
    const entries = ownEntries === undefined ? [] : ownEntries({ options, contestants: all });
    if (row.kind !== undefined) {
      const made = all.map((contestant) => team.entries(contestant, sent, scratch, refused));
      entries.push(...(await Promise.all(made)).flat());
    }
    const technologies = new Map(entries.map(({ name, technology }) => [name, technology]));
    const limited = (row.operations ?? row.bytes) !== undefined;
    const measuredOn = new Set(row.technologies ?? technologies.values());
    const meters = limited ? await limits.metersFor(row, measuredOn) : [];
    const rounds = Math.min(options.rounds, row.rounds ?? Infinity);
    const measured = await measureEntries(entries, meters, check, { ...options, rounds, deadline });
    for (const meter of meters) await meter.release();
    for (const { release } of entries) await release?.();
    const shares = limited ? sharesOf(row, measured.figures, measured.limits, technologies) : {};
    const report = { ...work, ...measured, shares, refused: [...refused, ...measured.refused] };
    const names = [...own.map(({ name }) => name), ...technologies.keys()];
    const asked = targets.filter(({ who }) => names.some((name) => who.startsWith(name)));
    return { ...report, targets: asked.map((target) => judge(target, report)) };
  } catch (error) {
    const reason = error.stack ?? String(error);
    return { ...work, figures: {}, limits: {}, shares: {}, refused: [{ name: 'row', reason }], targets: [] }; // prettier-ignore
  } finally {
    team.endRow(all);
    rmSync(scratch, { recursive: true });
  }
}
