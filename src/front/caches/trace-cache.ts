import { BoundedCache } from '../../base/bounded-cache.js';
import { currentSource, InternalError, KaonError, TraceError } from '../../base/errors.js';
import { checkArgument, instanceOf } from '../../base/attributes/options.js';
import { typeToString } from '../../ir/program.js';
import type { BareCall } from './bare-call.js';
import { compareTraces } from '../tracing/compare-traces.js';
import { describeGuard, type Explanation, explanation, GuardCounts, type Miss } from './explain.js';
import { type CachedTrace, type Cost, isCurrent, reportOf } from './cached-trace.js';
import { FieldGuards } from '../fields/guards.js';
import { FieldWatch } from '../fields/watch.js';
import {
  adviceFor,
  capturedGuards,
  changedCapture,
  compareFacts,
  type CallFacts,
  factsOf,
  type Guard,
} from './guards.js';
import type { HybridizeOptions } from '../options/hybridize-options.js';
import { constructText } from '../options/originals.js';
import type { NDArray } from '../core/ndarray.js';
import { describeSignature, type CallSignature } from '../graphs/signature.js';
import { bindSizes, exactTypes, type SymbolicTypes } from '../options/sizes.js';
import { capturedPolicy } from '../sizes/policy.js';
import { Specializer, type TraceFamily } from './specialize.js';
import type { FirstRun, TracedRun } from '../tracing/trace.js';
import { TraceRunner } from '../tracing/trace-runner.js';
import { VerifySchedule } from '../options/verify-schedule.js';
import { isSameTrace, verifyTrace } from '../tracing/verify-trace.js';

const textByName = instanceOf<ReadonlyMap<string, string>>('a map of texts by name', Map);

/** Limits of what one function keeps besides traces. */
const limits = {
  /** Signatures whose trace is known without looking for it. */
  signatures: 256,
  /** Misses that `explain` lists, and guards that it counts. */
  misses: 128,
} as const;

interface MissRecord extends Omit<Miss, 'milliseconds' | 'firstRunMilliseconds'> {
  readonly cost: Cost;
}

/** Description of a call that no trace serves. */
interface FactsNow {
  readonly facts: CallFacts;
  readonly parts: ReadonlyMap<string, string>;
  /** Its differences from the trace that is most like it; null without one. */
  readonly guards: readonly Guard[] | null;
}

/** A run of the code that was made for comparison, and is a trace of its own. */
interface ReadyRun {
  readonly run: TracedRun;
  readonly watch: FieldWatch;
  readonly symbolic: SymbolicTypes;
}

