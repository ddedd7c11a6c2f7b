import { symbolsOfTypes } from '../../ir/bind.js';
import { namedInputs } from '../../ir/program.js';
import type { FieldGuards } from '../fields/guards.js';
import type { SymbolicTypes } from '../options/sizes.js';
import type { VerifySchedule } from '../options/verify-schedule.js';
import type { Trace } from '../tracing/trace.js';
import type { TraceRunner } from '../tracing/trace-runner.js';
import type { TraceReport } from './explain.js';
import { changedCapture, type CallFacts, type OutsideGuard } from './guards.js';

/** A trace, what it became, and what it was made for. */
export interface CachedTrace {
  readonly id: number;
  readonly trace: Trace;
  readonly runner: TraceRunner;
  readonly symbolic: SymbolicTypes;
  readonly facts: CallFacts;
  readonly captured: readonly OutsideGuard[];
  readonly fields: FieldGuards;
  readonly verification: VerifySchedule;
  readonly signature: string;
  readonly cost: Cost;
  readonly family: string;
  calls: number;
}

/** Shared with the report of the miss, which outlives the trace. */
export interface Cost {
  readonly trace: number;
  firstRun: number | null;
}

/** True when nothing that a trace relies on beside the arguments has changed. */
export function isCurrent({ captured, fields }: CachedTrace): boolean {
  return changedCapture(captured) === null && fields.holds();
}

/** A trace as `explain` lists it. */
export function reportOf({
  id,
  trace,
  runner,
  signature,
  symbolic,
  calls,
  cost,
}: CachedTrace): TraceReport {
  const captured = new Set<string>();
  let operators = 0;
  for (const { parts } of trace.segments) {
    const { program, reads } = parts;
    const names = namedInputs(program).map(({ name }) => name);
    const first = names.length - reads.length;
    reads.forEach(({ kind }, i) => kind === 'array' && captured.add(names[first + i]));
    for (const node of program.graph.nodes()) if (program.node(node).kind === 'call') operators++;
  }
  return {
    id,
    signature,
    symbols: [...symbolsOfTypes(symbolic.types).keys()],
    operators,
    captured: [...captured],
    calls,
    milliseconds: cost.trace,
    firstRunMilliseconds: cost.firstRun,
    tiers: runner.tiers(),
    islands: runner.islands(),
    parts: runner.parts(),
  };
}
