import * as e from '../../loop/build.js';
import { operator, type OperatorFunction, tensor } from '../declare.js';
import { inferElementwise } from '../infer.js';
import { elementwise } from '../lowering.js';
import type { Binary } from '../signatures.js';
import { sumTo } from '../reduction/sum.js';

/** `x + y`, element by element. */
export const add: OperatorFunction<Binary> = operator({
  name: 'add',
  family: 'elementwise',
  attributes: {},
  call: (x, y) => ({ inputs: [x, y], attributes: {} }),
  infer: inferElementwise('add'),
  gradient: ({ inputs: [x, y], grads: [g], needs }) => [
    needs[0] ? sumTo(g!, x.type.shape) : null,
    needs[1] ? sumTo(g!, y.type.shape) : null,
  ],
  lowering: elementwise(([x, y]) => (x.type.scalar === 'bool' ? e.or(x, y) : e.add(x, y))),
  samples: [
    { args: [tensor(['n', 3]), tensor([3])] },
    { args: [tensor(['n'], { dtype: 'int64' }), 2] },
  ],
});
