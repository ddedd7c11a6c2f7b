import type { Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare.js';

/**
 * `x` itself, as something the compiler knows nothing of: what is computed from it is never taken for
 * what was computed from `x`, nor moved ahead of what comes before it in the program. So a value can be
 * dropped and computed again later. Costs nothing when run. As XLA's `optimization_barrier`.
 */
export const barrier: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>) => T,
  false
> = operator({
  name: 'barrier',
  family: 'structure',
  attributes: {},
  method: false,
  operands: 'keep',
  call: (x) => ({ inputs: [x], attributes: {} }),
  infer: ({ inputs: [x] }) => [x],
  gradient: ({ grads: [g] }) => [g],
  lowering: { kind: 'view', isBarrier: true },
  samples: [{ args: [tensor(['n', 2])] }],
});
