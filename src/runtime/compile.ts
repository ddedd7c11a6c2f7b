import { type CallNode, Program } from '../ir/program.js';
import type { ConstantData } from '../ir/types.js';
import type { Evaluate } from '../passes/fold.js';
import { fuse, type Group, separate } from '../passes/fuse.js';
import { lowerProgram, type Plan } from '../passes/lower/plan.js';
import { prepareControl } from '../passes/lower/prepare.js';
import { type PassContext, passes, runPipeline } from '../passes/pipeline.js';
import { schedule } from '../passes/schedule.js';
import { cpu } from './device.js';
import { entries, vectorBytes } from './entry.js';
import type { CompileOptions, Executable } from './executable.js';
import { Executor } from './executor.js';
import { CompilationLog, counted } from './log.js';
import { Storage } from './storage.js';

/**
 * Compiles a program for the CPU.
 * @throws UnsupportedError when a size of the program is known only to its data.
 */
export function compile(program: Program, options: CompileOptions = {}): Executable {
  return build(program, options, { evaluate: evaluateConstant }, CompilationLog.of(program));
}

/**
 * What `compile` would run: groups, kernels and places, without code.
 * @throws UnsupportedError as `compile` does.
 */
export function planProgram(program: Program, options: CompileOptions = {}): Plan {
  return plan(program, options, { evaluate: evaluateConstant }, null);
}

function build(
  program: Program,
  options: CompileOptions,
  context: PassContext,
  log: CompilationLog | null,
): Executor {
  const { target = 'wasm', device = cpu } = options;
  const planned = plan(program, options, context, log);
  const entry = stage(
    log,
    target,
    () => entries[target](planned.module, device),
    () => 'code that can be called',
  );
  return new Executor(program, planned, device, entry);
}

function plan(
  program: Program,
  { fuse: fusing = true, replaced }: CompileOptions,
  context: PassContext,
  log: CompilationLog | null,
): Plan {
  const simplest = runPipeline(program, passes, {
    ...context,
    ...(log !== null && { observe: log.pass, applied: log.law }),
  });
  const lowest = prepareControl(simplest);
  const count = (groups: readonly Group[]): string => counted(groups.length, 'group');
  const fused = stage(log, 'fuse', () => (fusing ? fuse(lowest) : separate(lowest)), count);
  const order = stage(log, 'schedule', () => schedule(lowest, fused), count);
  const planned = stage(
    log,
    'lower',
    () => lowerProgram(lowest, order, vectorBytes, replaced),
    ({ module, places }) =>
      `${counted(module.kernels.length, 'kernel')}, ${counted(places.length, 'place')}`,
  );
  log?.plan(planned);
  return planned;
}

/** Runs a stage, watched by the log if there is one. */
function stage<T>(
  log: CompilationLog | null,
  name: string,
  run: () => T,
  describe: (made: T) => string,
): T {
  return log === null ? run() : log.stage(name, run, describe);
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
  const executor = build(program, { target: 'interpreter', fuse: false }, {}, null);
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
