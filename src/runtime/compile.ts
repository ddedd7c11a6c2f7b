import type { Program } from '../ir/program.js';
import { runPipeline } from '../passes/pipeline.js';
import { schedule } from '../passes/schedule.js';
import { fuse, separate } from '../passes/fuse.js';
import { lowerProgram } from '../passes/lower/plan.js';
import { cpu } from './device.js';
import type { CompileOptions, Executable } from './executable.js';
import { entries, vectorBytes } from './entry.js';
import { Executor } from './executor.js';

/**
 * Compiles a program for the CPU.
 * @throws UnsupportedError when a size of the program is known only to its data.
 */
export function compile(program: Program, options: CompileOptions = {}): Executable {
  const { target = 'wasm', fuse: fusing = true, device = cpu } = options;
  const lowest = runPipeline(program);
  const groups = schedule(lowest, fusing ? fuse(lowest) : separate(lowest));
  const plan = lowerProgram(lowest, groups, vectorBytes);
  return new Executor(program, plan, device, entries[target](plan.module, device));
}
