import * as attr from '../../../base/attributes/attribute.js';
import { ceilDivDim } from '../../../base/dim/index.js';
import type { Tensor } from '../../../ir/types.js';
import * as e from '../../../loop/language/build.js';
import { type Input, operator, type OperatorFunction } from '../../../ops/declare/declare.js';

/**
 * The elements of `x` (rank 1) as so many rows of equal length, behind which come elements of a value. A call that only
 * the expansion of a fold makes: no operator of the library, so that it has no samples.
 */
export const inParts: OperatorFunction<
  <T extends Tensor>(x: Input<T>, parts: number, value: number) => T
> = operator({
  name: 'inParts',
  family: 'movement',
  attributes: { parts: attr.int, value: attr.number },
  operands: 'keep',
  call: (x, parts, value) => ({ inputs: [x], attributes: { parts, value } }),
  infer: ({ inputs: [{ dtype, shape }], attributes: { parts } }) => [
    { dtype, shape: [parts, ceilDivDim(shape[0], parts)] },
  ],
  gradient: 'none',
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [x], index: [part, at], inputTypes: [{ shape }], extent, attributes }) => {
      const count = extent(shape[0]);
      const length = extent(ceilDivDim(shape[0], attributes.parts));
      const place = e.add(e.mul(part, length), at);
      const value = x.at([e.min(place, e.sub(count, 1))]);
      return e.select(e.lt(place, count), value, e.constant(value.type.scalar, attributes.value));
    },
  },
  samples: [],
});
