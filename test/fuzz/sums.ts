import { registry } from '../../src/ops/registry.js';
import { readsNothing } from './facts.js';
import { allSteps, type FuzzProgram, refsOf, type Step } from './program.js';

/*
 * Where the body of a loop only adds to a state, and nothing else reads the state on the way, the compiler adds up all
 * terms behind the loop, in an order of its own. Such a state is a sum, and as inexact as the sums of operators.
 */

/** A value that another one is made of. */
type Tie = readonly [from: number, to: number];

/** Operators that the compiler may take for an addition, a factor of 1 or nothing at all. */
const additions = new Set(['add', 'sub']);
const passing = new Set([...additions, 'mul', 'div', 'neg', 'cast', 'detach']);

function passesOn({ op, regions }: Step): boolean {
  return regions !== undefined || passing.has(op) || registry.get(op)?.family === 'movement';
}

/** The additions to states of loops whose order is the compiler's in a program. */
export function sumsIn({ steps, outputs }: FuzzProgram): ReadonlySet<Step> {
  const live = liveIn(steps, outputs);
  return new Set(
    allSteps(steps).flatMap((step) =>
      statesOf(step).flatMap((_, state) => additionsTo(step, state, live)),
    ),
  );
}

/** True for a state of a loop that is a sum in programs that read nothing else of the loop. */
export function isSum(loop: Step, state: number): boolean {
  const result = loop.results[loop.regions![0].outputs.length + state];
  return additionsTo(loop, state, liveIn([loop], [result])).length > 0;
}

function statesOf({ regions }: Step): readonly number[] {
  return regions?.[0].states ?? [];
}

/** The additions through which a state goes around, if no live value is made of it elsewhere. */
function additionsTo(loop: Step, state: number, live: ReadonlySet<number>): readonly Step[] {
  const [body] = loop.regions!;
  const steps = allSteps(body.steps);
  const ties = steps.filter(passesOn).flatMap(tiesOf);
  const param = body.params[body.params.length - body.states.length + state];
  const before = reached([body.states[state]], reversed(ties));
  const around = new Set([...reached([param], ties)].filter((id) => before.has(id)));
  // An iteration ends by giving the state to the next one, or to who asks for it.
  const ends = new Set([...around, param, loop.results[body.outputs.length + state]]);
  const readers = [...steps, loop].flatMap(tiesOf).filter(([from]) => around.has(from));
  if (readers.some(([, to]) => live.has(to) && !ends.has(to))) return [];
  return steps.filter(({ op, results }) => additions.has(op) && around.has(results[0]));
}

/** The values that outputs and assignments depend on; of control flow only those results that are asked for. */
function liveIn(steps: readonly Step[], outputs: readonly number[]): ReadonlySet<number> {
  const deep = allSteps(steps);
  const written = deep.filter(({ op }) => op === 'assign').flatMap(refsOf);
  return reached([...outputs, ...written], reversed(deep.flatMap(tiesOf)));
}

function reversed(ties: readonly Tie[]): Tie[] {
  return ties.map(([from, to]) => [to, from]);
}

/** Everything that ties lead to. */
function reached(from: readonly number[], ties: readonly Tie[]): ReadonlySet<number> {
  const found = new Set(from);
  let before: number;
  do {
    before = found.size;
    for (const [one, other] of ties) if (found.has(one)) found.add(other);
  } while (found.size !== before);
  return found;
}

/** What the values of a step are made of; of control flow the values of its regions, too. */
function tiesOf(step: Step): Tie[] {
  const { op, args, results, regions } = step;
  const given = refsOf({ op, args, results: [] });
  if (regions === undefined) return readsNothing(op) ? [] : all(given, results);
  const [body, other, third] = regions;
  if (op === 'cond') {
    const asked = args[0] === null ? third.outputs : given;
    return [...all(asked, results), ...each(body.outputs, results), ...each(other.outputs, results)]; // prettier-ignore
  }
  const slices = body.params.length - body.states.length;
  const states = results.slice(body.outputs.length);
  const before = given.slice(slices);
  return [
    ...(op === 'whileLoop' ? all(other.outputs, results) : []),
    ...(op === 'push' ? all([given.at(-1)!, ...body.outputs], results.slice(0, 1)) : []),
    ...each(body.outputs, results),
    ...each(before, states),
    ...each(body.states, states),
    ...each(given, body.params),
    ...each(body.states, body.params.slice(slices)),
    ...(op === 'whileLoop' ? [...each(before, other.params), ...each(body.states, other.params)] : []), // prettier-ignore
  ];
}

function all(from: readonly number[], to: readonly number[]): Tie[] {
  return from.flatMap((one) => to.map((other): Tie => [one, other]));
}

function each(from: readonly number[], to: readonly number[]): Tie[] {
  return from.flatMap((one, k): Tie[] => (k < to.length ? [[one, to[k]]] : []));
}
