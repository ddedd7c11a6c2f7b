import { onCpu } from '../../kernels/cpu/index.js';
import { type CallNode, Program } from '../../ir/program.js';
import type { Kernel } from '../../loop/language/nodes.js';
import type { Target } from '../../loop/language/target.js';
import type { ConstantData } from '../../ir/types.js';
import type { Evaluate } from '../../passes/rewrite/pass.js';
import type { Group } from '../../passes/groups/group.js';
import { fuse, separate } from '../../passes/fuse/fuse.js';
import { lowerProgram, type ProgramPlan } from '../../passes/lower/main/plan.js';
import { prepareControl } from '../../passes/lower/main/prepare.js';
import { partition } from '../../passes/host/partition.js';
import type { PassContext } from '../../passes/rewrite/pass.js';
import { passes, runPipeline } from '../../passes/pipeline.js';
import { schedule } from '../../passes/plan/schedule.js';
import { cpu, Device } from '../memory/device.js';
import { DynamicExecutor } from '../dynamic/executor.js';
import { routineOf } from '../../passes/host/routine.js';
import { routineLines } from '../../passes/host/text.js';
import { type ModuleRunner, runnerFor } from '../execution/entry.js';
import type { CompileOptions, Executable, Inspectable } from '../execution/executable.js';
import { Executor, type PlannedCode } from '../execution/executor.js';
import { CompilationLog, counted } from './log.js';
import { nativeTier } from '../native/current.js';
import { installReferenceCompiler } from '../native/trial/reference.js';
import { Storage } from '../memory/storage.js';
import { profiling } from '../profile/recorder.js';
import { Tiered } from './tiered.js';
import { defaultTier } from '../execution/tiers.js';

/**
 * Compiles a program for the CPU. Where its data decides sizes, or the host has to run loops, it becomes
 * several programs that run one after the other.
 * @throws UnsupportedError when a size is known to nobody.
 */
export function compile(program: Program, options: CompileOptions = {}): Executable {
  const begin = profiling.recorder?.now ?? 0;
  const executable = build(program, options, { evaluate: evaluateConstant }, 'compile');
  profiling.recorder?.host('compile', 'compile', begin);
  return executable;
}

/** One of the programs that a compiled program consists of. */
export interface PlannedPart {
  /** Name of the part; empty where there is only one. */
  readonly title: string;
  readonly plan: ProgramPlan;
}

/**
 * Plan of what `compile` would run: groups, kernels and places, without code, for each of the parts that run one
 * after the other.
 * @throws UnsupportedError as `compile` does.
 */
export function planParts(program: Program): readonly PlannedPart[] {
  const options = { target: 'interpreter' } as const;
  const executable = build(program, options, { evaluate: evaluateConstant }, null);
  const parts = executable.parts();
  executable.release();
  return parts;
}

cpu.beyond = () =>
  defaultTier() === 'wasm' ? 'programs are to stay on WebAssembly' : nativeTier().memory();

installReferenceCompiler((program) => compile(program, { tier: 'wasm' }));

function build(
  program: Program,
  options: CompileOptions,
  context: PassContext,
  what: string | null,
): Inspectable {
  const log = what === null ? null : CompilationLog.of(program, what);
  const lowest = lower(program, context, log);
  const parts = partition(lowest);
  if (parts === null) return executor(program, lowest, options, log);
  log?.partition(routineLines(routineOf(parts)));
  const { replaced, ...shared } = options;
  return new DynamicExecutor(
    program,
    parts,
    {
      part: (name, inner, taken) => {
        const innerLog = what === null ? null : CompilationLog.of(inner, name);
        const innermost = lower(inner, context, innerLog);
        const own = taken === undefined ? shared : { ...shared, replaced: taken };
        return executor(inner, innermost, own, innerLog);
      },
      region: (region) => build(region, shared, context, what === null ? null : 'region'),
    },
    replaced,
  );
}

function lower(program: Program, context: PassContext, log: CompilationLog | null): Program {
  return runPipeline(program, passes, {
    ...context,
    ...(log !== null && { observe: log.pass, applied: log.law }),
  });
}

/** Code for a program whose sizes are known when it starts. */
function executor(
  program: Program,
  lowest: Program,
  options: CompileOptions,
  log: CompilationLog | null,
): Inspectable {
  const { target = 'wasm', device = cpu, tier = defaultTier(), replaced } = options;
  const runner = runnerFor(options);
  const planned = plan(lowest, runner, options, log);
  const entry = stage(
    log,
    target,
    () => runner.entry(planned.module, device, planned.threads),
    () => 'code that can be called',
  );
  const { program: prepared, groups } = planned;
  const lowerFor = (other: Target, mark: Kernel | null): ProgramPlan =>
    lowerProgram(prepared, groups, onCpu(other), replaced, device.division, 'many runs', mark);
  const again = (mark: Kernel | null): PlannedCode => {
    const next = lowerFor({ ...runner.target, addresses: device.addresses }, mark);
    return { plan: next, entry: runner.entry(next.module, device, next.threads) };
  };
  const made = new Executor(program, planned, device, entry, () => again(null));
  return target === 'wasm' ? new Tiered(made, device, tier, lowerFor, again) : made;
}

function plan(
  simplest: Program,
  { target }: ModuleRunner,
  { fuse: fusing = true, replaced, device = cpu }: CompileOptions,
  log: CompilationLog | null,
): ProgramPlan {
  const lowest = prepareControl(simplest);
  const own = { ...target, addresses: device.addresses };
  const count = (groups: readonly Group[]): string => counted(groups.length, 'group');
  const fused = stage(log, 'fuse', () => (fusing ? fuse(lowest) : separate(lowest)), count);
  const order = stage(log, 'schedule', () => schedule(lowest, fused), count);
  const planned = stage(
    log,
    'lower',
    () => lowerProgram(lowest, order, onCpu(own), replaced, device.division, 'many runs'),
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

/** Memory of constant folding: the interpreter has views on all of its memory, so that it should be small. */
const constants = new Device();

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
  const options = { target: 'interpreter', fuse: false, device: constants } as const;
  const executable = build(program, options, {}, null);
  const outputs = executable.run(
    operands.map(({ type, data }) => ({
      storage: new Storage(type.dtype, data),
      shape: type.shape,
    })),
  );
  executable.release();
  return outputs.map(({ storage, shape }) => ({
    type: { dtype: storage.dtype, shape },
    data: storage.host,
  }));
};
