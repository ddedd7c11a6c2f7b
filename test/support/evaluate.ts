import { Program, Value } from '../../src/ir/program.js';
import { compile } from '../../src/runtime/compile.js';
import type { CompileOptions, Operand } from '../../src/runtime/executable.js';

export type Target = NonNullable<CompileOptions['target']>;

/** Runs a function of program values on arrays, with their sizes as static extents. */
export function evaluate(
  inputs: readonly Operand[],
  build: (...values: Value[]) => unknown,
  target: Target = 'interpreter',
): readonly Operand[] {
  const program = new Program();
  const values = inputs.map(({ storage, shape }, i) =>
    program.variable(`x${i}`, { dtype: storage.dtype, shape }),
  );
  const result = build(...values);
  const outputs = result instanceof Value ? [result] : (Object.values(result as object) as Value[]);
  program.setOutputs(outputs.map((value, i) => ({ name: `y${i}`, value })));
  return compile(program, { target }).run(inputs);
}
