import { currentSource, TraceError } from '../../base/errors.js';
import { checkPredicate } from '../../ops/control/body.js';
import { array } from '../arrays/creation.js';
import { cond } from '../control/index.js';
import type { Capture } from '../core/capture.js';
import { mode } from '../core/mode.js';
import { NDArray } from '../core/ndarray.js';
import {
  breakOf,
  codesOf,
  type Completion,
  completionOf,
  end,
  type Mixed,
  type Next,
  normal,
  returnedBy,
} from './completion.js';
import { useGraph, undecidable } from './host.js';
import { siteSource } from './site.js';
import { deadPath, endsPath, noteThrown } from './throws.js';
import {
  type Entry,
  type PackedLayout,
  pack,
  packLike,
  placeholders,
  Retrace,
  unpack,
  type Wanted,
} from './values.js';
import { assignVariables, entriesOf, restore, saveVariables, type Variables } from './variables.js';

/** The number of branches and loops that arrays decide around the code that runs now. */
let depth = 0;

/** Stands for the innermost path or iteration that is traced now. */
let path: object = {};

/** Lists, maps and sets by the path they were made on, which may fill them. */
const makers = new WeakMap<object, object>();

/** Notes where a list, map or set was made. */
export function made(value: object): object {
  if (depth > 0) makers.set(value, path);
  return value;
}

/** Deeper ones are a recursion that only an array would end. */
const deepest = 200;

/** The capture of the innermost path or iteration. */
let pathCapture: Capture | null = null;

/**
 * Runs code that an array decides about. @param dead The result where a statement of the code throws: the program
 * throws that where it comes there.
 */
export function decided<R>(run: () => R, dead: () => R): R {
  if (depth >= deepest) {
    throw new TraceError('branches that arrays decide are nested without end', {
      op: useGraph,
      expected: `at most ${deepest}, one in the other`,
      actual: 'a function that calls itself until an array says no',
      advice: 'write a loop',
    });
  }
  const around = { path, pathCapture };
  depth++;
  path = {};
  pathCapture = mode.capture;
  try {
    return run();
  } catch (error) {
    if (!endsPath(error)) throw error;
    return dead();
  } finally {
    depth--;
    ({ path, pathCapture } = around);
  }
}

/** True on a path that an array decides; a function that is captured for itself starts anew. */
function isDecided(): boolean {
  return depth > 0 && outermost(mode.capture) === outermost(pathCapture);
}

function outermost(capture: Capture | null): Capture | null {
  let found = capture;
  while (found !== null && found.parent !== null) found = found.parent;
  return found;
}

/** Refuses what an array decides about. */
export function undecided(construct: string, site: string): void {
  if (isDecided()) throw undecidable(construct, site);
}

/** The value that a statement throws. */
export function thrown(value: unknown, site: string): unknown {
  if (mode.capture?.isBody === true && mode.capture !== pathCapture) {
    throw undecidable('throw inside of the function of an operator', site);
  }
  return noteThrown(value, site);
}

/** An object whose members are about to change, and which no variable holds. */
export function target(object: unknown, site: string): unknown {
  undecided('a change of an object', site);
  return object;
}

/** The receiver of a method that changes lists, maps and sets. */
export function collection(object: unknown, site: string): unknown {
  const isCollection =
    Array.isArray(object) ||
    object instanceof Map ||
    object instanceof Set ||
    ArrayBuffer.isView(object);
  if (isCollection && makers.get(object) !== path)
    undecided('a change of a list, map or set', site);
  return object;
}

/** True if a value is an array that decides when the graph runs. */
export function isCapturedTest(value: unknown): value is NDArray {
  return mode.capture !== null && value instanceof NDArray;
}

/** Traces again as long as numbers of a first path have to follow those of another one. */
export function retracing<R>(variables: readonly Variables[], trace: (wanted: Wanted) => R): R {
  const wanted: Wanted = new Map();
  const saved = variables.map(saveVariables);
  for (;;) {
    const known = wanted.size;
    const text = [...wanted].join();
    try {
      return trace(wanted);
    } catch (error) {
      if (!(error instanceof Retrace)) throw error;
      if (wanted.size === known && [...wanted].join() === text) throw error;
      variables.forEach((each, i) => restore(each, saved[i]));
    }
  }
}

