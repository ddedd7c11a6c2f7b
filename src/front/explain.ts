/** What is known of one trace of a hybridized function. */
export interface TraceReport {
  /** The arguments and the mode it was made for; symbolic sizes stand for every size. */
  readonly signature: string;
  /** Operator calls in the graph. */
  readonly operators: number;
  /** The names of the arrays from outside that it reads. */
  readonly captured: readonly string[];
  /** How many calls it has served. */
  readonly calls: number;
  /** What tracing cost; compiling comes on top with the first run. */
  readonly milliseconds: number;
}

/** What a hybridized function has captured so far. */
export interface Explanation {
  readonly name: string;
  /** Oldest first. */
  readonly traces: readonly TraceReport[];
  /** Calls that found their trace. */
  readonly hits: number;
  /** Calls that had to trace. */
  readonly misses: number;
  toString(): string;
}

export function explanation(fields: Omit<Explanation, 'toString'>): Explanation {
  return {
    ...fields,
    toString: () =>
      [
        `${fields.name}: ${fields.hits} hits, ${fields.misses} misses`,
        ...fields.traces.map(
          ({ signature, operators, captured, calls, milliseconds }) =>
            `  ${signature}: ${operators} operators, ${captured.length} captured arrays, ` +
            `${calls} calls, traced in ${milliseconds.toFixed(1)} ms`,
        ),
      ].join('\n'),
  };
}
