import { isFloat } from '../../src/base/dtype.js';
import type { NDArray } from '../../src/index.js';
import { isInexact, isUnsureBesideInfinities, roundingOf } from './facts.js';
import { type FuzzProgram, refsOf, type Step } from './program.js';
import { isSum } from './sums.js';

/** The coarsest rounding that a step's results may differ by; 0 where they must be the same bits, infinite for anything. */
export function taintOf(
  { op }: Step,
  operandTaints: readonly number[],
  results: readonly NDArray[],
): number {
  const floats = results.filter(({ dtype }) => isFloat(dtype));
  if (floats.length === 0) return 0;
  if (isUnsureBesideInfinities(op) && !floats.every(isFinite)) return Infinity;
  const carried = Math.max(0, ...operandTaints);
  if (carried === 0 && !isInexact(op)) return 0;
  return Math.max(carried, ...floats.map(({ dtype }) => roundingOf(dtype)));
}

function isFinite(array: NDArray): boolean {
  return array.astype('float64').dataSync().every(Number.isFinite);
}

/** The taint of every value of a program, those of bodies among them, given one run of it. */
export function taintsOf(
  { steps }: FuzzProgram,
  values: ReadonlyMap<number, NDArray>,
): Map<number, number> {
  const taints = new Map<number, number>();
  taintSteps(steps, values, taints);
  return taints;
}

/** Adds the taints of what steps make; what bodies carry around keeps the worst of it. */
function taintSteps(
  steps: readonly Step[],
  values: ReadonlyMap<number, NDArray>,
  taints: Map<number, number>,
): void {
  const taintFor = (id: number): number => taints.get(id) ?? 0;
  const worsen = (id: number, taint: number): void => {
    const value = values.get(id);
    if (value === undefined || !isFloat(value.dtype)) return;
    taints.set(id, Math.max(taintFor(id), taint && Math.max(taint, roundingOf(value.dtype))));
  };
  for (const step of steps) {
    if (step.regions !== undefined) {
      taintControl(step, values, taints, worsen);
      continue;
    }
    const made = step.results.flatMap((id) => values.get(id) ?? []);
    const taint = taintOf(step, refsOf(step).map(taintFor), made);
    for (const id of step.results) worsen(id, taint);
    // What is read of an assigned state is what was assigned.
    if (step.op === 'assign') worsen(refsOf(step)[0], taintFor(refsOf(step)[1]));
  }
}

/** Adds the taints of what one step makes. */
export function taintsOfStep(
  step: Step,
  values: ReadonlyMap<number, NDArray>,
  taints: Map<number, number>,
): void {
  taintSteps([step], values, taints);
}

/** The finest rounding there is: values take that of their dtype. */
const finest = roundingOf('float64');

function taintControl(
  step: Step,
  values: ReadonlyMap<number, NDArray>,
  taints: Map<number, number>,
  worsen: (id: number, taint: number) => void,
): void {
  const { args, regions = [], results } = step;
  const [body] = regions;
  const taintFor = (id: number): number => taints.get(id) ?? 0;
  const given = refsOf({ op: '', args, results: [] });
  const stateResults = results.slice(body.outputs.length);
  const sumOfTaints = (): number => [...taints.values()].reduce((sum, taint) => sum + taint, 0);
  stateResults.forEach((id, k) => {
    if (k < body.states.length && isSum(step, k)) worsen(id, finest);
  });
  let before: number;
  do {
    before = sumOfTaints();
    for (const region of regions) {
      region.params.forEach((id, k) => worsen(id, taintFor(given[k])));
      taintSteps(region.steps, values, taints);
      region.outputs.forEach((id, k) => worsen(results[k], taintFor(id)));
    }
    // A list has a row before the loop.
    if (step.op === 'push') worsen(results[0], taintFor(given.at(-1)!));
    const first = body.params.length - body.states.length;
    body.states.forEach((id, k) => {
      const worst = Math.max(taintFor(id), taintFor(given[first + k]));
      worsen(stateResults[k], worst);
      for (const { params } of regions) {
        const own = params.at(k - body.states.length);
        if (own !== undefined) worsen(own, worst);
      }
    });
  } while (sumOfTaints() !== before);
}
