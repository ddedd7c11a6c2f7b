// What Kaon is to reach, held against what was measured.
import { inUnit } from './units.mjs';

/** The fastest of the figures whose names begin so: `[name, figure]`, or null where there is none. */
export function fastest(figures, beginning) {
  const found = Object.entries(figures).filter(([name]) => name.startsWith(beginning));
  if (found.length === 0) return null;
  return found.reduce((best, next) => (next[1].best < best[1].best ? next : best));
}

const percent = (share) => `${Math.round(share * 100)} %`;

/**
 * A target is `{ who, than, times }` (so many times as fast as the fastest figure called `than`),
 * `{ who, share }` (of the limit of its technology) or `{ who, most }` (in the row's unit). Judges it:
 * `{ who, wanted, measured, met }`, the last two null where something that it needs was not measured.
 */
export function judge(target, row) {
  const { who, than, times, share, most } = target;
  const own = fastest(row.figures, who);
  const of = (wanted, value, text, met) =>
    value === null
      ? { who, wanted, measured: null, met: null }
      : { who, wanted, measured: text(value), met: met(value) };
  if (share !== undefined) {
    const value = own === null ? null : (row.shares[own[0]] ?? null);
    return of(`${percent(share)} of the limit`, value, percent, (v) => v >= share);
  }
  if (most !== undefined) {
    const value = own === null ? null : inUnit(row, own[1].best);
    const text = (v) => `${v.toPrecision(3)} ${row.unit}`;
    return of(`at most ${most} ${row.unit}`, value, text, (v) => v <= most);
  }
  const other = fastest(row.figures, than);
  const value = own === null || other === null ? null : other[1].best / own[1].best;
  return of(
    `${times} times ${than}`,
    value,
    (v) => v.toPrecision(3),
    (v) => v >= times,
  );
}