/** The traces of one function by what they were made for. Keys are compared exactly, never by a hash alone. */
export class TraceCache {
  readonly #op: string;
  readonly #options: HybridizeOptions;
  /** Name of the captured function. */
  readonly name: string;
  readonly #specializer: Specializer;
  readonly #entries: BoundedCache<number, CachedTrace> = new BoundedCache({
    capacity: capturedPolicy.variants,
    evicted: (_, entry) => this.#forget(entry),
  });
  /** The most recently used entry. */
  #latest: CachedTrace | null = null;
  /** Knowledge of calls that differ in sizes only, by the rest of their signatures. */
  readonly #families: Map<string, TraceFamily> = new Map();
  /** A shortcut: what calls of exactly these sizes were served by. */
  readonly #bySignature: BoundedCache<string, CachedTrace> = new BoundedCache({
    capacity: limits.signatures,
  });
  readonly #misses: MissRecord[] = [];
  readonly #failed: GuardCounts = new GuardCounts(limits.misses);
  #hits = 0;
  #made = 0;
  #evicted = 0;

  readonly #mayRunCode: boolean;
  readonly #fn: (...args: never[]) => unknown;
  #last: { readonly call: BareCall; readonly entry: CachedTrace } | null = null;
  /** True when the code ran in this call, and agreed with the trace that serves it. */
  #hasCompared = false;
  /** Results of the call for which the latest trace was made, if they were computed with it. */
  #firstRun: FirstRun | null = null;

  /** @param mayRunCode Side-effect code may cut the function's graphs. */
  constructor(
    op: string,
    fn: (...args: never[]) => unknown,
    options: HybridizeOptions,
    mayRunCode: boolean = false,
  ) {
    this.#op = op;
    this.#mayRunCode = mayRunCode;
    this.#options = options;
    this.name = options.name ?? (fn.name || 'function');
    this.#fn = fn;
    this.#specializer = new Specializer(fn, options, mayRunCode);
  }

  /** The trace for a call, checked as often as was asked for, and run on the arrays. */
  call(
    signature: CallSignature,
    given: readonly NDArray[],
  ): { readonly entry: CachedTrace; readonly results: readonly NDArray[] } {
    this.#firstRun = null;
    const made = this.#made;
    const entry = this.find(signature);
    if (this.#made === made) this.#hits++;
    const call = entry.calls + 1;
    if (this.#hasCompared) entry.verification.passed(call);
    else if (entry.verification.isDue(call)) this.#verify(entry, signature, call);
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
    if (last === null || !last.call.fits(args)) return null;
    const { entry } = last;
    if (entry.verification.isDue(entry.calls + 1) || !isCurrent(entry)) return null;
    entry.calls++;
    this.#use(entry);
    this.#hits++;
    return entry.runner;
  }

  /** Remembers what `again` compares with. */
  remember(call: BareCall | null, entry: CachedTrace): void {
    this.#last = call && { call, entry };
  }

  /** The traces there are, oldest first. */
  get entries(): readonly CachedTrace[] {
    return [...this.#entries.values()].sort((a, b) => a.id - b.id);
  }

  /** Records a use. Nearly all uses are of the entry that was used last. */
  #use(entry: CachedTrace): void {
    if (entry === this.#latest) return;
    this.#entries.get(entry.id);
    this.#latest = entry;
  }

  #takeFirstRun(): FirstRun | null {
    const first = this.#firstRun;
    this.#firstRun = null;
    return first;
  }

  /** The trace for a call; made when there is none, which runs side-effect code. */
  find(signature: CallSignature): CachedTrace {
    this.#hasCompared = false;
    let entry = this.#bySignature.get(signature.key);
    if (entry === undefined || !isCurrent(entry)) {
      const alike = this.entries.filter(({ family }) => family === signature.family);
      const fitting = alike.filter((each) => this.#serves(each, signature));
      entry = fitting.find(({ fields }) => fields.holds());
      entry ??= this.#retrace(signature, fitting);
      this.#bySignature.set(signature.key, entry);
    }
    this.#use(entry);
    return entry;
  }

  /** Compares a trace with what the code does now. */
  #verify(
    { trace, symbolic, fields, verification }: CachedTrace,
    signature: CallSignature,
    call: number,
  ): void {
    const { types } = symbolic;
    const sizes = bindSizes(signature.leaves, types)!;
    const rehearse = (withSources: boolean): TracedRun =>
      this.#specializer.rehearse(trace, signature, { types, sizes }, { withSources });
    const now = rehearse(false);
    if (!isSameTrace(trace, now.trace)) {
      const span = { last: verification.last, now: call };
      verifyTrace(trace, rehearse(true).trace, span);
      // Code that changes back and forth: the lines of this run are not known.
      verifyTrace(trace, now.trace, span);
    }
    fields.refresh(now.fields);
    verification.passed(call);
  }

  /**
   * The trace for a call that nothing but fields of objects keeps some from serving. The code runs once: if
   * it makes the graph of one of these again, that one serves the call, and the fields that the code did not
   * read are guarded no more. Otherwise the run is the new trace.
   */
  #retrace(signature: CallSignature, fitting: readonly CachedTrace[]): CachedTrace {
    const now = this.#factsNow(signature);
    if (fitting.length === 0) return this.#make(signature, now);
    const isFitting = new Set(fitting);
    const byUse = [...this.#entries.values()].filter((entry) => isFitting.has(entry));
    const [latest, ...others] = byUse.reverse();
    const changes = fitting.flatMap(({ fields }) => fields.changes() ?? []);
    for (const { fields } of fitting) fields.releaseReplaced();
    const watch = new FieldWatch(changes);
    const { types } = latest.symbolic;
    const symbolic = { types, sizes: bindSizes(signature.leaves, types)! };
    let run: TracedRun;
    try {
      run = this.#specializer.rehearse(latest.trace, signature, symbolic, { watch });
    } catch (error) {
      // Traced anew, the code may do with numbers in place of symbols, or with side-effect code that runs.
      if (!(error instanceof KaonError) || error instanceof InternalError) throw error;
      return this.#make(signature, now);
    }
    latest.fields.refuseChangesByCode(watch);
    for (const entry of [latest, ...others]) {
      if (compareTraces(entry.trace, run.trace) !== null) continue;
      entry.fields.accept(run.fields, watch);
      this.#hasCompared = true;
      return entry;
    }
    latest.fields.refuseOwnChanges(run.fields, watch, this.#op);
    // Side-effect code has to run for a first trace, and sizes that are read have to be numbers.
    if (run.trace.sizesRead.size > 0 || run.trace.segments.length > 1) {
      return this.#make(signature, now);
    }
    const unread = watch.unread();
    const isRead = ({ kind, path }: Guard): boolean =>
      kind !== 'field' || !changes.some((each) => each.path === path && unread.covers(each));
    const guards = now.guards?.filter(isRead) ?? null;
    return this.#make(signature, { ...now, guards }, { run, watch, symbolic });
  }

  explain(): Explanation {
    return explanation({
      name: this.name,
      traces: this.entries.map(reportOf),
      evicted: this.#evicted,
      hits: this.#hits,
      misses: this.#misses.map(({ cost, ...miss }) => ({
        ...miss,
        milliseconds: cost.trace,
        firstRunMilliseconds: cost.firstRun,
      })),
      forgotten: this.#made - this.#misses.length,
      advice: this.#failed.advice(),
      isConverted: constructText(this.#fn) !== null,
    });
  }

  /** True when a trace is valid for a call, its fields aside. */
  #serves({ captured, trace, symbolic }: CachedTrace, signature: CallSignature): boolean {
    if (changedCapture(captured) !== null) return false;
    const sizes = bindSizes(signature.leaves, symbolic.types);
    return sizes !== null && this.#specializer.holdsAt(trace, signature, sizes);
  }

  /** A trace for a call that none serves. Whatever goes wrong, nothing is left of the attempt. */
  #make(signature: CallSignature, now: FactsNow, ready: ReadyRun | null = null): CachedTrace {
    const source = currentSource();
    const { facts, parts, guards } = now;
    const guard = guards?.[0] ?? (guards === null ? null : smallSize(facts));
    const others = Math.max(0, (guards?.length ?? 0) - 1);
    this.#checkBudget(guard);
    const started = performance.now();
    const familyKey = signature.family;
    const family = this.#families.get(familyKey);
    const made =
      ready === null
        ? this.#specializer.trace(signature, family, facts)
        : { ...ready.run, symbolic: ready.symbolic, family: family!, obstacle: null };
    const { trace, symbolic, obstacle } = made;
    this.#firstRun = made.firstRun;
    const fields = new FieldGuards(made.fields, ready?.watch);
    const entry: CachedTrace = {
      id: this.#made++,
      trace,
      symbolic,
      runner: new TraceRunner(trace, fields, this.#options, this.#mayRunCode),
      facts: symbolic.sizes.size === 0 ? facts : factsOf(signature, symbolic.types, parts),
      captured: [
        ...capturedGuards(
          trace.segments.map(({ parts }) => parts),
          made.gradients,
        ),
        ...trace.newGradients,
      ],
      fields,
      verification: new VerifySchedule(this.#options.verify ?? 'backoff'),
      signature: describeSignature(signature, symbolic.types.map(typeToString)),
      cost: { trace: performance.now() - started, firstRun: null },
      family: familyKey,
      calls: 0,
    };
    this.#entries.set(entry.id, entry);
    this.#families.set(familyKey, made.family);
    if (guard !== null) this.#failed.note(guard);
    const { id, cost } = entry;
    const symbols = [...symbolic.sizes.keys()];
    if (this.#misses.length >= limits.misses) this.#misses.shift();
    this.#misses.push({ trace: id, guard, others, source, symbols, obstacle, cost });
    return entry;
  }

  /** To be asked before the code runs, which may change fields. */
  #factsNow(signature: CallSignature): FactsNow {
    const parts = this.#options.partsOf?.() ?? new Map<string, string>();
    checkArgument('hybridize', 'what partsOf returns', parts, textByName);
    const facts = factsOf(signature, exactTypes(signature.leaves).types, parts);
    return { facts, parts, guards: this.#closest(facts) };
  }

  /** Guards that keep the trace most like a call from serving it. */
  #closest(facts: CallFacts): readonly Guard[] | null {
    let best: { guards: readonly Guard[]; shared: number } | null = null;
    // From the least recently used: the latest of equally close ones is taken.
    for (const entry of this.#entries.values()) {
      const { guards: differing, shared } = compareFacts(entry.facts, facts);
      const changed = changedCapture(entry.captured);
      const guards = [
        ...differing,
        ...(changed === null ? [] : [changed]),
        ...fieldGuards(entry.fields, differing),
      ];
      const isCloser =
        best === null ||
        guards.length < best.guards.length ||
        (guards.length === best.guards.length && shared >= best.shared);
      if (isCloser) best = { guards, shared };
    }
    return best && best.guards;
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

  /** Drops all that leads to an evicted trace. */
  #forget(evicted: CachedTrace): void {
    const { family } = evicted;
    const isAlone = !this.entries.some((entry) => entry.family === family);
    if (isAlone) this.#families.delete(family);
    this.#bySignature.deleteWhere((entry) => entry === evicted);
    if (this.#last?.entry === evicted) this.#last = null;
    this.#evicted++;
  }
}

/** The fields that differ; for blocks and parameters that were replaced there are guards already. */
function fieldGuards(fields: FieldGuards, known: readonly Guard[]): readonly Guard[] {
  const blocks = known.flatMap(({ kind, path }) => (kind === 'blocks' ? [path] : []));
  return (fields.changes() ?? []).flatMap(({ path, expected, actual }) => {
    const inside = path.replace(/^this\./, '');
    if (blocks.some((block) => inside === block || block.startsWith(`${inside}.`))) return [];
    return [{ kind: 'field', path, expected, actual } as const];
  });
}

/** A call that fits a trace for all sizes in all but this: at 0 or 1 the code does something else. */
function smallSize(facts: CallFacts): Guard | null {
  const fact = facts.find(({ kind, text }) => kind === 'size' && Number(text) <= 1);
  if (fact === undefined) return null;
  return { kind: 'size', path: fact.path, expected: 'a size of 2 or more', actual: fact.text };
}
