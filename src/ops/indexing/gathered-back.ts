import { elementCount } from '../../base/dim/index.js';
import type { Shape, Tensor } from '../../ir/types.js';
import { sub } from '../elementwise/arithmetic.js';
import { onesLike, zerosLike } from '../movement/fill.js';
import { flatten, reshape } from '../movement/reshape.js';
import { cumsum } from '../reduction/cumulative.js';
import { scatterAdd } from './gather.js';

/**
 * The adjoint of any gathering operation, in operators: `taken`, applied to the numbers of the elements of an
 * array of this shape, shows where each element of `g` is added.
 */
export function gatheredBack<T extends Tensor>(g: T, shape: Shape, taken: (numbers: T) => T): T {
  const count = elementCount(shape);
  const ones = onesLike(g, { shape: [count], dtype: 'int64' });
  const places = taken(reshape(sub(cumsum(ones, 0), 1), shape));
  const nothing = zerosLike(g, { shape: [count] });
  return reshape(scatterAdd(nothing, flatten(places), flatten(g), 0), shape);
}
