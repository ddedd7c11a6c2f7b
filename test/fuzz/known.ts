import type { DType } from '../../src/base/dtype.js';
import type { FuzzProgram } from './program.js';
import { refsOf } from './program.js';

/*
 * Faults that are known and reported, and how programs keep clear of them so that others show. An entry
 * goes when its fault is mended.
 */

/** Results that gradients cannot flow into: a batch mean alone, and hardSwish of 16-bit floats. */
export function isBarred(op: string, result: number, dtype: DType): boolean {
  return (
    (op === 'batchNormTraining' && result === 1) ||
    (op === 'hardSwish' && (dtype === 'float16' || dtype === 'bfloat16'))
  );
}

/** Shapes in attributes that are not checked for negative sizes. */
export const uncheckedShapes: ReadonlySet<string> = new Set([
  'diagonalAdjoint',
  'sliceAdjoint',
  'takeAdjoint',
]);

/**
 * Arrays from outside that only dead code reads take no part in what a compiled function records, and
 * cannot be assigned to after it: here they are arguments.
 */
export function withoutIdleArrays(program: FuzzProgram): FuzzProgram {
  const needed = new Set(program.outputs);
  for (const step of program.steps.toReversed()) {
    if (step.op !== 'assign' && !step.results.some((id) => needed.has(id))) continue;
    for (const id of refsOf(step)) needed.add(id);
  }
  return {
    ...program,
    inputs: program.inputs.map((input) =>
      input.role === 'captured' && !needed.has(input.id) ? { ...input, role: 'argument' } : input,
    ),
  };
}
