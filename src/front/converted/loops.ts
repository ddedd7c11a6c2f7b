import { graphDirective } from '../../base/directive.js';
import { TraceError } from '../../base/errors.js';
import { array } from '../arrays/creation.js';
import { checkRows, rowsOf } from '../arrays/iterate-rows.js';
import { foreach, whileLoop } from '../control/index.js';
import { NDArray } from '../core/ndarray.js';
import { choose, codeOf, isCapturedTest, predicateOf, returnEntry, retracing, trackedChanges, truth } from './choose.js'; // prettier-ignore
import {
  breakOf,
  codesOf,
  type Completion,
  completionOf,
  continueOf,
  type Next,
  normal,
  returnedBy,
  without,
  withoutBreak,
} from './completion.js';
import { after, proceed } from './branch.js';
import { decided } from './values/path.js';
import { addPushed, checkIteration } from './lists/row-list.js';
import { LoopRows } from './lists/rows.js';
import { placeOf } from './values/host.js';
import { Tracking } from './tracking.js';
import {
  type PackedLayout,
  pack,
  packLike,
  placeholders,
  Retrace,
  unpack,
  type Wanted,
} from './values/values.js';
import { assignVariables, entriesOf, saveVariables, type Variables } from './values/variables.js';

/** The state of a loop after an iteration: its next test, and how the iteration ended. */
interface Going {
  /** A host value, or an array that decides. */
  readonly test: unknown;
  readonly completion: Completion;
  /** True if the iteration may have ended by the loop's own `break`. */
  readonly mayBreak: boolean;
}

/** The parts of a `while`, `do` or `for` loop. */
interface LoopParts {
  readonly site: string;
  readonly number: number;
  /** Undefined for a loop that only jumps end. */
  readonly test: (() => unknown) | undefined;
  readonly body: (next: Next) => Completion;
  readonly update: (() => void) | undefined;
  readonly variables: readonly Variables[];
}

/**
 * A `while`, `do` or `for` loop. It runs as JavaScript's own as long as host values decide; from the first
 * test on that a captured array decides, the rest is one operator.
 */
export function loop(
  site: string,
  number: number,
  isTestFirst: boolean,
  test: (() => unknown) | undefined,
  body: (next: Next) => Completion,
  update: (() => void) | undefined,
  variables: Variables | undefined,
  next?: Next,
): Completion {
  const parts = {
    site,
    number,
    test,
    body,
    update,
    variables: trackedChanges(variables, undefined),
  };
  const first = isTestFirst && test !== undefined ? test() : true;
  for (let going: Going = { test: first, completion: undefined, mayBreak: false }; ;) {
    if (isCapturedTest(going.test)) return after(capturedLoop(parts, going), next, site);
    if (!truth(going.test)) return after(going.completion, next, site);
    going = iterate(parts);
  }
}

/** One iteration, up to the next test. */
function iterate({ site, number, test, body, update, variables }: LoopParts): Going {
  const completion = body(undefined);
  const isGoingOn = (code: number): boolean => code === normal || code === continueOf(number);
  const again = (): unknown => {
    update?.();
    return test === undefined ? true : test();
  };
  const codes = [...codesOf(completion)];
  const mayBreak = codes.includes(breakOf(number));
  if (codes.every(isGoingOn)) return { test: again(), completion: undefined, mayBreak };
  const left = withoutBreak(completion, number);
  if (!codes.some(isGoingOn) || completion?.kind !== 'mixed')
    return { test: false, completion: left, mayBreak };
  // Some ends go on. The test is what such a path returns; the others return that it does not hold.
  const going = codes.filter(isGoingOn);
  const holds = going.map((code) => completion.code.equal(code)).reduce((a, b) => a.logicalOr(b));
  const answer = (value: () => unknown) => (): Completion => ({
    kind: 'return',
    value: asTest(value()),
  });
  const decision = choose(holds, [answer(again), answer(() => false)], variables, site);
  const asked = decision?.kind === 'return' ? decision.value : false;
  return { test: asked, completion: left, mayBreak };
}

function asTest(value: unknown): NDArray {
  if (isCapturedTest(value)) return predicateOf(value).reshape([]);
  return array(truth(value), { dtype: 'bool' });
}

/** Facts about a loop that tracing its body finds out, for another time. */
interface Known {
  /** The codes of the ends of iterations that lead out of the loop. */
  readonly codes: Set<number>;
  returned: readonly PackedLayout[] | null;
  /** True if the loop may end by its test or its own `break`. */
  mayEnd: boolean;
}

