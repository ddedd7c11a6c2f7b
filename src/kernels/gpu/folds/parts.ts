import * as attr from '../../../base/attributes/attribute.js';
import { ceilDivDim } from '../../../base/dim/index.js';
import type { Tensor } from '../../../ir/types.js';
import * as e from '../../../loop/language/build.js';
import { type Input, operator, type OperatorFunction } from '../../../ops/declare/declare.js';

/**
 * The elements of `x` (rank 3) along its middle axis as rows of a length, of which the last one is filled up with a
 * value: rank 4. A call that only the expansion of a fold makes: no operator of the library, so that it has no samples.
 */
export const inParts: OperatorFunction<
  <T extends Tensor>(x: Input<T>, length: number, value: number) => T
> = operator({
  name: 'inParts',
  family: 'movement',
  attributes: { length: attr.int, value: attr.number },
  operands: 'keep',
  call: (x, length, value) => ({ inputs: [x], attributes: { length, value } }),
  infer: ({ inputs: [{ dtype, shape }], attributes: { length } }) => {
    const [before, count, behind] = shape;
    return [{ dtype, shape: [before, ceilDivDim(count, length), length, behind] }];
  },
  gradient: 'none',
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [x], index: [before, part, at, behind], attributes }) => {
      const [, count] = x.shape;
      const place = e.add(e.mul(part, attributes.length), at);
      const value = x.at([before, e.min(place, e.sub(count, 1)), behind]);
      return e.select(e.lt(place, count), value, e.constant(value.type.scalar, attributes.value));
    },
  },
  samples: [],
});
