import { promoteAll } from '../../base/dtype.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare.js';
import { broadcastShapes } from '../infer.js';
import { elementwise } from '../lowering.js';
import { sumTo } from '../reduction/sum.js';

/** `where(condition, x, y)`; shapes broadcast. */
export type Where = <T extends Tensor = DefaultTensor>(
  condition: Input<T>,
  x: Input<T>,
  y: Input<T>,
) => T;

/**
 * `x` where the condition holds, `y` elsewhere; all three broadcast. The condition is converted to
 * bool (`!= 0`), `x` and `y` to their common dtype. The element not chosen has no influence at all:
 * its gradient is zero, and a NaN in it does not spread.
 */
export const where: OperatorFunction<Where> = operator({
  name: 'where',
  family: 'elementwise',
  attributes: {},
  operands: ([_condition, x, y]) => {
    const common = promoteAll([x, y]);
    return ['bool', common, common];
  },
  call: (condition, x, y) => ({ inputs: [condition, x, y], attributes: {} }),
  infer: ({ inputs }) => [
    {
      dtype: inputs[1].dtype,
      shape: broadcastShapes('where', ...inputs.map((input) => input.shape)),
    },
  ],
  gradient: ({ inputs: [condition, x, y], grads: [g], needs }) => [
    null,
    needs[1] ? sumTo(where(condition, g!, 0), x.type.shape) : null,
    needs[2] ? sumTo(where(condition, 0, g!), y.type.shape) : null,
  ],
  lowering: elementwise(([condition, x, y]) => e.select(condition, x, y)),
  samples: [
    { args: [tensor(['n', 3], { dtype: 'bool' }), tensor(['n', 1]), tensor([3])] },
    { args: [tensor(['n'], { dtype: 'bool' }), tensor(['n'], { dtype: 'int64' }), 0] },
  ],
});