const knownLoops = new WeakMap<Wanted, Known>();

/** The rest of a loop as one operator, from a test on that has been evaluated. */
function capturedLoop(parts: LoopParts, start: Going): Completion {
  const { variables } = parts;
  return retracing(variables, (wanted) => {
    let known = knownLoops.get(wanted);
    if (known === undefined) {
      const mayEnd = parts.test !== undefined || start.mayBreak;
      known = { codes: new Set(codesOf(start.completion)), returned: null, mayEnd };
      knownLoops.set(wanted, known);
    }
    return new CapturedLoop(variables, wanted, known, start.completion).run(
      asTest(start.test),
      () => iterate(parts),
    );
  });
}

/** The states of a captured loop: the end so far, what that returns, and the variables. */
class CapturedLoop {
  readonly #variables: readonly Variables[];
  readonly #wanted: Wanted;
  readonly #known: Known;
  readonly #saved: readonly ReturnType<typeof saveVariables>[];
  readonly #layouts: readonly PackedLayout[];
  readonly #initial: readonly NDArray[];
  readonly #rows: LoopRows = new LoopRows();

  readonly #tracking: Tracking;

  constructor(changed: readonly Variables[], wanted: Wanted, known: Known, start: Completion) {
    this.#tracking = Tracking.of(wanted);
    const variables = [...changed, ...this.#tracking.variables];
    this.#variables = variables;
    this.#wanted = wanted;
    this.#known = known;
    this.#saved = variables.map(saveVariables);
    const returned = returnedBy(start);
    let values: readonly NDArray[] = [];
    if (returned !== null) {
      const packed = pack([returnEntry(returned.value)], wanted);
      known.returned = packed.layouts;
      values = packed.leaves;
    } else if (known.returned !== null) values = placeholders(known.returned, { mayDiffer: false });
    const packed = pack(variables.flatMap(entriesOf), wanted);
    this.#layouts = packed.layouts;
    for (const { what, structure, value } of packed.layouts) {
      if (structure === null && value === undefined) throw withoutValue(what);
    }
    this.#initial = [codeOf(start), ...values, ...packed.leaves];
  }

  get initial(): readonly NDArray[] {
    return this.#initial;
  }

  run(test: NDArray, iteration: () => Going): Completion {
    const [stacked, states] = whileLoop(
      (goesOn: NDArray) => goesOn,
      (_: NDArray, ...before: NDArray[]) => {
        const going = this.iterate(before, iteration);
        return [going.rows, [asTest(going.test), ...going.states]];
      },
      [test, ...this.#initial] as [NDArray, ...NDArray[]],
    );
    return this.leave(states.slice(1), stacked);
  }

  /** One iteration on the states of the one before. */
  iterate(
    before: readonly NDArray[],
    iteration: () => Going,
  ): { readonly test: unknown; readonly states: readonly NDArray[]; readonly rows: NDArray[] } {
    this.#give(before);
    const dead = (): Going => ({ test: false, completion: { kind: 'dead' }, mayBreak: false });
    const objects = this.#tracking.onPath('iteration', this.#saved);
    const { result, traced } = decided(iteration, dead, objects);
    const { test, completion, mayBreak } = result;
    checkIteration(traced);
    const rows = [...this.#rows.outputs(traced.pushed)];
    if (completion?.kind === 'dead') return { test, states: before, rows };
    if (mayBreak) this.#known.mayEnd = true;
    for (const code of codesOf(completion)) this.#known.codes.add(code);
    const agreement = {
      path: 'after an iteration of the loop',
      other: 'before it',
      mayDiffer: false,
    };
    const returned = returnedBy(completion);
    let values: readonly NDArray[] = [];
    if (returned !== null && this.#known.returned === null) {
      this.#known.returned = pack([returnEntry(returned.value)], this.#wanted).layouts;
      this.#wanted.set('the value that the loop returns', 'bool');
      throw new Retrace();
    } else if (returned !== null) {
      values = packLike(
        [returnEntry(returned.value)],
        this.#known.returned!,
        this.#wanted,
        agreement,
      );
    } else if (this.#known.returned !== null) {
      values = before.slice(1, 1 + this.#returnCount);
    }
    const entries = this.#variables.flatMap(entriesOf);
    const own = packLike(entries, this.#layouts, this.#wanted, agreement);
    return { test, states: [codeOf(completion), ...values, ...own], rows };
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
  leave(states: readonly NDArray[], stacked: readonly NDArray[]): Completion {
    this.#give(states);
    addPushed(this.#rows.pushed(stacked));
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

function withoutValue(what: string): TraceError {
  return new TraceError(
    `${what} has no value where the loop does not run, and is used afterwards`,
    {
      op: graphDirective,
      expected: 'a value on every path',
      actual: 'undefined before the loop',
      advice: 'give it a value before the loop',
    },
  );
}

/** A `for...of` loop: over host iterables JavaScript's own, over the rows of a captured array one operator. */
export function each(
  site: string,
  number: number,
  iterable: unknown,
  body: (value: unknown, next: Next) => Completion,
  variables: Variables | undefined,
  next?: Next,
): Completion {
  const changes = trackedChanges(variables, undefined);
  if (isCapturedTest(iterable)) {
    checkRows(iterable, graphDirective);
    return after(capturedRows(site, number, iterable, body, changes), next, site);
  }
  const values =
    iterable instanceof NDArray
      ? rowsOf(iterable, graphDirective)
      : (iterable as Iterable<unknown>);
  let completion: Completion;
  for (const value of values) {
    if (completion?.kind === 'mixed') {
      if (!isFinite(values)) throw endless(site);
      completion = proceed(
        completion,
        (code) => code === normal,
        () => onlyLeaving(body(value, undefined), number),
        changes,
        site,
      );
    } else completion = onlyLeaving(body(value, undefined), number);
    if (completion !== undefined && completion.kind !== 'mixed') break;
  }
  return after(withoutBreak(completion, number), next, site);
}

/** `continue` is a normal end of an iteration, and an iterable is left by its `break`. */
function onlyLeaving(completion: Completion, number: number): Completion {
  const codes = codesOf(completion);
  const own = continueOf(number);
  if (!codes.has(own)) return completion;
  if (completion?.kind !== 'mixed') return undefined;
  const rest = new Set([...codes].map((code) => (code === own ? normal : code)));
  const isOther = completion.code.notEqual(own).astype('int32');
  return completionOf(rest, completion.code.mul(isOther), completion.returned);
}

function isFinite(values: unknown): boolean {
  return (
    Array.isArray(values) ||
    ArrayBuffer.isView(values) ||
    typeof values === 'string' ||
    values instanceof Map ||
    values instanceof Set
  );
}

function endless(site: string): TraceError {
  return new TraceError('a captured array decides when a loop over an iterable ends', {
    op: graphDirective,
    expected: 'a list, a map, a set or an array: they have an end',
    actual: 'an iterable that may have none',
    advice: 'make a list of it first',
    ...placeOf(site),
  });
}

/** A loop over the rows of a captured array. Rows after one that leaves the loop are passed over. */
function capturedRows(
  site: string,
  number: number,
  rows: NDArray,
  body: (value: unknown, next: Next) => Completion,
  variables: readonly Variables[],
): Completion {
  return retracing(variables, (wanted) => {
    let known = knownLoops.get(wanted);
    if (known === undefined) {
      known = { codes: new Set(), returned: null, mayEnd: true };
      knownLoops.set(wanted, known);
    }
    const traced = new CapturedLoop(variables, wanted, known, undefined);
    const mayLeave = known.codes.size > 0 && [...known.codes].some((code) => code !== normal);
    const [stacked, states] = foreach(
      (row: NDArray, before: NDArray[]) => {
        const run = (): Going => ({
          test: true,
          completion: onlyLeaving(body(row, undefined), number),
          mayBreak: true,
        });
        const iterate = mayLeave
          ? (): Going => ({
              test: true,
              mayBreak: true,
              completion: choose(
                before[0].equal(normal),
                [() => run().completion, () => completionOf(without(known.codes, normal), before[0], traced.returnedIn(before))], // prettier-ignore
                variables,
                site,
              ),
            })
          : run;
        const { states: after, rows: outputs } = traced.iterate(before, iterate);
        if (!mayLeave && [...known.codes].some((code) => code !== normal)) {
          wanted.set('the loop is left early', 'bool');
          throw new Retrace();
        }
        return [outputs, [...after]];
      },
      rows,
      [...traced.initial],
    ) as unknown as [NDArray[], NDArray[]];
    return withoutBreak(traced.leave(states, stacked), number);
  });
}
