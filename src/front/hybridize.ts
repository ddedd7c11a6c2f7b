import { KaonError, TraceError } from '../base/errors.js';
import { unflatten } from '../base/tree.js';
import { namedInputs, typeToString } from '../ir/program.js';
import type { SavePolicy } from '../passes/rematerialize.js';
import { type Explanation, explanation } from './explain.js';
import { GraphRunner } from './graph.js';
import { install } from './install.js';
import { mode } from './mode.js';
import { type NDArray } from './ndarray.js';
import { describeSignature, type Signature, signatureOf } from './signature.js';
import {
  type DynamicAxes,
  exactTypes,
  fitsTypes,
  generalTypes,
  namedTypes,
  type SymbolicTypes,
} from './sizes.js';
import { StaticGraph } from './staticgraph.js';
import { distinctPositions, type Trace, traceFunction } from './trace.js';
import { verifyTrace } from './verifytrace.js';

install();

export interface HybridizeOptions {
  /** False leaves the function as it is. Default true. */
  readonly active?: boolean;
  /**
   * Whether later calls trace again and compare, so that nothing that changes is frozen in silently:
   * the second call of each signature (the default), every one, or none.
   */
  readonly verify?: 'off' | 'second' | 'always';
  /** Axes to keep symbolic from the first trace on: names by array argument and axis. */
  readonly dynamic?: DynamicAxes;
  /** What is kept for a backward pass, and what is computed again there. Default `all`. */
  readonly save?: SavePolicy;
  /** The code that graphs become. `auto`, the default, takes the fastest there is. */
  readonly tier?: 'auto' | 'wasm' | 'native';
  /** What `explain` calls the function. */
  readonly name?: string;
  /** Names for arrays that the function uses from outside, in graphs and messages. */
  readonly nameOf?: (array: NDArray) => string | undefined;
  /** Something else the captured code depends on, as text: another text is another trace. */
  readonly keyOf?: () => string;
}

/** A function that runs as captured, compiled graphs. */
export type Hybridized<F extends (...args: never[]) => unknown> = F & {
  /** What was captured so far, and how often it was used. */
  explain(): Explanation;
  /** The graph that a call on these arguments runs. */
  graphFor(...args: Parameters<F>): StaticGraph;
};

/** How many traces a function keeps before the oldest goes. */
const capacity = 64;
/** After so many traces for different sizes, the next one is for all sizes. */
const specializations = 2;

/**
 * A function that does what `fn` does, from graphs captured by running `fn` once for each signature: the
 * nesting of its arguments, their dtypes and shapes, other arguments by value (functions by identity),
 * and whether it is recorded and in training. When sizes keep changing they become symbols.
 *
 * Arrays that `fn` uses from outside are inputs of the graph: it sees their values at each call. State
 * that `fn` assigns to is written after each call. Reading a value while `fn` is captured is a
 * `TraceError`, and so is code that captures another graph the second time. Inside other captured code the function is simply part of it.
 */
export function hybridize<F extends (...args: never[]) => unknown>(
  fn: F,
  options: HybridizeOptions = {},
): Hybridized<F> {
  const traces = new TraceCache(fn, options);
  const run = (...args: Parameters<F>): unknown => {
    if (options.active === false || mode.capture !== null) return fn(...args);
    const signature = signatureOf(args);
    const { trace, runner } = traces.findForCall(signature);
    const results = runner.run(given(signature));
    return unflatten(trace.outputs, results);
  };
  return Object.assign(run as unknown as F, {
    explain: () => traces.explain(),
    graphFor: (...args: Parameters<F>) => {
      const signature = signatureOf(args);
      return new StaticGraph(traces.find(signature).trace.parts);
    },
  });
}

/** The arrays that a trace's graph is called with. */
function given({ leaves }: Signature): readonly NDArray[] {
  return distinctPositions(leaves).map((i) => leaves[i]);
}

interface Entry {
  readonly trace: Trace;
  readonly runner: GraphRunner;
  readonly signature: string;
  readonly symbolic: SymbolicTypes;
  readonly milliseconds: number;
  calls: number;
}

/** The traces of calls that differ in sizes only. */
interface Family {
  readonly entries: Entry[];
  /** The shapes of the calls that were traced. */
  readonly calls: (readonly (readonly number[])[])[];
  /** Symbols that the function turned out to need as numbers. */
  readonly fixed: Set<string>;
  /** False once tracing with symbols has failed. */
  canGeneralize: boolean;
}

class TraceCache {
  readonly #fn: (...args: never[]) => unknown;
  readonly #options: HybridizeOptions;
  readonly #exact: Map<string, Entry> = new Map();
  readonly #families: Map<string, Family> = new Map();
  #hits = 0;
  #misses = 0;

