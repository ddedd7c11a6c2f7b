import { unflatten } from '../../base/tree.js';
import { mode, withMode } from '../mode.js';
import type { NDArray } from '../ndarray.js';
import { capturedCond } from './capturedCond.js';
import { checkedPredicate, checkFunction } from './checks.js';
import { settled } from './eager.js';
import { type Nested, takeApart } from './nesting.js';

const op = 'cond';

/**
 * Runs `then` when the predicate is true and `otherwise` when it is not, and gives what that one returns:
 * any nesting of arrays, lists and plain objects. The predicate is a bool array of one element, or a
 * function that returns one. In captured code both branches must agree in structure, dtypes and ranks;
 * sizes in which they differ become symbolic. To captured values that only the branch not taken uses,
 * gradients are zero.
 *
 * @throws ArgumentError, DTypeError or ShapeError for a predicate that is not one bool, and for branches
 * that disagree.
 */
export function cond<R extends object | []>(
  predicate: NDArray | (() => NDArray),
  then: () => R,
  otherwise: () => NoInfer<R>,
): R {
  checkFunction(op, 'the first branch', then);
  checkFunction(op, 'the second branch', otherwise);
  const given: unknown = typeof predicate === 'function' ? withMode({}, op, predicate) : predicate;
  const decides = checkedPredicate(op, 'the predicate', given);
  const resultOf = (branch: () => unknown): Nested =>
    withMode({}, op, () => takeApart(op, 'result', branch()));
  if (mode.capture !== null) {
    return capturedCond(decides, () => resultOf(then), () => resultOf(otherwise)) as R; // prettier-ignore
  }
  const { structure, leaves } = resultOf(decides.storage.host[0] === 0 ? otherwise : then);
  return unflatten(structure, leaves.map(settled)) as R;
}
