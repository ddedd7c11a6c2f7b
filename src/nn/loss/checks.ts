import { type Dim, sameDim } from '../../base/dim/index.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import { checkArgument, instanceOf, type ValueRule } from '../../base/attributes/options.js';
import { NDArray } from '../../front/core/ndarray.js';

const array: ValueRule<NDArray> = instanceOf('an array', NDArray);

/** Refuses predictions and targets that are not arrays. */
export function checkArrays(op: string, arrays: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(arrays)) checkArgument(op, name, value, array);
}

/** Refuses predictions and targets of different shapes, and values that are not arrays. */
export function checkSameShape(op: string, predictions: NDArray, targets: NDArray): void {
  checkArrays(op, { predictions, targets });
  if (sameSizes(predictions.type.shape, predictions, targets)) return;
  throw new ShapeError('predictions and targets differ in shape', {
    op,
    expected: `[${predictions.shape.join(', ')}]`,
    actual: `[${targets.shape.join(', ')}]`,
  });
}

/** Refuses labels whose shape is not that of the logits without the class axis. */
export function checkLabelShape(op: string, logits: NDArray, labels: NDArray, axis: number): void {
  const rows = logits.type.shape.toSpliced(axis, 1);
  const isSame = (dim: Dim, at: number): boolean =>
    sameDim(dim, labels.type.shape[at]) ||
    logits.shape[at < axis ? at : at + 1] === labels.shape[at];
  if (labels.ndim === rows.length && rows.every(isSame)) return;
  throw new ShapeError('there must be one label for each row of classes', {
    op,
    expected: `[${logits.shape.toSpliced(axis, 1).join(', ')}], the logits without axis ${axis}`,
    actual: `[${labels.shape.join(', ')}]`,
    advice: 'give probabilities of every class as floats',
  });
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
