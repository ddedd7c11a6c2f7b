import { type Dim, sameDim } from '../../base/dim/index.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import { checkArgument, instanceOf, type ValueRule } from '../../base/attributes/options.js';
import { NDArray } from '../../front/core/ndarray.js';
import { ofShape } from '../../front/dispatch/meeting.js';
import { type Refusal, refusalError, words } from '../../ir/requirement.js';
import type { Shape } from '../../ir/types.js';

const array: ValueRule<NDArray> = instanceOf('an array', NDArray);

/** Refuses predictions and targets that are not arrays. */
export function checkArrays(op: string, arrays: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(arrays)) checkArgument(op, name, value, array);
}

/**
 * Targets with the shape of the predictions. Refuses others, as far as the sizes are known before the data decides
 * them, and values that are not arrays.
 * @param advice What to do about others.
 */
export function fittingTargets(
  op: string,
  predictions: NDArray,
  targets: NDArray,
  advice?: string,
): NDArray {
  checkArrays(op, { predictions, targets });
  const { shape } = predictions.type;
  const refusal = (wanted: Shape, actual: Shape): Refusal => ({
    op,
    problem: words`predictions and targets differ in shape`,
    expected: words`${wanted}`,
    actual: words`${actual}`,
    ...(advice !== undefined && { advice }),
  });
  const fitting = ofShape(targets, shape, () => refusal(shape, targets.type.shape));
  if (fitting !== null) return fitting;
  if (sameSizes(shape, predictions, targets)) return targets;
  throw refusalError(refusal(predictions.shape, targets.shape));
}

/** Labels with the shape of the logits without the class axis; refuses others as `fittingTargets` does. */
export function fittingLabels(op: string, logits: NDArray, labels: NDArray, axis: number): NDArray {
  const rows = logits.type.shape.toSpliced(axis, 1);
  const refusal = (wanted: Shape, actual: Shape): Refusal => ({
    op,
    problem: words`there must be one label for each row of classes`,
    expected: words`${wanted}, the logits without axis ${String(axis)}`,
    actual: words`${actual}`,
    advice: 'give probabilities of every class as floats',
  });
  const fitting = ofShape(labels, rows, () => refusal(rows, labels.type.shape));
  if (fitting !== null) return fitting;
  const isSame = (dim: Dim, at: number): boolean =>
    sameDim(dim, labels.type.shape[at]) ||
    logits.shape[at < axis ? at : at + 1] === labels.shape[at];
  if (labels.ndim === rows.length && rows.every(isSame)) return labels;
  throw refusalError(refusal(logits.shape.toSpliced(axis, 1), labels.shape));
}

/** The axis of the classes, counted from the front. */
export function classAxis(op: string, logits: NDArray, axis: number): number {
  const along = axis < 0 ? axis + logits.ndim : axis;
  if (along >= 0 && along < logits.ndim) return along;
  throw new ShapeError(`axis ${axis} does not exist`, {
    op,
    expected: `logits with an axis of classes`,
    actual: `rank ${logits.ndim}`,
  });
}

/** Compares sizes; identical symbols are equal without reading their values. */
function sameSizes(shape: readonly Dim[], a: NDArray, b: NDArray): boolean {
  const isSame = (dim: Dim, axis: number): boolean =>
    sameDim(dim, b.type.shape[axis]) || a.shape[axis] === b.shape[axis];
  return shape.length === b.ndim && shape.every(isSame);
}

/** Renames an error of an operator that the loss is made of to the loss. */
export function inNameOf<R>(op: string, operator: string, make: () => R): R {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ArgumentError && error.op === operator)) throw error;
    const { expected = '', actual = '', advice = '' } = error;
    throw new ArgumentError(error.problem, { op, expected, actual, advice, cause: error });
  }
}
