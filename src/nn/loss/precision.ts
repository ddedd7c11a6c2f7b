import { isFloat, isNarrowFloat, promoteAll } from '../../base/dtype.js';
import { NDArray } from '../../front/core/ndarray.js';

/** The dtype of a loss on predictions and targets. */
function dtypeOf(predictions: NDArray, targets: NDArray): NDArray['dtype'] {
  return isFloat(targets.dtype)
    ? promoteAll([predictions.dtype, targets.dtype])
    : predictions.dtype;
}

/**
 * True when a loss of these operands has 16 bits, so that it is computed `inFloat32`. Values that are not
 * arrays are refused later, by the loss.
 */
export function isNarrowLoss(predictions: NDArray, targets: NDArray): boolean {
  const areArrays = predictions instanceof NDArray && targets instanceof NDArray;
  return areArrays && isNarrowFloat(dtypeOf(predictions, targets));
}

/** Computes a loss of 16-bit floats, whose squares and sums overflow, in float32, and rounds once. */
export function lossInFloat32<O>(
  loss: (predictions: NDArray, targets: NDArray, options: O) => NDArray,
  predictions: NDArray,
  targets: NDArray,
  options: O,
): NDArray {
  const [p, t] = [predictions, targets].map((each) =>
    isFloat(each.dtype) ? each.astype('float32') : each,
  );
  return loss(p, t, options).astype(dtypeOf(predictions, targets));
}
