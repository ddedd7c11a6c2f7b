import { type DType, isFloat } from '../../src/base/dtype.js';
import type { NDArray } from '../../src/index.js';
import { registry } from '../../src/ops/registry.js';
import { type FuzzProgram, refsOf, type Step } from './program.js';

/** Operators that no program calls, each with the reason. */
export const excluded: ReadonlyMap<string, string> = new Map([
  ['call', 'takes a program; hybridized functions inside others become it'],
  ['withGradient', 'takes programs; customGradient becomes it'],
]);

/** Of the families whose results depend on an order of summation, those that do not. */
const exactThere = new Set([
  'all', 'any', 'argmax', 'argmin', 'countNonzero', 'cummax', 'cummaxPosition', 'cummin',
  'cumminPosition', 'max', 'min', 'maxPool', 'slidingWindows', 'windowCounts',
]); // prettier-ignore
const inexactFamilies = new Set(['reduction', 'contraction', 'normalisation']);
/** Of the other families, those that add up what falls on one element. */
const accumulating = new Set([
  'scatterAdd', 'takeAdjoint', 'padAdjoint', 'sliceAdjoint', 'diagonalAdjoint',
]); // prettier-ignore

/** Whether floats may come out a little different when the loops run in another order. */
export function isInexact(op: string): boolean {
  const family = registry.get(op)?.family;
  if (family === undefined) return false;
  return accumulating.has(op) || (inexactFamilies.has(family) && !exactThere.has(op));
}

/** Floats from floats, with jumps: a little before can be a lot after. */
const jumping = new Set([
  'floor', 'ceil', 'round', 'trunc', 'sign', 'heaviside', 'mod', 'fmod', 'floorDivide', 'copysign',
  'atan2', 'searchsorted', 'oneHot', 'pow', 'digamma', 'lgamma', 'polygamma', 'tan', 'randomUniform',
]); // prettier-ignore
/** Continuous, but their slopes jump. */
const kinked = new Set([
  'abs', 'relu', 'relu6', 'clip', 'max', 'min', 'maximum', 'minimum', 'fmax', 'fmin', 'leakyRelu',
  'elu', 'selu', 'hardSigmoid', 'hardSwish', 'sort', 'topK', 'cummax', 'cummin', 'maxPool', 'norm',
  'prod', 'cumprod', 'nanToNum',
]); // prettier-ignore

/** Whether an operator must not see values that are only nearly equal. */
export function needsExact(op: string): boolean {
  return jumping.has(op) || kinked.has(op);
}

/** Whether an operator looks at nothing but the type of what it is given. */
export function readsNothing(op: string): boolean {
  return ['zerosLike', 'onesLike', 'fullLike', 'dimLike'].includes(op);
}

const roundings: Readonly<Partial<Record<DType, number>>> = {
  float64: 2 ** -53,
  float32: 2 ** -24,
  float16: 2 ** -11,
  bfloat16: 2 ** -8,
};

/** The relative rounding error of a float dtype; 0 for the others. */
export function roundingOf(dtype: DType): number {
  return roundings[dtype] ?? 0;
}

/** The coarsest rounding that a step's results may differ by; 0 where they must be the same bits. */
export function taintOf(
  { op }: Step,
  operandTaints: readonly number[],
  results: readonly NDArray[],
): number {
  const floats = results.filter(({ dtype }) => isFloat(dtype));
  if (floats.length === 0) return 0;
  const carried = Math.max(0, ...operandTaints);
  if (carried === 0 && !isInexact(op)) return 0;
  return Math.max(carried, ...floats.map(({ dtype }) => roundingOf(dtype)));
}

/** The taint of every value of a program, given one run of it. */
export function taintsOf(
  { steps }: FuzzProgram,
  values: ReadonlyMap<number, NDArray>,
): Map<number, number> {
  const taints = new Map<number, number>();
  for (const step of steps) {
    const operands = refsOf(step).map((id) => taints.get(id) ?? 0);
    const results = step.results.map((id) => values.get(id)!);
    const taint = taintOf(step, operands, results);
    for (const id of step.results) taints.set(id, isFloat(values.get(id)!.dtype) ? taint : 0);
    // What is read of an assigned state is what was assigned.
    if (step.op === 'assign') taints.set(refsOf(step)[0], taints.get(refsOf(step)[1]) ?? 0);
  }
  return taints;
}
