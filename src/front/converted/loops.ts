import { graphDirective } from '../../base/directive.js';
import { KaonError, TraceError } from '../../base/errors.js';
import { checkRows, rowsOf } from '../arrays/iterate-rows.js';
import { foreach } from '../control/index.js';
import { mode } from '../core/mode.js';
import { NDArray } from '../core/ndarray.js';
import { after, and, branch, proceed } from './branch.js';
import { CapturedLoop, type Going, knownLoop } from './captured-loop.js';
import { asDecision, asTest, choose, isCapturedTest, trackedChanges, truth } from './choose.js';
import {
  breakOf,
  codesOf,
  type Completion,
  completionOf,
  continueOf,
  type Next,
  normal,
  without,
  withoutBreak,
} from './completion.js';
import { type Counting, iterationsLeft } from './counting.js';
import { ChangeWatch } from './effects.js';
import { Findings, retracing } from './findings.js';
import { FirstIteration } from './first-iteration.js';
import {
  askExits,
  type LeadingExits,
  leaveByExit,
  NotLeading,
  passExits,
  runBody,
  seekExit,
} from './leading-exits.js';
import { rowsOfList } from './lists/list-proxy.js';
import { isOfCollection } from './values/host-changes.js';
import { placeOf } from './values/host.js';
import { held } from './values/optionals.js';
import { logging } from './values/path.js';
import { Retrace, type TraceFacts } from './values/trace-facts.js';
import { restore, saveVariables, type Variables } from './values/variables.js';

/** The parts of a `while`, `do` or `for` loop. */
interface LoopParts {
  readonly site: string;
  readonly number: number;
  /** Undefined for a loop that only jumps end. */
  readonly test: (() => unknown) | undefined;
  readonly body: (next: Next) => Completion;
  readonly update: (() => void) | undefined;
  readonly variables: readonly Variables[];
  readonly counting: Counting | undefined;
  /** Undefined where jumps from elsewhere leave the loop. */
  readonly exits: LeadingExits | undefined;
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
  counting?: Counting,
  exits?: LeadingExits,
): Completion {
  const changed = trackedChanges(variables, undefined);
  const parts = { site, number, test, body, update, variables: changed, counting, exits };
  const { capture } = mode;
  // An iteration that comes before any test is none that the test decides.
  const first = isTestFirst ? asked(parts) : { test: true, isPure: test === undefined };
  let left = iterationsLeft(counting);
  const starting: Going = { test: true, isPure: true, completion: undefined, mayBreak: false };
  for (let [going, iterations] = [{ ...starting, ...first } as Going, 0]; ; iterations++) {
    if (isCapturedTest(going.test)) return behind(parts, capturedLoop(parts, going, left), next);
    if (!truth(going.test)) return after(going.completion, next, site);
    const before = iterationsLeft(counting);
    const limit = counting?.now()[1];
    // The host knows that there is an iteration, so a loop that begins again is one as any other.
    const start: Going = { ...starting, isPure: going.isPure };
    const findings = capture === null ? null : Findings.of(`${site} ${iterations}`, changed);
    const tried = (run: () => Going | null): Going | { readonly end: LoopEnd } | null => {
      if (capture === null || findings === null) return run();
      const iteration = new FirstIteration(capture, parts.variables, run);
      const { result } = iteration;
      if (result !== null && !isCapturedTest(result.test)) return result;
      const end = iteration.replacedBy(() => ({
        end: capturedLoop(parts, start, before, findings),
      }));
      findings.isReplaced = end !== null;
      return end ?? result;
    };
    const inside = (run: () => Going | null) => (): Going | null =>
      findings === null ? run() : findings.within(run);
    const result =
      (findings?.isReplaced === true ? tried(() => null) : null) ??
      tried(inside(() => iterateTo(parts))) ??
      tried(inside(() => iterate(parts)))!;
    if ('end' in result) return behind(parts, result.end, next);
    going = result;
    left = counting?.now()[1] === limit && before !== null ? before - 1 : null;
  }
}

