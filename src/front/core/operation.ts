import type { Attributes } from '../../base/attributes/schema.js';
import { Program } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import type { Declaration } from '../../ops/declare/declare.js';

/** An operator with everything of a call but its operands. */
export interface Operation {
  readonly declaration: Declaration;
  readonly attributes: Attributes;
  readonly regions: readonly Program[];
}

/** A program of one call. */
export function programOf(
  { declaration, attributes, regions }: Operation,
  types: readonly TensorType[],
): Program {
  const program = new Program();
  const inputs = types.map((type, i) => program.variable(`x${i}`, type));
  const results = program.append(declaration, inputs, attributes, { regions });
  program.setOutputs(results.map((value, i) => ({ name: `y${i}`, value })));
  return program;
}
