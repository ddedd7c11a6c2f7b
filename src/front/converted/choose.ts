import { graphDirective } from '../../base/directive.js';
import { checkPredicate } from '../../ops/control/body.js';
import { array } from '../arrays/creation.js';
import { cond } from '../control/index.js';
import { mode } from '../core/mode.js';
import { NDArray } from '../core/ndarray.js';
import {
  codesOf,
  type Completion,
  completionOf,
  type Next,
  normal,
  returnedBy,
} from './completion.js';
import { retracing } from './findings.js';
import { returnedName } from './values/absence.js';
import { noteChoice } from './values/shared-objects.js';
import { isNumberArray, withoutSize } from './values/numbers.js';
import { assume, factsFrom, knowing, noteFacts, optionalOf, presence } from './values/optionals.js';
import { decided, isDecided, type PushedRows } from './values/path.js';
import { addPushed, checkEntries } from './lists/row-list.js';
import { BranchRows } from './lists/rows.js';
import { nothingLeft } from './values/throws.js';
import { Tracking } from './values/tracking.js';
import {
  type Entry,
  type PackedLayout,
  pack,
  packLike,
  placeholders,
  unpack,
} from './values/values.js';
import type { TraceFacts } from './values/trace-facts.js';
import {
  assignVariables,
  entriesOf,
  restore,
  saveVariables,
  type Variables,
} from './values/variables.js';

/** True if a value is an array that decides when the graph runs. */
export function isCapturedTest(value: unknown): value is NDArray {
  return mode.capture !== null && value instanceof NDArray;
}

/** A test of a value that may be absent: where it is, the test does not hold. Other values are as they are. */
export function asDecision(given: unknown): unknown {
  const value = withoutSize(given);
  const optional = optionalOf(value);
  if (optional === undefined) return value;
  const present = presence(value);
  const isTested = optional.value instanceof NDArray;
  if (present === false) return false;
  if (present === true) return isTested ? optional.value : true;
  if (!isTested) return present;
  const decides = present.logicalAnd(predicateOf(optional.value).reshape([]));
  noteFacts(decides, { whenTrue: factsFrom(present, true), whenFalse: [] });
  return decides;
}

/** An array as a test: a number of the user's is true where JavaScript takes it for true. */
export function predicateOf(test: NDArray): NDArray {
  const isNumber = isNumberArray(test) && test.dtype !== 'bool';
  // NaN is false, and is not equal to itself.
  const decides: NDArray = isNumber ? test.notEqual(0).logicalAnd(test.equal(test)) : test;
  checkPredicate(graphDirective, 'the test', decides.type);
  return decides;
}

/** Two paths, of which an array chooses one; the variables they change get what the chosen one gives them. */
export function choose(
  test: NDArray,
  given: readonly [() => Completion, () => Completion],
  variables: readonly Variables[],
  site: string,
  mayLack: boolean = false,
): Completion {
  const decides = predicateOf(test);
  const assuming = (holds: boolean, path: () => Completion) => (): Completion => {
    assume(factsFrom(test, holds));
    return path();
  };
  const paths = [assuming(true, given[0]), assuming(false, given[1])] as const;
  return retracing(site, variables, (facts) => {
    const [first, second] = paths;
    const tracking = Tracking.of(facts);
    const all = [...variables, ...tracking.variables];
    return facts.order?.isSwapped === true
      ? attempt(decides.logicalNot(), [second, first], all, site, facts, mayLack, tracking)
      : attempt(decides, paths, all, site, facts, mayLack, tracking);
  });
}

/** The first path tells what the other one has to give: better not one that throws, or lacks a value. */
function swapOrder(facts: TraceFacts, reason: 'dead' | 'lacking'): void {
  const { order } = facts;
  const swaps = order?.swaps ?? 0;
  // A path that lacks values is first after all where the other one throws.
  if (swaps > (order?.reason === 'lacking' && reason === 'dead' ? 1 : 0)) return;
  facts.order = { isSwapped: order?.isSwapped !== true, reason, swaps: swaps + 1 };
  facts.learn(`the order of the paths, ${swaps}`);
}

