import { symbolsOfShape, undeterminedSymbols } from '../../ir/bind.js';
import { type CallNode, Program, type Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { verified } from '../../ir/verify.js';
import { whileLoop } from '../../ops/control/while-loop.js';
import { sizesPassedBy } from '../../ops/declare/facets.js';
import type { WhileForm } from '../../ops/declare/lowering.js';
import { partition } from './partition.js';

/** A loop for at most so many iterations, compiled as one. */
export interface Chunk {
  readonly program: Program;
  /** The sizes of the surroundings that it is passed, before the most iterations. */
  readonly symbols: readonly string[];
}

/**
 * A loop whose rows are as many as its iterations, as a padded one for some of them. Null where that
 * would not be compiled either.
 */
export function chunkOf(
  call: CallNode,
  { states, padded, joined }: WhileForm,
  operands: readonly TensorType[],
): Chunk | null {
  if (padded || joined > 0) return null;
  const program = new Program();
  const sizes = sizesPassedBy(call);
  // Before operands speak of them, in forms that do not tell them.
  const symbols = undeterminedSymbols(operands, symbolsOfShape(sizes));
  for (const size of symbols) program.takeSize(size);
  const values = operands.map((type, k) => program.variable(`x${k}`, type));
  const limit = program.freshDim('chunk', { min: 1 });
  program.takeSize(limit);
  const [condition, body] = call.regions;
  const results = whileLoop<Value>(condition, body, {
    states: values.slice(0, states),
    captures: values.slice(states),
    limit,
    padded: true,
    sizes,
  });
  program.setOutputs(results.map((value, k) => ({ name: `y${k}`, value })));
  if (partition(verified('chunks', program)) !== null) return null;
  return { program, symbols: symbols.map(({ key }) => key) };
}