/** The test of a loop. */
function asked({ test, variables }: LoopParts): Pick<Going, 'test' | 'isPure'> {
  const { capture } = mode;
  if (test === undefined) return { test: true, isPure: true };
  if (capture === null) return { test: test(), isPure: true };
  return logging((log) => {
    const watch = new ChangeWatch(capture, variables, log);
    const checked = capture.calls.checked.length;
    const value = asDecision(test());
    return { test: value, isPure: watch.isPure && capture.calls.checked.length === checked };
  }).result;
}

/** One iteration, as `iterate`; null where a leading exit that an array decides comes before it changes anything. */
function iterateTo(parts: LoopParts): Going | null {
  const { exits, variables, body } = parts;
  if (exits === undefined) return iterate(parts);
  const run = seekExit(exits, variables, () => body(undefined));
  return run && goOn(parts, run.completion);
}

/** The end of a loop that was one operator. */
interface LoopEnd {
  readonly completion: Completion;
  /** The exit that ended the loop where `isLeft` holds. */
  readonly exit?: { readonly exits: LeadingExits; readonly isLeft: () => unknown };
}

/** One iteration, up to the next test. */
function iterate(parts: LoopParts): Going {
  return goOn(
    parts,
    runBody(() => parts.body(undefined)),
  );
}

/** True for the code of an end of the body after which there is a next test. */
function goesOnAfter({ number }: LoopParts): (code: number) => boolean {
  return (code) => code === normal || code === continueOf(number);
}

/** The end of an iteration whose body has ended so. */
function goOn(parts: LoopParts, completion: Completion): Going {
  const { site, number, update, variables, counting } = parts;
  const isGoingOn = goesOnAfter(parts);
  const codes = [...codesOf(completion)];
  const mayBreak = codes.includes(breakOf(number));
  if (codes.every(isGoingOn)) {
    update?.();
    return { ...asked(parts), completion: undefined, mayBreak };
  }
  const left = withoutBreak(completion, number);
  if (!codes.some(isGoingOn) || completion?.kind !== 'mixed')
    return { test: false, isPure: true, completion: left, mayBreak };
  // A counter that nobody reads behind the loop may be counted on where the loop is left.
  if (counting?.isOwn === true) update?.();
  // Some ends go on. The test is what such a path returns; the others return that it does not hold.
  const going = codes.filter(isGoingOn);
  const holds = going.map((code) => completion.code.equal(code)).reduce((a, b) => a.logicalOr(b));
  const answer = (value: () => unknown) => (): Completion => ({
    kind: 'return',
    value: asTest(value()),
  });
  const again = (): unknown => {
    if (counting?.isOwn !== true) update?.();
    return asked(parts).test;
  };
  const decision = choose(holds, [answer(again), answer(() => false)], variables, site);
  const test = decision?.kind === 'return' ? decision.value : false;
  return { test, isPure: false, completion: left, mayBreak };
}

/**
 * The rest of a loop as one operator, from a test on that has been evaluated. `left`: upper bound of the number of
 * iterations, unless an iteration changes the limit of the counter.
 */
