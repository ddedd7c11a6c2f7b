import { BoundedCache } from '../../base/bounded-cache.js';
import { InternalError, KaonError, TraceError } from '../../base/errors.js';
import { compareTraces } from '../tracing/compare-traces.js';
import { namedAxes, namesIn } from '../options/dynamic.js';
import { capturedPolicy, shouldGeneralize } from '../sizes/policy.js';
import { type AxisNames, SizeHistory } from '../sizes/size-history.js';
import type { CallFacts } from './guards.js';
import type { HybridizeOptions } from '../options/hybridize-options.js';
import { nameOfArray } from '../options/names.js';
import type { NDArray } from '../core/ndarray.js';
import type { CallSignature } from '../graphs/signature.js';
import { exactTypes, flatSizes, symbolicTypes, type SymbolicTypes } from '../options/sizes.js';
import { CutError } from '../core/static-code.js';
import {
  type SideEffects,
  type SizesRead,
  type Trace,
  type TracedRun,
  traceFunction,
  type TraceRequest,
} from '../tracing/trace.js';

/** Limit of symbol assignments that are tried for one family of calls. */
const mostGuesses = 32;
/** Limit of combinations of sizes 0 and 1 that are remembered for one trace. */
const mostSmall = 64;

/** Shared knowledge of calls that differ in sizes only. */
export interface TraceFamily {
  readonly history: SizeHistory;
  /** Results of symbol assignments that were tried. */
  readonly guesses: ReadonlyMap<string, Guess>;
}

interface Guess {
  /** Axes that can be symbols in a trace; null when none can. */
  readonly names: AxisNames | null;
  /** Reason why some are not. */
  readonly obstacle: string | null;
}

/** A trace, and what its family learned from making it. */
export interface Specialized extends TracedRun {
  readonly symbolic: SymbolicTypes;
  readonly family: TraceFamily;
  /** Reason why changed sizes are numbers. */
  readonly obstacle: string | null;
}

/** Traces a function for the static sizes of a call, or for symbolic ones. */
export class Specializer {
  readonly #fn: (...args: never[]) => unknown;
  readonly #options: HybridizeOptions;
  /** The names of sizes that the user declared symbolic. */
  readonly #declared: ReadonlySet<string>;
  /** By trace: validity of the symbolic trace for combinations of sizes 0 and 1. */
  readonly #small: WeakMap<Trace, BoundedCache<string, boolean>> = new WeakMap();

  readonly #mayRunCode: boolean;

  /** @param mayRunCode Side-effect code may cut the function's graph. */
  constructor(
    fn: (...args: never[]) => unknown,
    options: HybridizeOptions,
    mayRunCode: boolean = false,
  ) {
    this.#fn = fn;
    this.#options = options;
    this.#declared = namesIn(options.dynamic);
    this.#mayRunCode = mayRunCode;
  }

  /** Reruns a trace for comparison; side-effect code is not run again. */
  rehearse(
    trace: Trace,
    signature: CallSignature,
    types: SymbolicTypes,
    how: Pick<TraceRequest, 'watch' | 'withSources' | 'pinned'> = {},
  ): TracedRun {
    const known = trace.segments.flatMap(({ code }) => (code === null ? [] : [code.known]));
    return this.#run(signature, types, this.#mayRunCode ? known : 'refuse', how);
  }

