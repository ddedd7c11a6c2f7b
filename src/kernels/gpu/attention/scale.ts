import type { Tensor } from '../../../ir/types.js';
import { type Input, operator, type OperatorFunction } from '../../../ops/declare/declare.js';
import { computeScalar } from '../../../ops/declare/lowering.js';
import { scoreScale } from '../../../ops/normalization/attention-nests.js';

/**
 * The usual scale of the scores of some queries, a scalar of their dtype: computed in float64, of which a GPU has no arrays.
 * A call that only the expansion of attention makes: no operator of the library, so that it has no samples.
 */
export const usualScale: OperatorFunction<<T extends Tensor>(q: Input<T>) => T> = operator({
  name: 'usualScale',
  family: 'normalization',
  attributes: {},
  operands: 'keep',
  precision: 'own',
  readsTypesOnly: true,
  call: (q) => ({ inputs: [q], attributes: {} }),
  infer: ({ inputs: [{ dtype }] }) => [{ dtype, shape: [] }],
  gradient: 'none',
  lowering: {
    kind: 'point',
    elementwise: true,
    point: ({ inputTypes: [{ shape }], outputType: { dtype }, extent }) =>
      scoreScale(computeScalar(dtype) === 'f64' ? 'f64' : 'f32', null, extent(shape.at(-1)!)),
  },
  samples: [],
});
