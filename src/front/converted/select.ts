import { NDArray } from '../core/ndarray.js';
import { trackedChanges, choose, isCapturedTest, truth } from './choose.js';
import { type Completion, type PathContinuation, end, type Next } from './completion.js';
import { subject } from './host.js';
import { op as operator } from './numbers.js';
import { arePathsMeeting, type Variables } from './variables.js';

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
    return truth(equal, site) ? from(index) : compare(index + 1);
  };
  return compare(0);
}

function isEqual(value: unknown, expected: unknown, site: string): unknown {
  const array = [value, expected].find((each) => each instanceof NDArray);
  if (isCapturedTest(array)) {
    const other = array === value ? expected : value;
    const isComparable = typeof other === 'number' || typeof other === 'boolean';
    if (other instanceof NDArray) return array.equal(other);
    return isComparable ? array.equal(Number(other)) : false;
  }
  return operator('===', subject(value, site), subject(expected, site));
}
