import type { Program } from '../ir/program.js';
import { interpret } from '../loop/interpret.js';
import { eliminateDeadCode } from '../passes/dce.js';
import { decompose } from '../passes/decompose.js';
import { inline } from '../passes/inline.js';
import { separate } from '../passes/fuse.js';
import { mainName } from '../passes/lower/group.js';
import { lowerProgram, type Plan } from '../passes/lower/plan.js';
import { cpu, type Device } from './device.js';
import type { CompileOptions, Executable } from './executable.js';
import { type Entry, Executor } from './executor.js';

/** Bytes of a vector register of the targets. */
const vectorBytes = 16;

/**
 * Compiles a program for the CPU.
 * @throws UnsupportedError when a size of the program is known only to its data.
 */
export function compile(program: Program, options: CompileOptions = {}): Executable {
  const { target = 'wasm', device = cpu } = options;
  const lowest = eliminateDeadCode(inline(decompose(program)));
  const plan = lowerProgram(lowest, separate(lowest), vectorBytes);
  return new Executor(program, plan, device, entries[target](plan, device));
}

const entries: Readonly<
  Record<NonNullable<CompileOptions['target']>, (plan: Plan, device: Device) => Entry>
> = {
  interpreter: ({ module }, device) => {
    return (table) => interpret(module, device.buffer, mainName, [table]);
  },
  wasm: ({ module }, device) => {
    return (table) => interpret(module, device.buffer, mainName, [table]);
  },
};
