import type * as kn from '../../src/index.js';
import { milliseconds } from './progress.js';
import { type Form, forms } from './forms.js';

/** `12.0 ms eager, 6.00 ms captured network (2.0 times as fast), ...`. */
export function speedLine(speeds: Readonly<Record<Form, number>>): string {
  return forms
    .map((form) => {
      const ratio = (speeds.eager / speeds[form]).toFixed(1);
      return `${milliseconds(speeds[form])} ${form}${form === 'eager' ? '' : ` (${ratio} times as fast)`}`;
    })
    .join(', ');
}

/** What `explain()` says, indented, with at most so many rows of each table. */
export function explanationLines(explanation: kn.Explanation, rows = 6): string[] {
  const tables = String(explanation).split('\n\n');
  return tables.flatMap((table) => {
    const lines = table.split('\n');
    const left = lines.length - 1 - rows;
    const shown = left > 1 ? [...lines.slice(0, 1 + rows), `... and ${left} more`] : lines;
    return [...shown, ''].map((line) => (line === '' ? '' : `    ${line}`));
  });
}
