import type { Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { elementwise } from '../declare/lowering.js';

/**
 * @internal `x` in a buffer of its own. The compiler inserts it where a loop needs memory that it may overwrite, or
 * where a value is needed at a certain address; no law removes it.
 */
export const copy: OperatorFunction<<T extends Tensor = DefaultTensor>(x: Input<T>) => T> =
  operator({
    name: 'copy',
    family: 'structure',
    attributes: {},
    method: false,
    operands: 'keep',
    call: (x) => ({ inputs: [x], attributes: {} }),
    infer: ({ inputs: [x] }) => [x],
    gradient: ({ grads }) => [...grads],
    lowering: elementwise(([x]) => x),
    samples: [{ args: [tensor(['n', 2])] }, { args: [tensor([], { dtype: 'int64' })] }],
  });