  /** One run of the function on placeholders of these types. */
  #run(
    signature: CallSignature,
    { types, sizes }: SymbolicTypes,
    sideEffects: SideEffects,
    how: Pick<TraceRequest, 'watch' | 'withSources' | 'pinned' | 'onFailure'> = {},
  ): TracedRun {
    const nameOf = (array: NDArray): string | undefined =>
      this.#options.nameOf?.(array) ?? nameOfArray(array);
    return traceFunction(this.#fn, {
      signature,
      types,
      sizes,
      declared: this.#declared,
      nameOf,
      sideEffects,
      ...how,
    });
  }

  /** @param facts Facts of the call, for the names of its axes. */
  trace(signature: CallSignature, family: TraceFamily | undefined, facts: CallFacts): Specialized {
    const { leaves } = signature;
    const { dynamic = null } = this.#options;
    const numbers: AxisNames = flatSizes(leaves).map(() => null);
    const asked = dynamic === null ? numbers : namedAxes(signature, dynamic);
    const named = symbolicTypes(leaves, asked);
    const history = (family?.history ?? SizeHistory.empty).with(flatSizes(leaves));
    const search = new Search(history, new Map(family?.guesses), asked, facts);
    const learned: TraceFamily = { history, guesses: search.guesses };
    const seen = { specialized: history.calls - 1, needsNumbers: false };
    const general = shouldGeneralize(capturedPolicy, seen)
      ? search.find((names) => this.#attempt(signature, symbolicTypes(leaves, names)))
      : null;
    const found = general ?? (named.sizes.size > 0 ? this.#named(signature, named, asked) : null);
    if (found !== null) {
      refuseRead(found.trace.sizesRead, asked);
      const { sizes } = found.symbolic;
      if (this.holdsAt(found.trace, signature, sizes)) {
        return { ...found, family: learned, obstacle: search.obstacle };
      }
    }
    const symbolic = exactTypes(leaves);
    const run = this.#run(signature, symbolic, this.#mayRunCode ? 'run' : 'refuse');
    const obstacle =
      found === null ? search.obstacle : 'at such a size the code calls other operators';
    return { ...run, symbolic, family: learned, obstacle };
  }

  /**
   * True when a symbolic trace is valid for these sizes. Operators may refuse sizes of 0 and 1 or treat them
   * differently, and code that received a size may branch on it: so the first time the code is traced for
   * these sizes and compared.
   *
   * @throws the error of the code for such sizes.
   */
  holdsAt(trace: Trace, signature: CallSignature, sizes: ReadonlyMap<string, number>): boolean {
    const doubtful = [...sizes].filter(
      ([name, size]) => size <= 1 || trace.sizesHandedOut.has(name),
    );
    if (doubtful.length === 0) return true;
    let verdicts = this.#small.get(trace);
    if (verdicts === undefined) {
      verdicts = new BoundedCache<string, boolean>({ capacity: mostSmall });
      this.#small.set(trace, verdicts);
    }
    const key = doubtful.join(';');
    let verdict = verdicts.get(key);
    if (verdict === undefined) {
      verdict = this.#agreesAt(trace, signature, sizes);
      verdicts.set(key, verdict);
    }
    return verdict;
  }

  /**
   * True when the code calls the same operators for these very sizes. Converted code calculates with sizes as with
   * symbols; where another number of the code happens to equal one of them, it has to be taken for what it is.
   */
  #agreesAt(trace: Trace, signature: CallSignature, sizes: ReadonlyMap<string, number>): boolean {
    const pinned = [...sizes].flatMap(([name, size]) => trace.sizesHandedOut.has(name) ? [size] : []); // prettier-ignore
    return (
      (pinned.length > 0 && this.#agreesWith(trace, signature, sizes, pinned)) ||
      this.#agreesWith(trace, signature, sizes, [])
    );
  }

  #agreesWith(
    trace: Trace,
    signature: CallSignature,
    sizes: ReadonlyMap<string, number>,
    pinned: readonly number[],
  ): boolean {
    const how = { withSources: false, pinned };
    try {
      const exact = this.rehearse(trace, signature, exactTypes(signature.leaves), how).trace;
      return compareTraces(trace, exact, sizes) === null;
    } catch (error) {
      // A number that equals a size may be needed as a number.
      if (pinned.length === 0 || error instanceof InternalError) throw error;
      return false;
    }
  }

  /** A trace that may be discarded: it must not reach side-effect code, which must not run for it. */
  #attempt(signature: CallSignature, symbolic: SymbolicTypes): Attempt {
    return { ...this.#run(signature, symbolic, 'refuse'), symbolic };
  }

  /** A trace with the requested symbols; null where side-effect code has to run. */
  #named(signature: CallSignature, symbolic: SymbolicTypes, asked: AxisNames): Attempt | null {
    let sizesRead: SizesRead = new Map();
    let hasSizes = false;
    try {
      const note = (read: SizesRead, handedOut: ReadonlySet<string>): void => {
        sizesRead = read;
        hasSizes = read.size + handedOut.size > 0;
      };
      return { ...this.#run(signature, symbolic, 'refuse', { onFailure: note }), symbolic };
    } catch (error) {
      if (this.#mayRunCode && error instanceof CutError) return null;
      if (!(error instanceof KaonError) || error instanceof InternalError) throw error;
      // An error about a number in place of a requested symbol would be confusing: that a size was read is
      // reported instead, unless the code refuses these very sizes.
      if (hasSizes) this.#run(signature, exactTypes(signature.leaves), 'refuse');
      refuseRead(sizesRead, asked, error);
      throw error;
    }
  }
}

interface Attempt extends TracedRun {
  readonly symbolic: SymbolicTypes;
}

/** Search for the sizes that can be symbols. */
class Search {
  readonly guesses: Map<string, Guess>;
  obstacle: string | null = null;
  readonly #history: SizeHistory;
  readonly #asked: AxisNames;
  readonly #facts: CallFacts;

  constructor(
    history: SizeHistory,
    guesses: Map<string, Guess>,
    asked: AxisNames,
    facts: CallFacts,
  ) {
    this.#history = history;
    this.guesses = guesses;
    this.#asked = asked;
    this.#facts = facts;
  }

  /** The first trace with symbols that works; null when all sizes must be numbers. */
  find(attempt: (names: AxisNames) => Attempt): Attempt | null {
    let changed: AxisNames | null = null;
    for (const proposal of this.#history.proposals()) {
      changed ??= proposal;
      const key = proposal.join();
      const known = this.guesses.get(key);
      if (known !== undefined) this.obstacle ??= known.obstacle;
      else if (this.guesses.size >= mostGuesses) continue;
      const names = known === undefined ? proposal : known.names;
      const found = names === null ? null : this.#refine(names, attempt);
      if (known === undefined) {
        this.guesses.set(key, { names: found?.names ?? null, obstacle: this.obstacle });
      }
      if (found === null) continue;
      if (changed.every((name, axis) => name === null || found.names[axis] !== null)) {
        this.obstacle = null;
      }
      return found.attempt;
    }
    return null;
  }

  /** Gives up names whose sizes are read as numbers, until the rest works. */
  #refine(
    proposal: AxisNames,
    attempt: (names: AxisNames) => Attempt,
  ): { readonly names: AxisNames; readonly attempt: Attempt } | null {
    let names = proposal;
    while (names.some((name) => name !== null)) {
      const merged = mergeNames(this.#asked, names);
      let found: Attempt;
      try {
        found = attempt(merged);
      } catch (error) {
        // Code that works for every single size need not work for all at once; internal errors propagate.
        if (!(error instanceof KaonError) || error instanceof InternalError) throw error;
        const at = error.source === undefined ? '' : ` at ${error.source}`;
        this.obstacle ??= `${error.op === undefined ? '' : `${error.op}: `}${error.problem}${at}`;
        return null;
      }
      const { sizesRead } = found.trace;
      if (sizesRead.size === 0) return { names, attempt: found };
      refuseRead(sizesRead, this.#asked);
      const axes = merged.flatMap((name, axis) =>
        name !== null && sizesRead.has(name) ? [axis] : [],
      );
      const paths = this.#facts.filter(({ kind }) => kind === 'size').map(({ path }) => path);
      this.obstacle ??= `the code reads the size of ${axes.map((axis) => paths[axis]).join(' or ')} as a number`;
      names = names.map((name, axis) => (axes.includes(axis) ? null : name));
    }
    return null;
  }
}

/** Refuses that a dimension declared symbolic was read as a number. */
function refuseRead(sizesRead: SizesRead, asked: AxisNames, cause?: KaonError): void {
  const read = [...sizesRead].filter(([name]) => asked.includes(name));
  if (read.length === 0) return;
  const [[, source]] = read;
  throw new TraceError('a dimension that was asked to stay symbolic is needed as a number', {
    op: 'hybridize',
    actual: read.map(([name]) => name).join(', '),
    advice: 'use -1, shapeOf or operators in place of x.shape, or leave the name out of dynamic',
    source,
    cause,
  });
}

/** Requested names, and guessed ones where there are none; equal sizes take the requested name. */
function mergeNames(asked: AxisNames, guessed: AxisNames): AxisNames {
  const taken = new Set(asked);
  const chosen = new Map<string, string>();
  guessed.forEach((name, axis) => {
    const wanted = asked[axis];
    if (name !== null && wanted !== null && !chosen.has(name)) chosen.set(name, wanted);
  });
  return guessed.map((name, axis) => {
    if (asked[axis] !== null || name === null) return asked[axis];
    let free = chosen.get(name) ?? name;
    while (!chosen.has(name) && taken.has(free)) free += '_';
    return free;
  });
}