/** Two paths, of which an array chooses one; the variables they change get what the chosen one gives them. */
export function choose(
  test: NDArray,
  paths: readonly [() => Completion, () => Completion],
  variables: readonly Variables[],
  site: string,
): Completion {
  checkPredicate(useGraph, 'the test', test.type);
  return retracing(variables, (wanted) => {
    // The first path tells what the other has to give: it must not be one that throws.
    const [first, second] = paths;
    return throwing.has(wanted)
      ? attempt(test.logicalNot(), [second, first], variables, site, wanted)
      : attempt(test, paths, variables, site, wanted);
  });
}

/** Choices whose first path throws. */
const throwing = new WeakSet<Wanted>();

const returnedName = 'the returned value';

function attempt(
  test: NDArray,
  paths: readonly [() => Completion, () => Completion],
  variables: readonly Variables[],
  site: string,
  wanted: Wanted,
): Completion {
  const saved = variables.map(saveVariables);
  const run = (path: () => Completion): { completion: Completion; entries: readonly Entry[] } => {
    variables.forEach((each, i) => restore(each, saved[i]));
    const completion = decided<Completion>(path, () => ({ kind: 'dead' }));
    return { completion, entries: variables.flatMap(entriesOf) };
  };
  let isFirstDead = false;
  let layouts: readonly PackedLayout[] = [];
  let returnLayouts: readonly PackedLayout[] | null = lateReturns.get(wanted) ?? null;
  const codes = new Set<number>();
  const line = site.split(':')[0];
  const results = cond(
    test,
    () => {
      const { completion, entries } = run(paths[0]);
      if (completion?.kind === 'dead') {
        if (!throwing.has(wanted)) {
          throwing.add(wanted);
          wanted.set('the first path throws', 'bool');
          throw new Retrace();
        }
        isFirstDead = true;
        return [codeOf(undefined)];
      }
      for (const code of codesOf(completion)) codes.add(code);
      const returned = returnedBy(completion);
      let values: readonly NDArray[] = [];
      if (returned !== null) {
        const packed = pack([returnEntry(returned.value)], wanted);
        returnLayouts = packed.layouts;
        values = packed.leaves;
      } else if (returnLayouts !== null) values = placeholders(returnLayouts, { mayDiffer: true });
      const packed = pack(entries, wanted);
      layouts = packed.layouts;
      return [codeOf(completion), ...values, ...packed.leaves];
    },
    () => {
      const { completion, entries } = run(paths[1]);
      if (isFirstDead) return [codeOf(undefined)];
      for (const code of codesOf(completion)) codes.add(code);
      if (completion?.kind === 'dead') {
        const all = [...(returnLayouts ?? []), ...layouts];
        return [codeOf(undefined), ...placeholders(all, { mayDiffer: true })];
      }
      const returned = returnedBy(completion);
      const agreement = {
        path: `where the test in line ${line} is ${throwing.has(wanted)}`,
        other: `where it is ${!throwing.has(wanted)}`,
        mayDiffer: true,
      };
      let values: readonly NDArray[] = [];
      if (returned !== null && returnLayouts === null) {
        lateReturns.set(wanted, pack([returnEntry(returned.value)], wanted).layouts);
        wanted.set(`${returnedName} of the second path`, 'bool');
        throw new Retrace();
      } else if (returned !== null) {
        values = packLike([returnEntry(returned.value)], returnLayouts!, wanted, agreement);
      } else if (returnLayouts !== null) values = placeholders(returnLayouts, { mayDiffer: true });
      return [codeOf(completion), ...values, ...packLike(entries, layouts, wanted, agreement)];
    },
  ) as unknown as readonly NDArray[];
  if (isFirstDead) throw noPathLeft(site);
  const [code, ...leaves] = results;
  const count =
    (returnLayouts as readonly PackedLayout[] | null)?.flatMap(({ types }) => types).length ?? 0;
  const returned = returnLayouts === null ? null : { value: unpack(returnLayouts, leaves.slice(0, count))[0] }; // prettier-ignore
  const values = unpack(layouts, leaves.slice(count));
  let at = 0;
  variables.forEach((each, i) => {
    const next = at + each.merged.length;
    assignVariables(each, saved[i], values.slice(at, next));
    at = next;
  });
  return completionOf(codes, code, returned);
}

/** Ends the path around two paths that throw; nothing would be left of the captured function. */
function noPathLeft(site: string): unknown {
  if (isDecided()) return deadPath;
  return new TraceError('every path throws', {
    op: useGraph,
    expected: 'a path that ends, of those that captured arrays decide',
    actual: 'a statement that throws on each',
    ...siteSource(site, currentSource()),
  });
}

