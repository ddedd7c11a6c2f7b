import { currentSource, TraceError } from '../base/errors.js';
import { symbolsOfTypes } from '../ir/bind.js';
import { namedInputs, typeToString } from '../ir/program.js';
import { BareCall } from './barecall.js';
import {
  describeGuard,
  type Explanation,
  explanation,
  GuardCounts,
  type Miss,
  type TraceReport,
} from './explain.js';
import {
  adviceFor,
  capturedGuards,
  changedCapture,
  compareFacts,
  type Facts,
  factsOf,
  type Guard,
  type OutsideGuard,
} from './guards.js';
import type { HybridizeOptions } from './hybridizeoptions.js';
import type { NDArray } from './ndarray.js';
import { describeSignature, type Signature } from './signature.js';
import { bindSizes, exactTypes, type SymbolicTypes } from './sizes.js';
import { Specializer, type TraceFamily } from './specialize.js';
import type { FirstRun, Trace } from './trace.js';
import { TraceRunner } from './tracerunner.js';
import { verifyTrace } from './verifytrace.js';

/** What one function keeps at most. */
const limits = {
  /** Traces, with the code they became. The one that was not used for the longest time goes first. */
  traces: 64,
  /** Signatures whose trace is known without looking for it. */
  signatures: 256,
  /** Misses that `explain` lists, and guards that it counts. */
  misses: 128,
} as const;

/** A trace, what it became, and what it was made for. */
export interface Entry {
  readonly id: number;
  readonly trace: Trace;
  readonly runner: TraceRunner;
  readonly symbolic: SymbolicTypes;
  readonly facts: Facts;
  readonly captured: readonly OutsideGuard[];
  readonly signature: string;
  readonly cost: Cost;
  readonly family: string;
  calls: number;
  /** The time of the last use, in calls. */
  used: number;
}

/** Shared with the report of the miss, which outlives the trace. */
interface Cost {
  readonly trace: number;
  firstRun: number | null;
}

interface MissRecord extends Omit<Miss, 'milliseconds' | 'firstRunMilliseconds'> {
  readonly cost: Cost;
}

interface Family extends TraceFamily {
  readonly entries: Entry[];
}

/** The traces of one function by what they were made for. Keys are compared exactly, never by a hash alone. */
export class TraceCache {
  readonly #options: HybridizeOptions;
  readonly #name: string;
  readonly #specializer: Specializer;
  /** All there are, oldest first. */
  readonly #entries: Entry[] = [];
  /** Those of calls that differ in sizes only. */
  readonly #families: Map<string, Family> = new Map();
  /** A shortcut: what calls of exactly these sizes were served by. */
  readonly #bySignature: Map<string, Entry> = new Map();
  readonly #misses: MissRecord[] = [];
  readonly #failed: GuardCounts = new GuardCounts(limits.misses);
  #hits = 0;
  #made = 0;
  #evicted = 0;
  #clock = 0;

  readonly #mayRunCode: boolean;
  #last: BareCall | null = null;
  /** What the trace made last has computed of the call that it was made for. */
  #firstRun: FirstRun | null = null;

  /** @param mayRunCode Whether side-effect code may cut the function's graphs. */
  constructor(
    fn: (...args: never[]) => unknown,
    options: HybridizeOptions,
    mayRunCode: boolean = false,
  ) {
    this.#mayRunCode = mayRunCode;
    this.#options = options;
    this.#name = options.name ?? (fn.name || 'function');
    this.#specializer = new Specializer(fn, options, mayRunCode);
  }