  constructor(fn: (...args: never[]) => unknown, options: HybridizeOptions) {
    this.#fn = fn;
    this.#options = options;
  }

  find(signature: Signature): Entry {
    const extra = this.#options.keyOf?.() ?? '';
    const key = `${signature.key}|${extra}`;
    let entry = this.#exact.get(key);
    if (entry === undefined) {
      const family = this.#family(`${signature.family}|${extra}`);
      entry = family.entries.find(({ symbolic }) => fitsTypes(signature.leaves, symbolic.types));
      if (entry === undefined) {
        this.#misses++;
        entry = this.#trace(signature, family);
        if (family.entries.length >= capacity) family.entries.shift();
        family.entries.push(entry);
      } else this.#hits++;
      limit(this.#exact, capacity);
      this.#exact.set(key, entry);
    } else this.#hits++;
    return entry;
  }

  /** The trace for a call that is about to be made, checked as often as was asked for. */
  findForCall(signature: Signature): Entry {
    const entry = this.find(signature);
    const { verify = 'second' } = this.#options;
    const isChecked =
      verify === 'always' ? entry.calls > 0 : verify === 'second' && entry.calls === 1;
    if (isChecked) verifyTrace(entry.trace, this.#run(signature, entry.symbolic));
    entry.calls++;
    return entry;
  }

  explain(): Explanation {
    const entries = [...this.#families.values()].flatMap(({ entries }) => entries);
    return explanation({
      name: this.#options.name ?? (this.#fn.name || 'function'),
      hits: this.#hits,
      misses: this.#misses,
      traces: entries.map(({ trace: { parts }, signature, calls, milliseconds }) => {
        const names = namedInputs(parts.program).map(({ name }) => name);
        const first = names.length - parts.reads.length;
        return {
          signature,
          calls,
          milliseconds,
          operators: [...parts.program.graph.nodes()].filter(
            (id) => parts.program.node(id).kind === 'call',
          ).length,
          captured: parts.reads.flatMap(({ kind }, i) =>
            kind === 'array' ? [names[first + i]] : [],
          ),
        };
      }),
    });
  }

  #family(key: string): Family {
    let family = this.#families.get(key);
    if (family === undefined) {
      family = { entries: [], calls: [], fixed: new Set(), canGeneralize: true };
      limit(this.#families, capacity);
      this.#families.set(key, family);
    }
    return family;
  }

  #trace(signature: Signature, family: Family): Entry {
    const { leaves } = signature;
    family.calls.push(leaves.map(({ shape }) => shape));
    if (family.calls.length > capacity) family.calls.shift();
    const { dynamic } = this.#options;
    if (dynamic !== undefined) return this.#withSymbols(signature, namedTypes(leaves, dynamic));
    if (family.calls.length > specializations && family.canGeneralize) {
      const entry = this.#generalized(signature, family);
      if (entry !== null) return entry;
    }
    return this.#withSymbols(signature, exactTypes(leaves));
  }

  /** A trace for all sizes, but those that the function reads as numbers; null where there is none. */
  #generalized(signature: Signature, family: Family): Entry | null {
    for (;;) {
      const symbolic = generalTypes(family.calls, signature.leaves, family.fixed);
      if (symbolic.sizes.size === 0) return null;
      try {
        const entry = this.#withSymbols(signature, symbolic);
        const { sizesRead } = entry.trace;
        if (sizesRead.size === 0) return entry;
        for (const name of sizesRead) family.fixed.add(name);
      } catch (error) {
        // Code that works for every single size need not work for all at once.
        if (!(error instanceof KaonError)) throw error;
        family.canGeneralize = false;
        return null;
      }
    }
  }

  #run(signature: Signature, { types, sizes }: SymbolicTypes): Trace {
    const { nameOf = (): undefined => undefined } = this.#options;
    return traceFunction(this.#fn, { signature, types, sizes, nameOf });
  }

  #withSymbols(signature: Signature, symbolic: SymbolicTypes): Entry {
    const started = performance.now();
    const trace = this.#run(signature, symbolic);
    const { dynamic } = this.#options;
    if (dynamic !== undefined && trace.sizesRead.size > 0) {
      throw new TraceError('a dimension that was asked to stay symbolic is needed as a number', {
        op: 'hybridize',
        actual: [...trace.sizesRead].join(', '),
        advice:
          'use -1, shapeOf or operators in place of x.shape, or leave the name out of dynamic',
      });
    }
    return {
      trace,
      symbolic,
      runner: new GraphRunner(trace.parts, this.#options.save),
      signature: describeSignature(signature, symbolic.types.map(typeToString)),
      milliseconds: performance.now() - started,
      calls: 0,
    };
  }
}

function limit<K>(map: Map<K, unknown>, size: number): void {
  if (map.size >= size) map.delete(map.keys().next().value!);
}
