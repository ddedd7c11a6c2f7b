// A row for a terminal.
import { comparisons, limitsText, verdict } from './cells.mjs';
import { digits, inUnit } from '../harness/units.mjs';

/** A line a contestant: best, median, the share of the limit, how many times as fast Kaon is. */
export function asText(row) {
  const limits = limitsText(row);
  const lines = [`${row.title}, ${row.unit}${limits === '' ? '' : ` (${limits})`}`];
  for (const [name, figure] of Object.entries(row.figures)) {
    const [best, median] = [figure.best, figure.median].map((value) => digits(inUnit(row, value)));
    const share = row.shares[name];
    const cells = [
      name.padEnd(28),
      best.padStart(8),
      `median ${median}`.padEnd(16),
      (share === undefined ? '' : `${Math.round(share * 100)} % of the limit`).padEnd(20),
      ...comparisons(row, name).map(({ tier, times }) => `${tier} ${times} times as fast`),
    ];
    lines.push(`  ${cells.join(' ').trimEnd()}`);
    if (figure.note !== undefined) lines.push(`    ${figure.note}`);
  }
  for (const { name, reason } of row.refused)
    lines.push(`  ${name}: not measured: ${reason.split('\n')[0]}`);
  for (const target of row.targets) lines.push(`  target: ${verdict(target)}`);
  return lines.join('\n');
}
