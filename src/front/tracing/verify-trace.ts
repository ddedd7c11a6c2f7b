import { TraceError } from '../../base/errors.js';
import { compareTraces } from './compare-traces.js';
import { type TraceSide } from './describe-trace.js';
import type { Trace } from './trace.js';

/** Two calls of a trace, counted from 1: the last verified one and the current one. */
export interface CallSpan {
  readonly last: number;
  readonly now: number;
}

/** True when two traces of one call are equal; source lines do not count. */
export function isSameTrace(first: Trace, second: Trace): boolean {
  for (const name of second.sizesRead.keys()) if (!first.sizesRead.has(name)) return false;
  return compareTraces(first, second) === null;
}

/**
 * Verifies that two traces of one call are equal: a difference depends on something that is not an argument,
 * and would have been frozen into the graph.
 *
 * @throws TraceError that shows both sides with their lines, and the calls that may have been answered
 * wrongly; its `source` is the second side's.
 */
export function verifyTrace(first: Trace, second: Trace, span: CallSpan): void {
  for (const [name, source] of second.sizesRead) {
    if (first.sizesRead.has(name)) continue;
    throw changed('it reads a size as a number', span, {
      expected: `dimension ${name} only as a symbol`,
      actual: `the number of dimension ${name}`,
      source,
    });
  }
  const difference = compareTraces(first, second);
  if (difference === null) return;
  const { problem, first: before, second: now, subject } = difference;
  throw changed(problem, span, {
    expected: withLine(before),
    actual: withLine(now),
    subject,
    source: now.source,
  });
}

interface Details {
  readonly expected: string;
  readonly actual: string;
  readonly subject?: string;
  readonly source?: string;
}

function changed(problem: string, span: CallSpan, { subject, ...details }: Details): TraceError {
  const what = subject === undefined ? '' : ` (${subject})`;
  return new TraceError(`captured code changed between two calls: ${problem}${staleCalls(span)}`, {
    op: 'hybridize',
    ...details,
    advice: `pass what changes as an argument${what}, as an array if its value matters, or keep it in a field of a block; { verify: "off" } keeps the first capture`,
  });
}

/** The calls in between were served without verification. */
function staleCalls({ last, now }: CallSpan): string {
  if (now - last < 2) return '';
  const calls =
    now - last === 2
      ? `call ${last + 1} of this trace`
      : `calls ${last + 1} to ${now - 1} of this trace`;
  return `; compared last at call ${last}, so ${calls} may have been answered as before the change`;
}

function withLine({ text, source }: TraceSide): string {
  return `${text} at ${source || 'an unknown line'}`;
}
