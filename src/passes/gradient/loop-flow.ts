import { symbolsOf } from '../../base/dim/index.js';
import { isFloat } from '../../base/dtype.js';
import { determinedSymbols, symbolsOfTypes } from '../../ir/bind.js';
import type { Program } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import type { LoopStep } from '../../ops/declare/backward.js';
import { carriers, nodesBetween } from './flow.js';
import type { JointRequest } from './split.js';

/** A program and its gradients in one; see `differentiated`. */
export type Differentiate = (
  program: Program,
  wrt: readonly boolean[],
  flows: readonly boolean[],
  seeds?: SeedForms,
) => JointRequest & { readonly gives: readonly number[] };

/** Forms of the gradients of outputs, as inputs of the program that computes others from them. */
export interface SeedForms {
  /** By output, the axes along which its gradient has a size of another name, which in all runs is the same. */
  readonly loose?: readonly (readonly number[])[];
  /**
   * The number of outputs, from the first on, whose gradients are parts of arrays along the first axis: they are given
   * as this array and the place where they begin.
   */
  readonly joined?: number;
}

/** One differentiated iteration. */
export interface LoopFlow {
  readonly request: ReturnType<Differentiate>;
  /** The outputs of the body that have gradients, including those from the next iteration. */
  readonly flows: readonly boolean[];
}

/**
 * Differentiates one iteration with respect to all that leads to something that needs a gradient, for the
 * gradients that can enter from outside or from the next iteration. The latter are the gradients of the
 * states here, found by a fixed-point iteration; states without a gradient stay out of it. Null where there
 * is no gradient at all.
 */
export function loopFlow(step: LoopStep, differentiate: Differentiate): LoopFlow | null {
  const { body, slices, states, joined } = step;
  const rows = body.outputs.length - states;
  const { wrt, reaches } = wanted(step);
  const flows = body.outputs.map(
    (_, k) => step.flows[k] && (k < rows ? reaches[k] : wrt[slices + k - rows]),
  );
  for (;;) {
    if (!flows.includes(true)) return null;
    const request = differentiate(body, wrt, flows, {
      loose: looseAxes(body, flows, joined),
      joined,
    });
    const entered = request.gives
      .map((input) => rows + input - slices)
      .filter((output) => output >= rows && output < rows + states && !flows[output]);
    if (entered.length === 0) return { request, flows };
    for (const output of entered) flows[output] = true;
  }
}

/**
 * By output, the axes of a gradient whose size the data of an iteration decides in a form from which the gradients tell
 * no symbols, such as `rows * rows`: there, it has a size of its own.
 */
function looseAxes(
  { outputs, decidedSizes }: Program,
  flows: readonly boolean[],
  joined: number,
): readonly (readonly number[])[] {
  if (decidedSizes.size === 0) return [];
  const types = outputs.map(({ value }) => value.type);
  // The parts of joined gradients have the sizes of their rows, which are computed again.
  const isWhole = types.map((_, k) => flows[k] && k >= joined);
  const open = openSizes(types.filter((_, k) => isWhole[k]), decidedSizes); // prettier-ignore
  return types.map(({ shape }, k) =>
    shape.flatMap((dim, axis) =>
      isWhole[k] && [...symbolsOf(dim)].some((name) => open.has(name)) ? [axis] : [],
    ),
  );
}

/** The data-decided sizes that types speak of and arrays of these types do not determine. */
export function openSizes(
  types: readonly TensorType[],
  decided: Program['decidedSizes'],
): ReadonlySet<string> {
  const told = determinedSymbols(types);
  const names = [...symbolsOfTypes(types).keys()];
  return new Set(names.filter((name) => decided.has(name) && !told.has(name)));
}

/** The inputs of the body through which values that need a gradient are reached, and the outputs they reach. */
function wanted({ body, slices, states, needs }: LoopStep): {
  readonly wrt: readonly boolean[];
  readonly reaches: readonly boolean[];
} {
  const outputs = body.outputs.map(({ value }) => value);
  const rows = outputs.length - states;
  const wrt = body.inputs.map(({ type }, k) => needs[k] && isFloat(type.dtype));
  for (;;) {
    const from = body.inputs.filter((_, k) => wrt[k]);
    const carries = carriers(body, nodesBetween(body, from, outputs), new Set(from));
    const reaches = outputs.map((value) => carries.has(value));
    // A state depends on everything that it was made of in the previous iteration.
    const entered = reaches.flatMap((reached, k) =>
      reached && k >= rows && !wrt[slices + k - rows] ? [slices + k - rows] : [],
    );
    if (entered.length === 0) return { wrt, reaches };
    for (const input of entered) wrt[input] = true;
  }
}