  /** The trace for a call, checked as often as was asked for, and run on the arrays. */
  call(
    signature: Signature,
    given: readonly NDArray[],
  ): { readonly entry: Entry; readonly results: readonly NDArray[] } {
    this.#firstRun = null;
    const made = this.#made;
    const entry = this.find(signature);
    if (this.#made === made) this.#hits++;
    const { verify = 'second' } = this.#options;
    if (verify === 'always' ? entry.calls > 0 : verify === 'second' && entry.calls === 1) {
      const { types } = entry.symbolic;
      const sizes = bindSizes(signature.leaves, types)!;
      verifyTrace(
        entry.trace,
        this.#specializer.rehearse(entry.trace, signature, { types, sizes }),
      );
    }
    const started = performance.now();
    const first = this.#takeFirstRun();
    if (first !== null && this.#mayRunCode) entry.runner.locals = first.locals;
    const results = first?.results ?? entry.runner.run(given);
    entry.cost.firstRun ??= performance.now() - started;
    entry.calls++;
    return { entry, results };
  }

  /**
   * The trace for bare arrays that are in everything what those of the last call were, if that one needs
   * no check any more; null when the whole signature has to be looked at.
   */
  again(args: readonly unknown[]): TraceRunner | null {
    const last = this.#last;
    if (last === null || !last.fits(args, this.#options.keyOf?.() ?? '')) return null;
    const { entry } = last;
    const { verify = 'second' } = this.#options;
    if (verify === 'always' || (verify === 'second' && entry.calls < 2)) return null;
    if (changedCapture(entry.captured) !== null) return null;
    entry.calls++;
    entry.used = ++this.#clock;
    this.#hits++;
    return entry.runner;
  }

  /** Remembers what `again` compares with. */
  remember(args: readonly unknown[], entry: Entry): void {
    this.#last = BareCall.of(args, this.#options.keyOf?.() ?? '', entry);
  }

  /** The traces there are, oldest first. */
  get entries(): readonly Entry[] {
    return this.#entries;
  }

  #takeFirstRun(): FirstRun | null {
    const first = this.#firstRun;
    this.#firstRun = null;
    return first;
  }

  /** The trace for a call; made when there is none, which runs side-effect code. */
  find(signature: Signature): Entry {
    const extra = this.#options.keyOf?.() ?? '';
    const key = `${signature.key}|${extra}`;
    let entry = this.#bySignature.get(key);
    if (entry === undefined || changedCapture(entry.captured) !== null) {
      const familyKey = `${signature.family}|${extra}`;
      entry = this.#families.get(familyKey)?.entries.find((each) => this.#serves(each, signature));
      entry ??= this.#make(signature, familyKey);
      if (this.#bySignature.size >= limits.signatures) {
        this.#bySignature.delete(this.#bySignature.keys().next().value!);
      }
      this.#bySignature.set(key, entry);
    }
    entry.used = ++this.#clock;
    return entry;
  }

  explain(): Explanation {
    return explanation({
      name: this.#name,
      traces: this.#entries.map(reportOf),
      evicted: this.#evicted,
      hits: this.#hits,
      misses: this.#misses.map(({ cost, ...miss }) => ({
        ...miss,
        milliseconds: cost.trace,
        firstRunMilliseconds: cost.firstRun,
      })),
      forgotten: this.#made - this.#misses.length,
      advice: this.#failed.advice(),
    });
  }

