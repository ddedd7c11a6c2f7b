import type { DType } from '../../base/dtype.js';
import type { Value } from '../../ir/program.js';
import { tensor } from '../declare/declare.js';
import { conversionOperator } from '../declare/convert.js';
import { normalizeAxes } from '../declare/infer.js';
import { example, type Law } from '../declare/law.js';
import { reshape } from '../movement/reshape.js';
import type { ReductionAttributes } from './reduce.js';

/** Laws that several reductions share. */

/**
 * A reduction over axes of extent 1 is the element itself, in the result's dtype. Each operator names the
 * dtypes for which that holds: `0 + -0` is not `-0`.
 */
export function overOnes(
  name: string,
  build: (x: Value, axes: readonly number[]) => Value,
  dtypes: readonly DType[],
  {
    words,
    accepts = () => true,
  }: { readonly words: string; readonly accepts?: (dtype: DType) => boolean },
): Law<ReductionAttributes> {
  return {
    name: 'over-ones',
    law: `${words}, over axes of size 1 or none`,
    cases: dtypes.flatMap((dtype) => [
      example([tensor(['n', 1, 3], { dtype })], (x) => build(x, [1])),
      example([tensor(['n', 3], { dtype })], (x) => build(x, [])),
    ]),
    apply: ({ inputs: [x], attributes: { axes }, type }) => {
      const { dtype, shape } = x.type;
      if (!accepts(dtype)) return null;
      const folded = normalizeAxes(name, axes, shape.length);
      if (folded.some((axis) => shape[axis] !== 1)) return null;
      const moved = reshape(x, type.shape);
      if (dtype === type.dtype) return moved;
      return x.program.append(conversionOperator(), [moved], { dtype: type.dtype })[0];
    },
  };
}