function capturedLoop(
  parts: LoopParts,
  start: Going,
  left: number | null,
  findings?: Findings,
): LoopEnd {
  const { variables, counting, exits } = parts;
  const trace = (facts: TraceFacts): LoopEnd => {
    const mayEnd = parts.test !== undefined || start.mayBreak || exits !== undefined;
    const known = knownLoop(facts, start.completion, mayEnd);
    const limit = left === null ? null : counting!.now()[1];
    const most = typeof limit !== 'number' || known.isLimitChanged ? null : left;
    const loop = new CapturedLoop(variables, facts, known, start.completion, most, parts.site);
    const seen = (): void => {
      if (most === null || counting?.now()[1] === limit) return;
      known.isLimitChanged = true;
      facts.learn('the limit of the counter');
    };
    // The limit of the operator is that of the counter.
    const isCounted = most !== null && counting!.isWhole;
    if (
      exits === undefined ||
      known.isTestCarried ||
      !start.isPure ||
      start.completion !== undefined
    ) {
      const completion = loop.run(asTest(start.test), () => {
        const going = iterate(isCounted ? { ...parts, test: undefined } : parts);
        seen();
        return going;
      });
      return { completion };
    }
    const isEndless = parts.test === undefined || isCounted;
    const body = (): Completion => parts.body(undefined);
    const askBody = (): unknown => askExits(exits, body);
    const ask = (): unknown => {
      if (exits.count === 0) return isEndless || parts.test!();
      return isEndless ? askBody() : and(parts.site, parts.test!(), askBody);
    };
    try {
      const iterations = loop.runWhile(ask, () => {
        if (![...codesOf(passExits(exits, body))].every(goesOnAfter(parts))) throw new NotLeading();
        parts.update?.();
        seen();
      });
      if (exits.count === 0 || exits.areBreaks) return { completion: undefined };
      const isLeft = (): unknown => (isCounted ? iterations.less(most) : (parts.test?.() ?? true));
      return { completion: undefined, exit: { exits, isLeft } };
    } catch (error) {
      if (error instanceof Retrace) throw error;
      // With the test as a state the loop is traced in another way, and errors of the user's are those of that.
      known.isTestCarried = true;
      facts.learn('the test of the loop');
    }
  };
  return retracing(parts.site, variables, trace, findings);
}

/** Goes on behind a loop that was one operator, by way of what its exit does where that has left it. */
function behind(parts: LoopParts, { completion, exit }: LoopEnd, next: Next): Completion {
  const { site, number, body, variables } = parts;
  if (exit === undefined) return after(completion, next, site);
  const leave = (following: Next): Completion =>
    after(
      withoutBreak(
        leaveByExit(exit.exits, () => body(undefined)),
        number,
      ),
      following,
      site,
    );
  return branch(site, exit.isLeft(), leave, undefined, variables[0], next);
}

/** A `for...of` loop: over host iterables JavaScript's own, over the rows of a captured array one operator. */
export function each(
  site: string,
  number: number,
  given: unknown,
  body: (value: unknown, next: Next) => Completion,
  variables: Variables | undefined,
  next?: Next,
): Completion {
  const changes = trackedChanges(variables, undefined);
  const iterable = held(given, site);
  const collected = rowsOfList(iterable);
  if (collected !== null) {
    const { rows, shown } = collected;
    const run: typeof body = (row, following) => body(shown(row as never), following);
    return after(capturedRows(site, number, rows, run, changes), next, site);
  }
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
    values instanceof Set ||
    isOfCollection(values)
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
  const [count] = rows.type.shape;
  const saved = variables.map(saveVariables);
  const trace = (facts: TraceFacts): Completion => {
    const known = knownLoop(facts, undefined, true);
    const traced = new CapturedLoop(variables, facts, known, undefined, count, site);
    const mayLeave = known.codes.size > 0 && [...known.codes].some((code) => code !== normal);
    const [stacked, states] = foreach(
      (row: NDArray, before: NDArray[]) => {
        const run = (): Going => ({
          test: true,
          isPure: true,
          completion: onlyLeaving(body(row, undefined), number),
          mayBreak: true,
        });
        const iterate = mayLeave
          ? (): Going => ({
              test: true,
              isPure: true,
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
          facts.learn('the loop is left early');
        }
        return [outputs, [...after]];
      },
      rows,
      [...traced.initial],
    ) as unknown as [NDArray[], NDArray[]];
    return withoutBreak(traced.leave(states, stacked), number);
  };
  try {
    return retracing(site, variables, trace);
  } catch (error) {
    // Eager code does not run the body then, which may fail for arrays that have no elements.
    const isForeign = !(error instanceof KaonError) || error instanceof TraceError;
    if (count !== 0 || isForeign) throw error;
    variables.forEach((each, i) => restore(each, saved[i]));
    return undefined;
  }
}
