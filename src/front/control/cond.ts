import { unflattenTree } from '../../base/attributes/tree.js';
import { cond as operator } from '../../ops/control/index.js';
import { mode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import { capturedCond } from './captured-cond.js';
import { checkedPredicate, checkFunction, userResult } from './checks.js';
import { settled } from './eager.js';
import { type Nested, takeApart } from './nesting.js';

const op: string = operator.declaration.name;

/**
 * Runs `then` when the predicate is true and `otherwise` when it is not, and returns its result: any nesting
 * of arrays, lists and plain objects. The predicate is a bool array of one element, or a function that
 * returns one. In captured code both branches must agree in structure, dtypes and ranks; sizes in which they
 * differ become symbolic. Gradients of captured values that only the branch not taken uses are zero.
 *
 * @throws ArgumentError, DTypeError or ShapeError for a predicate that is not one bool, and for branches that
 * disagree.
 */
export function cond<R extends object | []>(
  predicate: NDArray | (() => NDArray),
  then: () => R,
  otherwise: () => NoInfer<R>,
): R {
  checkFunction(op, 'the first branch', then);
  checkFunction(op, 'the second branch', otherwise);
  if (typeof predicate === 'function') checkFunction(op, 'the predicate', predicate);
  const given = typeof predicate === 'function' ? userResult(op, predicate) : predicate;
  const decides = checkedPredicate(op, 'the predicate', given);
  const nested = (branch: () => unknown): Nested => takeApart(op, 'result', userResult(op, branch));
  if (mode.capture !== null) {
    return capturedCond(decides, () => nested(then), () => nested(otherwise)) as R; // prettier-ignore
  }
  const { structure, leaves } = nested(decides.storage.host[0] === 0 ? otherwise : then);
  return unflattenTree(structure, leaves.map(settled)) as R;
}
