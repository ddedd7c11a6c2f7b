import { type CallNode, Program } from '../ir/program.js';
import type { ConstantData } from '../ir/types.js';
import type { Evaluate } from '../passes/fold.js';
import { fuse, separate } from '../passes/fuse.js';
import { lowerProgram } from '../passes/lower/plan.js';
import { type PassContext, passes, runPipeline } from '../passes/pipeline.js';
import { schedule } from '../passes/schedule.js';
import { cpu } from './device.js';
import { entries, vectorBytes } from './entry.js';
import type { CompileOptions, Executable } from './executable.js';
import { Executor } from './executor.js';
import { Storage } from './storage.js';

/**
 * Compiles a program for the CPU.
 * @throws UnsupportedError when a size of the program is known only to its data.
 */
export function compile(program: Program, options: CompileOptions = {}): Executable {
  return build(program, options, { evaluate: evaluateConstant });
}

function build(program: Program, options: CompileOptions, context: PassContext): Executor {
  const { target = 'wasm', fuse: fusing = true, device = cpu } = options;
  const lowest = runPipeline(program, passes, context);
  const groups = schedule(lowest, fusing ? fuse(lowest) : separate(lowest));
  const plan = lowerProgram(lowest, groups, vectorBytes, options.replaced);
  return new Executor(program, plan, device, entries[target](plan.module, device));
}

/**
 * Runs one call on constants, for constant folding. On the interpreter, since code that runs once is
 * not worth generating; the targets agree with it bit by bit. Null when sizes depend on the data.
 */
export const evaluateConstant: Evaluate = (call: CallNode, operands: readonly ConstantData[]) => {
  const isStatic = call.types.every(({ shape }) => shape.every((dim) => typeof dim === 'number'));
  if (!isStatic) return null;
  const program = new Program();
  const inputs = operands.map(({ type }, i) => program.variable(`x${i}`, type));
  const results = program.appendTyped(call.op, inputs, call.attributes, call.types, call);
  program.setOutputs(results.map((value, i) => ({ name: `y${i}`, value })));
  const executor = build(program, { target: 'interpreter', fuse: false }, {});
  const outputs = executor.run(
    operands.map(({ type, data }) => ({
      storage: new Storage(type.dtype, data),
      shape: type.shape,
    })),
  );
  executor.release();
  return outputs.map(({ storage, shape }) => ({
    type: { dtype: storage.dtype, shape },
    data: storage.host,
  }));
};
