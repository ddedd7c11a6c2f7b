import type { Dim } from '../../base/dim/index.js';
import { graphDirective } from '../../base/directive.js';
import { TraceError } from '../../base/errors.js';
import { whileLoop } from '../control/index.js';
import { mode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import { asTest, codeOf, returnEntry } from './choose.js';
import {
  codesOf,
  type Completion,
  completionOf,
  normal,
  returnedBy,
  without,
} from './completion.js';
import { ChangeWatch } from './effects.js';
import { NotLeading } from './leading-exits.js';
import { EarlierRowStates } from './lists/earlier-rows.js';
import { addPushed } from './lists/row-list.js';
import { LoopRows } from './lists/rows.js';
import { Tracking } from './values/tracking.js';
import type { Agreement } from './values/differences.js';
import { placeOf } from './values/host.js';
import { knowing } from './values/optionals.js';
import { decided, isDecided, logging, type TracedPath } from './values/path.js';
import { type PackedLayout, pack, packLike, placeholders, unpack } from './values/values.js';
import { type LoopFacts, Retrace, type TraceFacts } from './values/trace-facts.js';
import { assignVariables, entriesOf, saveVariables, type Variables } from './values/variables.js';

/** The state of a loop after an iteration: its next test, and how the iteration ended. */
export interface Going {
  /** A host value, or an array that decides. */
  readonly test: unknown;
  /** True if evaluating the test has changed nothing. */
  readonly isPure: boolean;
  readonly completion: Completion;
  /** True if the iteration may have ended by the loop's own `break`. */
  readonly mayBreak: boolean;
}

/** The facts about a loop; at first the end that led to it, and whether it may end by itself. */
export function knownLoop(facts: TraceFacts, start: Completion, mayEnd: boolean): LoopFacts {
  return (facts.loop ??= {
    codes: new Set(codesOf(start)),
    returned: null,
    mayEnd,
    isLimitChanged: false,
    isTestCarried: false,
  });
}

/** Iterations up to which the rows of a loop inside of another one are padded. */
const mostPadded = 4096;

/** The states of a captured loop: the end so far, what that returns, and the variables. */
export class CapturedLoop {
  readonly #variables: readonly Variables[];
  readonly #facts: TraceFacts;
  readonly #known: LoopFacts;
  readonly #saved: readonly ReturnType<typeof saveVariables>[];
  readonly #layouts: readonly PackedLayout[];
  readonly #initial: readonly NDArray[];
  readonly #rows: LoopRows = new LoopRows();
  readonly #earlier: EarlierRowStates;
  readonly #most: number | null;
  readonly #tracking: Tracking;
  readonly #site: string;

  /** @param most Upper bound of the number of iterations; null where nothing tells one. */
  constructor(
    changed: readonly Variables[],
    facts: TraceFacts,
    known: LoopFacts,
    start: Completion,
    most: Dim | null,
    site: string,
  ) {
    this.#site = site;
    this.#tracking = Tracking.of(facts);
    const variables = [...changed, ...this.#tracking.variables];
    this.#variables = variables;
    this.#facts = facts;
    this.#known = known;
    this.#saved = variables.map(saveVariables);
    const returned = returnedBy(start);
    let values: readonly NDArray[] = [];
    if (returned !== null) {
      const packed = pack([returnEntry(returned.value)], facts);
      known.returned = packed.layouts;
      values = packed.leaves;
    } else if (known.returned !== null) values = placeholders(known.returned, { mayDiffer: false });
    const packed = pack(variables.flatMap(entriesOf), facts);
    this.#layouts = packed.layouts;
    for (const { what, structure, value } of packed.layouts) {
      if (structure === null && value === undefined) throw withoutValue(what, site);
    }
    this.#most = typeof most === 'number' ? most : null;
    this.#earlier = new EarlierRowStates(facts, most);
    this.#initial = [codeOf(start), ...values, ...packed.leaves, ...this.#earlier.initial];
  }

  get initial(): readonly NDArray[] {
    return this.#initial;
  }

  /** True where the rows are padded: iterations of a loop around have to give as many each. */
  get #isPadded(): boolean {
    return this.#most !== null && this.#most <= mostPadded && isDecided();
  }

  /**
   * Runs the loop with its test as the condition of the operator. @returns The number of iterations.
   * @throws NotLeading where the test changes something, or uses rows of lists.
   */
  runWhile(test: () => unknown, iteration: () => void): NDArray {
    const padded = this.#isPadded;
    const going: Going = { test: true, isPure: true, completion: undefined, mayBreak: false };
    const [stacked, states, iterations] = whileLoop(
      (...before: NDArray[]) => asTest(this.#holds(before, test)),
      (...before: NDArray[]) => {
        const { rows, ...after } = this.iterate(before, () => (iteration(), going));
        // An iteration that always throws does not go on.
        if (after.test === false) throw new NotLeading();
        return [rows, after.states as [NDArray, ...NDArray[]]];
      },
      [...this.#initial] as [NDArray, ...NDArray[]],
      { maxIterations: this.#most, padded },
    );
    this.leave(states, stacked, padded ? iterations : null);
    return iterations;
  }

  #holds(before: readonly NDArray[], test: () => unknown): unknown {
    this.#give(before);
    const objects = this.#tracking.onPath('test', this.#saved);
    const given = this.#earlier.given(this.#rowStates(before));
    return logging((log) => {
      const watch = new ChangeWatch(mode.capture!, this.#variables, log);
      const { result, traced } = decided(
        () => ({ value: test() }),
        () => null,
        objects,
        given,
      );
      const { pushed, used } = traced;
      if (result === null || pushed.size > 0 || used.size > 0 || !watch.isPure)
        throw new NotLeading();
      return result.value;
    }).result;
  }

  /** Runs the loop with its test as a state. */
  run(test: NDArray, iteration: () => Going): Completion {
    const padded = this.#isPadded;
    const [stacked, states, iterations] = whileLoop(
      (goesOn: NDArray) => goesOn,
      (_: NDArray, ...before: NDArray[]) => {
        const going = this.iterate(before, iteration);
        return [going.rows, [asTest(going.test), ...going.states]];
      },
      [test, ...this.#initial] as [NDArray, ...NDArray[]],
      { maxIterations: this.#most, padded },
    );
    return this.leave(states.slice(1), stacked, padded ? iterations : null);
  }

  /** One iteration on the states of the one before. */
  iterate(
    before: readonly NDArray[],
    iteration: () => Going,
  ): { readonly test: unknown; readonly states: readonly NDArray[]; readonly rows: NDArray[] } {
    this.#give(before);
    const dead = (): Going => ({ test: false, isPure: true, completion: { kind: 'dead' }, mayBreak: false }); // prettier-ignore
    const objects = this.#tracking.onPath('iteration', this.#saved);
    const given = this.#earlier.given(this.#rowStates(before));
    const { result, traced } = decided(iteration, dead, objects, given);
    return knowing(traced, () => this.#after(before, result, traced));
  }

  /** The states after an iteration. */
  #after(
    before: readonly NDArray[],
    { test, completion, mayBreak }: Going,
    traced: TracedPath,
  ): ReturnType<CapturedLoop['iterate']> {
    this.#earlier.learn(traced);
    const rows = [...this.#rows.outputs(traced.pushed)];
    if (completion?.kind === 'dead') return { test, states: before, rows };
    if (mayBreak) this.#known.mayEnd = true;
    for (const code of codesOf(completion)) this.#known.codes.add(code);
    const agreement = {
      path: 'after an iteration of the loop',
      other: 'before it',
      mayDiffer: false,
      isState: false,
      site: this.#site,
    };
    const returned = returnedBy(completion);
    let values: readonly NDArray[] = [];
    if (returned !== null && this.#known.returned === null) {
      this.#known.returned = pack([returnEntry(returned.value)], this.#facts).layouts;
      this.#facts.learn(`the value that the loop returns, ${this.#facts.size}`);
    } else if (returned !== null) {
      values = this.#returnedLike(returned.value, agreement);
    } else if (this.#known.returned !== null) {
      values = before.slice(1, 1 + this.#returnCount);
    }
    const entries = this.#variables.flatMap(entriesOf);
    const own = packLike(entries, this.#layouts, this.#facts, { ...agreement, isState: true });
    const rowsAfter = this.#earlier.after(this.#rowStates(before), traced.pushed);
    return { test, states: [codeOf(completion), ...values, ...own, ...rowsAfter], rows };
  }

  /** A returned value, taken apart as the one that is known. */
  #returnedLike(value: unknown, agreement: Agreement): readonly NDArray[] {
    const before = this.#facts.signature;
    try {
      return packLike([returnEntry(value)], this.#known.returned!, this.#facts, agreement);
    } catch (error) {
      // Numbers in it may have been known when it was, in an earlier trace of a loop around.
      if (error instanceof Retrace && this.#facts.signature !== before) this.#known.returned = null;
      throw error;
    }
  }

  #rowStates(states: readonly NDArray[]): readonly NDArray[] {
    return states.slice(states.length - this.#earlier.initial.length);
  }

  get #returnCount(): number {
    return this.#known.returned?.flatMap(({ types }) => types).length ?? 0;
  }

  #give(states: readonly NDArray[]): void {
    const values = unpack(this.#layouts, states.slice(1 + this.#returnCount));
    let at = 0;
    this.#variables.forEach((each, i) => {
      const next = at + each.merged.length;
      assignVariables(each, this.#saved[i], values.slice(at, next));
      at = next;
    });
  }

  /** Gives the variables their last values, and lists the rows of all iterations. */
  leave(
    states: readonly NDArray[],
    stacked: readonly NDArray[],
    iterations: NDArray | null = null,
  ): Completion {
    this.#give(states);
    addPushed(this.#rows.pushed(stacked, iterations));
    const { codes } = this.#known;
    const value = this.returnedIn(states);
    // The loop may not run at all, or its last test may not hold: both are normal ends.
    const ends = this.#known.mayEnd ? new Set([normal, ...codes]) : without(codes, normal);
    return completionOf(ends.size === 0 ? new Set([normal]) : ends, states[0], value);
  }

  /** The value that the loop returns if the end among the states says so. */
  returnedIn(states: readonly NDArray[]): { readonly value: unknown } | null {
    const { returned } = this.#known;
    if (returned === null) return null;
    return { value: unpack(returned, states.slice(1, 1 + this.#returnCount))[0] };
  }
}

function withoutValue(what: string, site: string): TraceError {
  return new TraceError(
    `${what} has no value where the loop does not run, and is used afterwards`,
    {
      op: graphDirective,
      expected: 'a value on every path',
      actual: 'undefined before the loop',
      advice: 'give it a value before the loop, or null, and test for null afterwards',
      ...placeOf(site),
    },
  );
}