  #serves({ captured, trace, symbolic }: Entry, signature: Signature): boolean {
    if (changedCapture(captured) !== null) return false;
    const sizes = bindSizes(signature.leaves, symbolic.types);
    return sizes !== null && this.#specializer.holdsAt(trace, signature, sizes);
  }

  /** A trace for a call that none serves. Whatever goes wrong, nothing is left of the attempt. */
  #make(signature: Signature, familyKey: string): Entry {
    const source = currentSource();
    const parts = this.#options.partsOf?.() ?? new Map<string, string>();
    const facts = factsOf(signature, exactTypes(signature.leaves).types, parts);
    const { guard, others } = this.#closest(facts);
    this.#checkBudget(guard);
    const started = performance.now();
    const family = this.#families.get(familyKey);
    const made = this.#specializer.trace(signature, family, facts);
    const { trace, symbolic, obstacle } = made;
    this.#firstRun = made.firstRun;
    const entry: Entry = {
      id: this.#made++,
      trace,
      symbolic,
      runner: new TraceRunner(trace, this.#options, this.#mayRunCode),
      facts: symbolic.sizes.size === 0 ? facts : factsOf(signature, symbolic.types, parts),
      captured: [
        ...trace.segments.flatMap(({ parts }) => capturedGuards(parts)),
        ...trace.newGradients,
      ],
      signature: describeSignature(signature, symbolic.types.map(typeToString)),
      cost: { trace: performance.now() - started, firstRun: null },
      family: familyKey,
      calls: 0,
      used: this.#clock,
    };
    if (this.#entries.length >= limits.traces) this.#evict();
    this.#entries.push(entry);
    this.#families.set(familyKey, {
      ...made.family,
      entries: [...(this.#families.get(familyKey)?.entries ?? []), entry],
    });
    if (guard !== null) this.#failed.note(guard);
    const { id, cost } = entry;
    const symbols = [...symbolic.sizes.keys()];
    if (this.#misses.length >= limits.misses) this.#misses.shift();
    this.#misses.push({ trace: id, guard, others, source, symbols, obstacle, cost });
    return entry;
  }

  /** What keeps the trace that is most like a call from serving it. */
  #closest(facts: Facts): { readonly guard: Guard | null; readonly others: number } {
    let best: { guards: readonly Guard[]; shared: number; used: number } | null = null;
    for (const entry of this.#entries) {
      const { guards: differing, shared } = compareFacts(entry.facts, facts);
      const changed = changedCapture(entry.captured);
      const guards = changed === null ? differing : [...differing, changed];
      const { used } = entry;
      const isCloser =
        best === null ||
        guards.length < best.guards.length ||
        (guards.length === best.guards.length &&
          (shared > best.shared || (shared === best.shared && used > best.used)));
      if (isCloser) best = { guards, shared, used };
    }
    if (best === null) return { guard: null, others: 0 };
    const [guard = smallSize(facts), ...others] = best.guards;
    return { guard, others: others.length };
  }

  #checkBudget(guard: Guard | null): void {
    const { maxTraces = Infinity } = this.#options;
    if (this.#made < maxTraces) return;
    const what =
      guard === null
        ? 'a call unlike the ones before'
        : `${describeGuard(guard)}: ${guard.expected} -> ${guard.actual}`;
    throw new TraceError('a call needs one trace more than maxTraces allows', {
      op: 'hybridize',
      expected: `at most ${maxTraces} ${maxTraces === 1 ? 'trace' : 'traces'}`,
      actual: what,
      advice: `${guard === null ? '' : `${adviceFor(guard)}, or `}raise maxTraces\n${String(this.explain())}`,
    });
  }

  /** Drops the trace that was not used for the longest time, and all that leads to it. */
  #evict(): void {
    const oldest = this.#entries.reduce((a, b) => (b.used < a.used ? b : a));
    this.#entries.splice(this.#entries.indexOf(oldest), 1);
    const family = this.#families.get(oldest.family)!;
    family.entries.splice(family.entries.indexOf(oldest), 1);
    if (family.entries.length === 0) this.#families.delete(oldest.family);
    for (const [key, entry] of this.#bySignature) {
      if (entry === oldest) this.#bySignature.delete(key);
    }
    if (this.#last?.entry === oldest) this.#last = null;
    this.#evicted++;
  }
}

/** A call that fits a trace for all sizes in all but this: at 0 or 1 the code does something else. */
function smallSize(facts: Facts): Guard | null {
  const fact = facts.find(({ kind, text }) => kind === 'size' && Number(text) <= 1);
  if (fact === undefined) return null;
  return { kind: 'size', path: fact.path, expected: 'a size of 2 or more', actual: fact.text };
}

function reportOf({ id, trace, runner, signature, symbolic, calls, cost }: Entry): TraceReport {
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
  };
}
