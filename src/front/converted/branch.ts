import { array } from '../arrays/creation.js';
import { NDArray } from '../core/ndarray.js';
import {
  asDecision,
  asTest,
  choose,
  isCapturedTest,
  predicateOf,
  trackedChanges,
  truth,
} from './choose.js';
import {
  breakOf,
  codesOf,
  type Completion,
  completionOf,
  end,
  type Mixed,
  type Next,
  normal,
  type PathContinuation,
} from './completion.js';
import { leadingExit } from './leading-exits.js';
import { subject } from './values/host.js';
import { asNumber, isInt32, isNumberArray, op as operator } from './values/numbers.js';
import { factsFrom, held, noteFacts, optionalOf, presence } from './values/optionals.js';
import { arePathsMeeting, type Variables, whilePathsMeet } from './values/variables.js';

/* Statements and expressions with two ways to go on. */

/**
 * `if`: one of two closures runs, and then what follows, on the path that comes to it. `place`: of a statement that
 * leaves a loop at the start of its body, its place among these.
 */
export function branch(
  site: string,
  given: unknown,
  consequent: (next: Next) => Completion,
  alternate: ((next: Next) => Completion) | undefined,
  variables?: Variables,
  next?: Next,
  merged?: Variables,
  place?: number,
): Completion {
  const test = asDecision(given);
  const led =
    place === undefined
      ? null
      : leadingExit({
          place,
          isDecided: isCapturedTest(test),
          isPassed: () => not(test),
          and: (left, right) => and(site, left, right),
          leave: () => consequent(undefined),
          goOn: () => end(next),
        });
  if (led !== null) return led.completion;
  const pathsTo = (following: Next): readonly [() => Completion, () => Completion] => [
    () => consequent(following),
    () => (alternate === undefined ? end(following) : alternate(following)),
  ];
  if (!isCapturedTest(test)) {
    const [first, second] = pathsTo(next);
    return truth(test) ? first() : second();
  }
  return meeting(
    next,
    merged,
    (following) =>
      choose(
        test,
        pathsTo(following),
        trackedChanges(variables, following),
        site,
        arePathsMeeting(),
      ),
    (own, stop) => choose(test, pathsTo(stop), trackedChanges(own, stop), site, true),
    site,
  );
}

/** Logarithm of the number of paths on which what runs now is traced, about. */
let parted = 0;

/** Beyond it paths meet before they go on. */
const mostParted = 3;

/**
 * A statement after which several paths may go on. What follows is traced on each of them, where every path has
 * its own values, as long as such statements are few; otherwise the paths meet, and what follows is traced once.
 */
function meeting(
  next: Next,
  merged: Variables | undefined,
  apart: (next: Next) => Completion,
  together: (merged: Variables, stop: PathContinuation) => Completion,
  site: string,
  parts: number = 1,
): Completion {
  if (next === undefined || merged === undefined) return apart(next);
  if (parted >= mostParted) {
    // Jumps further out run what follows there: its changes are put back on the other paths.
    const stop: PathContinuation = { run: () => undefined, changes: next.changes };
    return after(
      whilePathsMeet(() => together(merged, stop)),
      next,
      site,
    );
  }
  const run = (): Completion => {
    parted += parts;
    try {
      return next.run();
    } finally {
      parted -= parts;
    }
  };
  return apart({ run, changes: next.changes });
}

/**
 * `test ? a : b`, as a value. `kind`: `integer` where both are integer literals, or such choices; `test` where only
 * the truth of the value matters.
 */
export function pick(
  site: string,
  given: unknown,
  consequent: () => unknown,
  alternate: () => unknown,
  variables?: Variables,
  kind?: 'integer' | 'test',
): unknown {
  const test = asDecision(given);
  if (!isCapturedTest(test)) return truth(test) ? consequent() : alternate();
  const valueOfArm = (value: unknown): unknown => {
    if (kind === 'test') return asTest(value);
    return kind === 'integer' && typeof value === 'number' && isInt32(value)
      ? asNumber(array(value, { dtype: 'int32' }))
      : value;
  };
  const returned = (value: () => unknown) => (): Completion => ({
    kind: 'return',
    value: valueOfArm(value()),
  });
  return valueOf(
    choose(
      test,
      [returned(consequent), returned(alternate)],
      trackedChanges(variables, undefined),
      site,
    ),
  );
}

function valueOf(completion: Completion): unknown {
  return completion?.kind === 'return' ? completion.value : undefined;
}

/** `a && b`: where `a` is an array, `b` runs where it holds. `kind`: see `pick`. */
export function and(
  site: string,
  left: unknown,
  right: () => unknown,
  variables?: Variables,
  kind?: 'test',
): unknown {
  const test = asDecision(left);
  if (!isCapturedTest(test)) return truth(test) ? right() : left;
  let second: unknown;
  const result = pick(site, test, () => (second = right()), () => left, variables, kind); // prettier-ignore
  noteFacts(result, { whenTrue: [...factsFrom(test, true), ...factsFrom(second, true)], whenFalse: [] }); // prettier-ignore
  return result;
}

