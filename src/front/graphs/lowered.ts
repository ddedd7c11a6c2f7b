import type { Program } from '../../ir/program.js';
import { passes, runPipeline } from '../../passes/pipeline.js';
import { evaluateConstant } from '../../runtime/compile/compile.js';

/** A program in the operators that kernels are made of, its constants folded: what the runtime plans. */
export function lowered(program: Program): Program {
  return runPipeline(program, passes, { evaluate: evaluateConstant });
}
