import type { DType } from '../../src/base/dtype.js';
import type { Target } from '../../src/loop/language/target.js';
import { registry } from '../../src/ops/registry.js';

/** Operators that no program calls, each with the reason. */
export const excluded: ReadonlyMap<string, string> = new Map([
  ['call', 'takes a program; hybridized functions inside others become it'],
  ['withGradient', 'takes programs; customGradient becomes it'],
  ['check', 'gives nothing to go on with; the random programs of test/source call it'],
  ['stretchTo', 'captured code calls it, where sizes that data decides meet others'],
]);

/** Of the families whose results depend on an order of summation, those that do not. */
const exactThere = new Set([
  'adaptiveMaxPool', 'all', 'any', 'argmax', 'argmin', 'countNonzero', 'cummax', 'cummaxPosition', 'cummin',
  'cumminPosition', 'exchangeBins', 'max', 'min', 'maxPool', 'slidingWindows', 'windowCounts',
]); // prettier-ignore
const inexactFamilies = new Set(['reduction', 'contraction', 'normalization']);
/** Of the other families, those that add up what falls on one element. */
const accumulating = new Set([
  'scatterAdd', 'takeAdjoint', 'padAdjoint', 'sliceAdjoint', 'diagonalAdjoint',
]); // prettier-ignore

/** Functions of which devices that emulate float64 may give the other neighbor of the exact value. */
const inOtherWays = new Set([
  'sin', 'cos', 'tan', 'sinc', 'pow', 'cbrt', 'lgamma', 'digamma', 'polygamma',
]); // prettier-ignore
/** Adjoints of convolutions: zeros outside of their operands make NaN of infinite weights, where a device multiplies by them. */
const withZerosOutside = new Set(['convTranspose', 'convWeightGradient']);
let isOtherWay = false;

/** Has functions count as inexact that a device computes in other ways than CPUs do. */
export function compareWith({ emulatesFloat64 = false }: Target): void {
  isOtherWay = emulatesFloat64;
}

/** True where what comes of infinities, NaN or infinities, depends on the device. */
export function isUnsureBesideInfinities(op: string): boolean {
  return isOtherWay && withZerosOutside.has(op);
}

/** True where floats may come out a little different: loops run in another order, or a device has another way. */
export function isInexact(op: string): boolean {
  if (isOtherWay && inOtherWays.has(op)) return true;
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
  'elu', 'selu', 'hardSigmoid', 'hardSwish', 'sort', 'topK', 'cummax', 'cummin', 'maxPool', 'adaptiveMaxPool', 'norm',
  'prod', 'cumprod', 'nanToNum', 'unique', 'nonMaxSuppression', 'keptBoxes',
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
