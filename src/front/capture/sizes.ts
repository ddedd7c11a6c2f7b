import {
  type Bounds,
  type Dim,
  evaluateDim,
  isStatic,
  symbol,
  symbolsOf,
} from '../../base/dim/index.js';
import { currentSource } from '../../base/errors.js';
import { type Describe, SharedSizes } from '../../ir/shared-sizes.js';
import { type Enclosed, innermost } from './chain.js';

const noNames: ReadonlySet<string> = new Set();

/** Symbolic sizes of a capture: their values in the current call, and the code's dependence on them. */
export class CapturedSizes<A extends object> implements Enclosed<CapturedSizes<A>> {
  readonly parent: CapturedSizes<A> | null;
  /** Values by name: of a trace's inputs, and of sizes found when lazy arrays were computed. */
  readonly known: Map<string, number>;
  /**
   * Names of sizes that code has read as numbers, and so depends on, with the lines of the first reads; shared
   * with the enclosing capture.
   */
  readonly readAsNumbers: Map<string, string | undefined>;
  /**
   * Names of sizes that code received as symbols: it may compare them with numbers, and branch on the result.
   * Shared with the enclosing capture.
   */
  readonly handedOut: Set<string>;
  /**
   * Numbers that stand for sizes which a trace has as symbols, in a run that is compared with that trace: converted
   * code calculates with them as with symbols. Shared with the enclosing capture.
   */
  readonly pinned: Set<number>;
  /** Names of sizes that must stay symbols. */
  declared: ReadonlySet<string>;
  /** Data-dependent sizes by name, with an array whose shape reveals each. */
  readonly decided: Map<string, A> = new Map();
  /** Names of the symbolic sizes that the inputs of replays reveal. */
  readonly given: Set<string> = new Set();
  /** Numbering of data-dependent sizes: equal computations decide one size. */
  readonly numbering: SharedSizes;
  /** Sizes received by the code, by key; shared with the enclosing capture. */
  readonly #canonical: Map<string, Dim>;

  constructor(
    known: ReadonlyMap<string, number>,
    parent: CapturedSizes<A> | null,
    describe: Describe,
  ) {
    this.known = new Map(known);
    this.parent = parent;
    this.readAsNumbers = parent?.readAsNumbers ?? new Map();
    this.handedOut = parent?.handedOut ?? new Set();
    this.pinned = parent?.pinned ?? new Set();
    this.declared = parent?.declared ?? noNames;
    this.numbering = new SharedSizes(describe);
    this.#canonical = parent === null ? new Map<string, Dim>() : parent.#canonical;
  }

  /** True for a size that must stay a symbol. */
  isDeclared(dim: Dim): boolean {
    return !isStatic(dim) && [...symbolsOf(dim)].every((name) => this.declared.has(name));
  }

  /** Value of a dimension in the current call, without specializing the trace; undefined if unknown. */
  evaluate(dim: Dim): number | undefined {
    for (const name of symbolsOf(dim)) if (!this.known.has(name)) return undefined;
    return evaluateDim(dim, this.known);
  }

  /**
   * Value of a dimension in the current call, which specializes the trace to it. Undefined when the data
   * decides it.
   */
  read(dim: Dim): number | undefined {
    const size = this.evaluate(dim);
    if (size === undefined) return undefined;
    for (const name of symbolsOf(dim)) {
      if (!this.readAsNumbers.has(name)) this.readAsNumbers.set(name, currentSource());
    }
    return size;
  }

  /** Runs `fn` without specializing the trace to the sizes that it reads. */
  withoutNoting<R>(fn: () => R): R {
    const { declared } = this;
    const before = new Set(this.readAsNumbers.keys());
    this.declared = noNames;
    try {
      return fn();
    } finally {
      this.declared = declared;
      for (const name of this.readAsNumbers.keys()) {
        if (!before.has(name)) this.readAsNumbers.delete(name);
      }
    }
  }

  /** Hands a symbolic size to the code, and records that. */
  handOut(size: Dim): Dim {
    if (isStatic(size)) return size;
    symbolsOf(size, this.handedOut);
    return this.canonical(size);
  }

  /** The one object for equal sizes. */
  canonical(size: Dim): Dim {
    const known = this.#canonical.get(String(size));
    if (known === undefined) this.#canonical.set(String(size), size);
    return known ?? size;
  }

  /**
   * A symbol that no other capture uses either, since arrays of several captures may meet in one graph, and no axis of
   * an input, which users name.
   */
  fresh(hint: string, bounds?: Partial<Bounds>): Dim {
    const stem = hint.replace(/_\d+$/, '');
    while (this.tells(`${stem}_${nextFresh}`)) nextFresh++;
    return symbol(`${stem}_${nextFresh++}`, bounds);
  }

  /** True for the name of a size of the data or of the inputs, of this capture or an enclosing one. */
  tells(name: string): boolean {
    const isTold = ({ decided, given }: CapturedSizes<A>): true | undefined =>
      decided.has(name) || given.has(name) || undefined;
    return innermost<CapturedSizes<A>, true>(this, isTold) === true;
  }
}

let nextFresh = 0;
