import type { Value } from '../../ir/program.js';
import type { Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare.js';
import { example, type Law } from '../law.js';
import type { ViewLowering } from '../lowering.js';

type Same = <T extends Tensor = DefaultTensor>(x: Input<T>) => T;

const view: ViewLowering = { kind: 'view' };

/** Only gradients tell these operators from their operand, and programs are differentiated before. */
const transparent = (name: string, build: (x: Value) => Value): readonly Law[] => [
  {
    name: 'transparent',
    law: `${name}(x) = x`,
    cases: [example([tensor(['n', 2])], build)],
    apply: ({ inputs: [x] }) => x,
  },
];

/** `x` itself as another value of a graph, so that a gradient with respect to this one use can be asked for. */
export const identity: OperatorFunction<Same, false> = operator({
  name: 'identity',
  family: 'structure',
  attributes: {},
  method: false,
  operands: 'keep',
  call: (x) => ({ inputs: [x], attributes: {} }),
  infer: ({ inputs: [x] }) => [x],
  gradient: ({ grads: [g] }) => [g],
  lowering: view,
  simplify: transparent('identity', (x) => identity(x)),
  samples: [{ args: [tensor(['n', 2])] }],
});

/** `x` itself, as a constant: no gradient flows through. */
export const stopGradient: OperatorFunction<Same, false> = operator({
  name: 'stopGradient',
  family: 'structure',
  attributes: {},
  method: false,
  operands: 'keep',
  call: (x) => ({ inputs: [x], attributes: {} }),
  infer: ({ inputs: [x] }) => [x],
  gradient: 'none',
  lowering: view,
  simplify: transparent('stopGradient', (x) => stopGradient(x)),
  samples: [{ args: [tensor(['n', 2])] }],
});