/** `a || b`: where `a` is an array, `b` runs where it does not hold. `kind`: see `pick`. */
export function or(
  site: string,
  left: unknown,
  right: () => unknown,
  variables?: Variables,
  kind?: 'test',
): unknown {
  const test = asDecision(left);
  if (!isCapturedTest(test)) return truth(test) ? left : right();
  let second: unknown;
  const result = pick(site, test, () => left, () => (second = right()), variables, kind); // prettier-ignore
  noteFacts(result, { whenTrue: [], whenFalse: [...factsFrom(test, false), ...factsFrom(second, false)] }); // prettier-ignore
  return result;
}

/** `!a`. */
export function not(given: unknown): unknown {
  const value = asDecision(given);
  if (!isCapturedTest(value)) return !truth(value);
  const result = asNumber(predicateOf(value).logicalNot());
  noteFacts(result, { whenTrue: factsFrom(value, false), whenFalse: factsFrom(value, true) });
  return result;
}

/** `Boolean(a)`: of a number or a value that may be absent as a test of it, of an array true. */
export function booleanOf(given: unknown): unknown {
  const isArray = given instanceof NDArray && !isNumberArray(given);
  return isArray ? true : not(not(given));
}

/** `a ?? b`. */
export function nullish(
  site: string,
  left: unknown,
  right: () => unknown,
  variables?: Variables,
): unknown {
  if (optionalOf(left) === undefined) return left ?? right();
  return pick(site, presence(left), () => held(left), right, variables);
}

/** `value?.member` and its like: `rest` is what follows the value. */
export function chain(
  site: string,
  value: unknown,
  rest: (value: unknown) => unknown,
  variables?: Variables,
): unknown {
  if (optionalOf(value) === undefined) return value === null || value === undefined ? undefined : rest(value); // prettier-ignore
  return pick(site, presence(value), () => rest(held(value)), () => undefined, variables); // prettier-ignore
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
  merged?: Variables,
): Completion {
  const own = breakOf(number);
  const leave = (completion: Completion, following: Next): Completion => {
    if (!codesOf(completion).has(own)) return completion;
    if (completion?.kind !== 'mixed') return end(following);
    return proceed(completion, (code) => code === own, () => end(following), following?.changes ?? [], site); // prettier-ignore
  };
  return meeting(
    next,
    merged,
    (following) => leave(body(following), following),
    (_, stop) => leave(body(stop), stop),
    site,
    // A switch has several paths.
    2,
  );
}

type Body = (next: Next) => Completion;

/**
 * A `switch`: the cases are compared in order, and from the one that is equal on the bodies run until one
 * breaks. `undefined` in the place of a test is the default.
 */
export function select(
  site: string,
  value: unknown,
  tests: readonly ((() => unknown) | undefined)[],
  bodies: readonly Body[],
  variables: Variables | undefined,
  next: Next,
): Completion {
  const changes = trackedChanges(variables, next);
  const from = (index: number): Completion => {
    if (index >= bodies.length) return end(next);
    const following: PathContinuation = { run: () => from(index + 1), changes };
    return bodies[index](following);
  };
  const otherwise = tests.indexOf(undefined);
  const compare = (index: number): Completion => {
    if (index >= tests.length) return otherwise < 0 ? end(next) : from(otherwise);
    const test = tests[index];
    if (test === undefined) return compare(index + 1);
    const equal = isEqual(value, test(), site);
    if (isCapturedTest(equal)) {
      return choose(equal, [() => from(index), () => compare(index + 1)], changes, site, arePathsMeeting()); // prettier-ignore
    }
    return truth(equal) ? from(index) : compare(index + 1);
  };
  return compare(0);
}

function isEqual(first: unknown, second: unknown, site: string): unknown {
  const [value, expected] = [held(first, site), held(second, site)];
  const tensor = [value, expected].find((each) => each instanceof NDArray);
  if (isCapturedTest(tensor)) {
    const other = tensor === value ? expected : value;
    const isComparable = typeof other === 'number' || typeof other === 'boolean';
    if (other instanceof NDArray) return tensor.equal(other);
    return isComparable ? tensor.equal(Number(other)) : false;
  }
  return operator('===', subject(value, site), subject(expected, site));
}

/** Goes on after a loop: normal ends do, jumps that lead further out stay. */
export function after(completion: Completion, next: Next, site: string): Completion {
  if (completion === undefined) return end(next);
  if (completion.kind !== 'mixed') return completion;
  return proceed(completion, (code) => code === normal, () => end(next), next?.changes ?? [], site); // prettier-ignore
}
