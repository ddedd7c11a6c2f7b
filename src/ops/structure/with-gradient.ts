import * as attr from '../../base/attributes/attribute.js';
import type { Dim } from '../../base/dim/index.js';
import { GraphError } from '../../base/errors.js';
import { checkArgument, instanceOf } from '../../base/attributes/options.js';
import { Program } from '../../ir/program.js';
import type { Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
} from '../declare/declare.js';
import { zerosLike } from '../movement/fill.js';
import { call } from './call.js';

const anyProgram = instanceOf('a Program', Program);

/** A program, one that computes its gradients, and the sizes that both are passed. */
export interface GradientPrograms {
  readonly forward: Program;
  readonly backward: Program;
  /** Default: none. */
  readonly sizes?: readonly Dim[];
}

/**
 * @internal Runs a program whose gradient is another program instead of its derivative. `backward` reads the inputs,
 * the outputs and the gradients of the outputs (zeros where there is none), and returns the gradients of the
 * leading inputs; others have none.
 */
export const withGradient: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    programs: GradientPrograms,
    ...inputs: readonly Input<T>[]
  ) => readonly T[]
> = operator({
  name: 'withGradient',
  family: 'structure',
  attributes: { sizes: attr.passedSizes },
  results: 'list',
  method: false,
  operands: 'keep',
  call: ({ forward, backward, sizes = [] }, ...inputs) => {
    checkArgument('withGradient', 'forward', forward, anyProgram);
    checkArgument('withGradient', 'backward', backward, anyProgram);
    return { inputs, attributes: { sizes }, regions: [forward, backward] };
  },
  infer: (context) => {
    if (context.regions.length !== 2) {
      throw new GraphError('there must be a forward and a backward program', {
        op: 'withGradient',
      });
    }
    return call.declaration.infer(context);
  },
  gradient: ({ inputs, outputs, grads, attributes: { sizes }, regions: [, backward] }) => {
    const seeds = outputs.map((output, k) => grads[k] ?? zerosLike(output));
    const made = call({ program: backward, sizes }, ...inputs, ...outputs, ...seeds);
    return inputs.map((_, k) => made[k] ?? null);
  },
  lowering: { kind: 'inline' },
  samples: [],
});
