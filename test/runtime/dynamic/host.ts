import { Program, type Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { partition } from '../../../src/passes/host/partition.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { DynamicExecutor } from '../../../src/runtime/dynamic/executor.js';
import type {
  CompileOptions,
  Inspectable,
  Operand,
} from '../../../src/runtime/execution/executable.js';

/** A program whose inputs have no names of interest. */
export function program(
  inputs: readonly TensorType[],
  build: (...values: Value[]) => readonly Value[],
): Program {
  const made = new Program();
  const values = inputs.map((type, k) => made.variable(`x${k}`, type));
  made.setOutputs(build(...values).map((value, k) => ({ name: `y${k}`, value })));
  return made;
}

/** What runs a program that is one loop on its inputs by the host, whether or not it has to be. */
export function hosted(
  loop: Program,
  options: CompileOptions = {},
): (operands: readonly Operand[]) => readonly Operand[] {
  const compiled = (program: Program): Inspectable => compile(program, options) as Inspectable;
  const executor = new DynamicExecutor(
    loop,
    partition(loop, { runsOnHost: ({ regions }) => regions.length > 0 })!,
    {
      part: (_, part) => compiled(part),
      region: compiled,
    },
  );
  return (operands) => executor.run(operands);
}
