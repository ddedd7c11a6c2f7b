import type { Attributes } from '../base/attributes/schema.js';
import { Program } from '../ir/program.js';
import type { Tensor, TensorType } from '../ir/types.js';
import type { DecomposeContext } from '../ops/declare/lowering.js';

/** Writes a call as other operators. */
export type Composition = <T extends Tensor>(
  context: DecomposeContext<T, Attributes>,
) => readonly T[];

/** A call to be composed. */
export interface ComposedCall {
  readonly inputTypes: readonly TensorType[];
  readonly outputTypes: readonly TensorType[];
  readonly attributes: Attributes;
}

/** A call as a program of the operators that it decomposes into; `outer` holds the call. */
export function composedProgram(
  outer: Program,
  { inputTypes, outputTypes, attributes }: ComposedCall,
  compose: Composition,
): Program {
  const fill = (program: Program): void => {
    const inputs = inputTypes.map((type, i) => program.variable(`x${i}`, type));
    const results = program.assuming(() => compose({ attributes, inputs, outputTypes }));
    program.setOutputs(results.map((value, i) => ({ name: `y${i}`, value })));
  };
  return Program.from(outer, fill, []);
}
