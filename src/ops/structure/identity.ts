import type { InferContext } from '../../ir/operator.js';
import type { Value } from '../../ir/program.js';
import type { Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { example, type Law } from '../declare/law.js';
import type { ViewLowering } from '../declare/lowering.js';

type Same = <T extends Tensor = DefaultTensor>(x: Input<T>) => T;

const view: ViewLowering = { kind: 'view' };

/** Only gradients distinguish these operators from their operand, and programs are differentiated before. */
const transparent = (name: string, build: (x: Value) => Value): readonly Law[] => [
  {
    name: 'transparent',
    law: `${name}(x) = x`,
    cases: [example([tensor(['n', 2])], build)],
    apply: ({ inputs: [x] }) => x,
  },
];

/** Common part of these operators: the result is the operand. */
const same = {
  family: 'structure',
  attributes: {},
  method: false,
  operands: 'keep',
  call: (x: Input<Tensor>) => ({ inputs: [x], attributes: {} }),
  infer: ({ inputs: [x] }: InferContext) => [x],
  samples: [{ args: [tensor(['n', 2])] }],
} as const;

/** The gradient of the operand is that of the result. */
const passOn = <T>({ grads: [g] }: { readonly grads: readonly T[] }): readonly T[] => [g];

/** @internal `x` itself as another value of a graph, so that a gradient with respect to this one use can be requested. */
export const identity: OperatorFunction<Same> = operator({
  ...same,
  name: 'identity',
  gradient: passOn,
  lowering: view,
  simplify: transparent('identity', (x) => identity(x)),
});

/** @internal `x` itself, as a constant: it has no gradient. */
export const stopGradient: OperatorFunction<Same> = operator({
  ...same,
  name: 'stopGradient',
  gradient: 'none',
  lowering: view,
  simplify: transparent('stopGradient', (x) => stopGradient(x)),
});

/**
 * @internal `x` itself, opaque to the compiler: values computed from it are never merged with values computed from `x`,
 * nor moved before earlier calls of the program. So a value can be dropped and recomputed later. Costs
 * nothing at run time. As XLA's `optimization_barrier`.
 */
export const barrier: OperatorFunction<Same> = operator({
  ...same,
  name: 'barrier',
  gradient: passOn,
  lowering: { kind: 'view', isBarrier: true },
});