/** Values that only a second path returns: the first one gives zeros in their place when traced again. */
const lateReturns = new WeakMap<Wanted, readonly PackedLayout[]>();

export function returnEntry(value: unknown): Entry {
  return { what: returnedName, value, isInteger: false };
}

export function codeOf(completion: Completion): NDArray {
  if (completion?.kind === 'mixed') return completion.code;
  const [code = normal] = codesOf(completion);
  return array(code, { dtype: 'int32' });
}

/** `if`: one of two closures runs, and then what follows, on the path that comes to it. */
export function branch(
  site: string,
  test: unknown,
  consequent: (next: Next) => Completion,
  alternate: ((next: Next) => Completion) | undefined,
  variables?: Variables,
  next?: Next,
): Completion {
  const paths = [
    () => consequent(next),
    () => (alternate === undefined ? end(next) : alternate(next)),
  ] as const;
  if (!isCapturedTest(test)) return truth(test, site) ? paths[0]() : paths[1]();
  return choose(test, paths, trackedChanges(variables, next), site);
}

export function trackedChanges(variables: Variables | undefined, next: Next): readonly Variables[] {
  return [...(variables === undefined ? [] : [variables]), ...(next?.changes ?? [])];
}

/** The truth of a value that no captured array is. */
export function truth(value: unknown, _site: string): boolean {
  if (!(value instanceof NDArray)) return Boolean(value);
  checkPredicate(useGraph, 'the test', value.type);
  return value.item() === true;
}

/** `test ? a : b`, as a value. */
export function pick(
  site: string,
  test: unknown,
  consequent: () => unknown,
  alternate: () => unknown,
  variables?: Variables,
): unknown {
  if (!isCapturedTest(test)) return truth(test, site) ? consequent() : alternate();
  const given = (value: () => unknown) => (): Completion => ({ kind: 'return', value: value() });
  return valueOf(
    choose(test, [given(consequent), given(alternate)], trackedChanges(variables, undefined), site),
  );
}

function valueOf(completion: Completion): unknown {
  return completion?.kind === 'return' ? completion.value : undefined;
}

/** `a && b`: where `a` is an array, `b` runs where it holds. */
export function and(
  site: string,
  left: unknown,
  right: () => unknown,
  variables?: Variables,
): unknown {
  if (isCapturedTest(left)) return pick(site, left, right, () => left, variables);
  return truth(left, site) ? right() : left;
}

/** `a || b`: where `a` is an array, `b` runs where it does not hold. */
export function or(
  site: string,
  left: unknown,
  right: () => unknown,
  variables?: Variables,
): unknown {
  if (isCapturedTest(left)) return pick(site, left, () => left, right, variables);
  return truth(left, site) ? left : right();
}

/** `!a`. */
export function not(value: unknown, site: string): unknown {
  if (!isCapturedTest(value)) return !truth(value, site);
  checkPredicate(useGraph, 'the test', value.type);
  return value.logicalNot();
}

/** Continues where an end is normal, or goes on with a loop; other ends stay. */
export function proceed(
  completion: Mixed,
  isGoingOn: (code: number) => boolean,
  run: () => Completion,
  variables: readonly Variables[],
  site: string,
): Completion {
  const going = [...completion.codes].filter(isGoingOn);
  if (going.length === 0) return completion;
  const test = going.map((code) => completion.code.equal(code)).reduce((a, b) => a.logicalOr(b));
  const rest = new Set([...completion.codes].filter((code) => !isGoingOn(code)));
  return choose(
    test,
    [run, () => completionOf(rest, completion.code, completion.returned)],
    variables,
    site,
  );
}

/** A statement that jumps leave: those from inside loops are told by its number. */
export function labeled(
  site: string,
  number: number,
  body: (next: Next) => Completion,
  next: Next,
): Completion {
  const completion = body(next);
  const own = breakOf(number);
  if (!codesOf(completion).has(own)) return completion;
  if (completion?.kind !== 'mixed') return end(next);
  return proceed(completion, (code) => code === own, () => end(next), next?.changes ?? [], site); // prettier-ignore
}

/** The line that runs now, for errors that name a place in the source. */
export function placeOf(site: string): { readonly source?: string } {
  return siteSource(site, currentSource());
}
