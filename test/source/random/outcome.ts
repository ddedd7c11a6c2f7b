/** What a host program does: what it logs, and how it ends. */
export interface Outcome {
  readonly events: readonly unknown[];
  readonly end: string;
}

/** Runs a host program, which is given `log`. */
export function outcomeOf(run: (log: (...values: unknown[]) => unknown) => unknown): Outcome {
  const events: unknown[] = [];
  const log = (...values: unknown[]): unknown => {
    events.push(values.map((value) => textOf(value)).join(' '));
    if (events.length > 4000) throw new Error('too long');
    return values[values.length - 1];
  };
  try {
    return { events, end: `returns ${textOf(run(log))}` };
  } catch (error) {
    return { events, end: `throws ${textOf(error)}` };
  }
}

function textOf(value: unknown): string {
  if (value instanceof Error) {
    // Messages about values name the expression as it is written.
    return value.constructor === Error ? String(value) : value.name;
  }
  if (typeof value === 'object' && value !== null) return `{${Object.keys(value).join()}}`;
  if (typeof value === 'function') return 'function';
  return Object.is(value, -0) ? '-0' : `${typeof value} ${String(value)}`;
}
