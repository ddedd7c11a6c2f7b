import { InternalError } from '../../../base/errors.js';
import type { Program } from '../../../ir/program.js';
import { inFloat64 } from '../../../passes/simplify/float64.js';
import type { Executable, Operand } from '../../execution/executable.js';

type Compile = (program: Program) => Executable;

let compile: Compile | null = null;

/** Installs the compiler for reference programs: compilation is built on this module. */
export function installReferenceCompiler(compiler: Compile): void {
  compile = compiler;
}

/** Results of a program in float64. */
export interface ReferenceResult {
  readonly results: readonly Operand[];
  /** The same, each time with other errors of the size of rounding in all intermediate values. */
  readonly perturbed: readonly (readonly Operand[])[];
}

/** More samples would seldom add information: each result has an error of its own. */
const samples = 3;

/** Runs a program in float64, unperturbed and perturbed. */
export function referenceOf(
  program: Program,
  inputs: readonly Operand[],
  sizes?: readonly number[],
): ReferenceResult {
  if (compile === null) throw new InternalError('nothing compiles references');
  const run = (seed: number | null): readonly Operand[] => {
    const executable = compile!(inFloat64(program, seed));
    try {
      // Read before the memory is released.
      const results = executable.run(inputs, undefined, sizes);
      for (const { storage } of results) void storage.host;
      return results;
    } finally {
      executable.release();
    }
  };
  return {
    results: run(null),
    perturbed: Array.from({ length: samples }, (_, seed) => run(seed)),
  };
}
