import { TraceError } from '../base/errors.js';
import { compareTraces, type Side } from './comparetraces.js';
import type { Trace } from './trace.js';

/**
 * Two traces of one call must be the same: what differs depends on something that is not an argument,
 * and would have been frozen into the graph.
 *
 * @throws TraceError that shows both sides with their lines; its `source` is the second one's.
 */
export function verifyTrace(first: Trace, second: Trace): void {
  for (const [name, source] of second.sizesRead) {
    if (first.sizesRead.has(name)) continue;
    throw changed('it reads a size as a number', {
      expected: `dimension ${name} only as a symbol`,
      actual: `the number of dimension ${name}`,
      ...(source !== undefined && { source }),
    });
  }
  const difference = compareTraces(first, second);
  if (difference === null) return;
  const { problem, first: before, second: now } = difference;
  throw changed(problem, {
    expected: withLine(before),
    actual: withLine(now),
    ...(now.source !== undefined && { source: now.source }),
  });
}

function changed(
  problem: string,
  details: { readonly expected: string; readonly actual: string; readonly source?: string },
): TraceError {
  return new TraceError(`captured code changed between two calls: ${problem}`, {
    op: 'hybridize',
    ...details,
    advice:
      'pass what changes as an argument, as an array if its value matters; { verify: "off" } keeps the first capture',
  });
}

function withLine({ text, source }: Side): string {
  return `${text} at ${source ?? 'an unknown line'}`;
}