function attempt(
  test: NDArray,
  paths: readonly [() => Completion, () => Completion],
  variables: readonly Variables[],
  site: string,
  facts: TraceFacts,
  mayLack: boolean,
  tracking: Tracking,
): Completion {
  const isSwapped = facts.order?.isSwapped === true;
  const saved = variables.map(saveVariables);
  const run = (
    path: () => Completion,
    give: (
      completion: Completion,
      entries: readonly Entry[],
      pushed: PushedRows,
    ) => readonly NDArray[],
  ): readonly NDArray[] => {
    variables.forEach((each, i) => restore(each, saved[i]));
    const objects = tracking.onPath(String((path === paths[0]) !== isSwapped), saved);
    const { result, traced } = decided<Completion>(path, () => ({ kind: 'dead' }), objects);
    const entries = variables.flatMap(entriesOf);
    given.push([returnedBy(result)?.value, ...entries.map(({ value }) => value)]);
    checkEntries(entries, traced);
    return knowing(traced, () => give(result, entries, traced.pushed));
  };
  const rows = new BranchRows(facts);
  /** A path that returns does not have to give variables of what follows. */
  const lacks = (completion: Completion, entries: readonly Entry[]): boolean =>
    mayLack && completion?.kind === 'return' && entries.some(({ value }) => value === undefined);
  let isFirstDead = false;
  let layouts: readonly PackedLayout[] = [];
  let returnLayouts: readonly PackedLayout[] | null = facts.lateReturn;
  const codes = new Set<number>();
  const line = site.split(':')[0];
  /** Values that the paths give: what they return, and those of variables. */
  const given: (readonly unknown[])[] = [];
  const results = cond(
    test,
    () =>
      run(paths[0], (completion, entries, pushed) => {
        if (completion?.kind === 'dead') swapOrder(facts, 'dead');
        else if (lacks(completion, entries)) swapOrder(facts, 'lacking');
        if (completion?.kind === 'dead') {
          isFirstDead = true;
          return [codeOf(undefined)];
        }
        for (const code of codesOf(completion)) codes.add(code);
        const returned = returnedBy(completion);
        let values: readonly NDArray[] = [];
        if (returned !== null) {
          const packed = pack([returnEntry(returned.value)], facts);
          returnLayouts = packed.layouts;
          values = packed.leaves;
        } else if (returnLayouts !== null)
          values = placeholders(returnLayouts, { mayDiffer: true });
        const packed = pack(entries, facts);
        layouts = packed.layouts;
        return [codeOf(completion), ...values, ...packed.leaves, ...rows.outputs(pushed, true)];
      }),
    () =>
      run(paths[1], (completion, entries, pushed) => {
        if (isFirstDead) return [codeOf(undefined)];
        for (const code of codesOf(completion)) codes.add(code);
        if (completion?.kind === 'dead') {
          const all = [...(returnLayouts ?? []), ...layouts];
          return [codeOf(undefined), ...placeholders(all, { mayDiffer: true }), ...rows.outputs(pushed, false)]; // prettier-ignore
        }
        const returned = returnedBy(completion);
        const agreement = {
          path: `where the test in line ${line} is ${isSwapped}`,
          other: `where the test in line ${line} is ${!isSwapped}`,
          mayDiffer: true,
          isState: false,
          site,
        };
        let values: readonly NDArray[] = [];
        if (returned !== null && returnLayouts === null) {
          facts.lateReturn = pack([returnEntry(returned.value)], facts).layouts;
          facts.learn(`${returnedName} of the second path`);
        } else if (returned !== null) {
          values = packLike([returnEntry(returned.value)], returnLayouts!, facts, agreement);
        } else if (returnLayouts !== null)
          values = placeholders(returnLayouts, { mayDiffer: true });
        const given = lacks(completion, entries)
          ? entries.flatMap((entry, i) =>
              entry.value === undefined
                ? placeholders([layouts[i]], agreement)
                : packLike([entry], [layouts[i]], facts, agreement),
            )
          : packLike(entries, layouts, facts, agreement);
        return [codeOf(completion), ...values, ...given, ...rows.outputs(pushed, false)];
      }),
  ) as unknown as readonly NDArray[];
  if (isFirstDead) throw nothingLeft(isDecided(), site);
  const [code, ...leaves] = results;
  const count =
    (returnLayouts as readonly PackedLayout[] | null)?.flatMap(({ types }) => types).length ?? 0;
  const returned = returnLayouts === null ? null : { value: unpack(returnLayouts, leaves.slice(0, count))[0] }; // prettier-ignore
  const values = unpack(layouts, leaves.slice(count));
  for (const [i, value] of [returned?.value, ...values].entries()) noteChoice(value, given.map((each) => each[i])); // prettier-ignore
  let at = 0;
  variables.forEach((each, i) => {
    const next = at + each.merged.length;
    assignVariables(each, saved[i], values.slice(at, next));
    at = next;
  });
  addPushed(rows.pushed(leaves.slice(count + layouts.flatMap(({ types }) => types).length)));
  return completionOf(codes, code, returned);
}

export function returnEntry(value: unknown): Entry {
  return { what: returnedName, value, isInteger: false };
}

export function codeOf(completion: Completion): NDArray {
  if (completion?.kind === 'mixed') return completion.code;
  const [code = normal] = codesOf(completion);
  return array(code, { dtype: 'int32' });
}

/** Changes of a statement, and before them of what follows it: where paths meet, a statement gives more. */
export function trackedChanges(variables: Variables | undefined, next: Next): readonly Variables[] {
  return [...(next?.changes ?? []), ...(variables === undefined ? [] : [variables])];
}

/** The truth of a value that no captured array is. */
export function truth(value: unknown): boolean {
  if (!(value instanceof NDArray)) return Boolean(value);
  checkPredicate(graphDirective, 'the test', value.type);
  return value.item() === true;
}

/** The value of a test as an array. */
export function asTest(given: unknown): NDArray {
  const value = asDecision(given);
  if (isCapturedTest(value)) return predicateOf(value).reshape([]);
  return array(truth(value), { dtype: 'bool' });
}
