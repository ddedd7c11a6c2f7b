import assert from 'node:assert/strict';
import type { Program } from '../../src/ir/program.js';
import { onCpu } from '../../src/kernels/cpu/index.js';
import { wasmTarget } from '../../src/loop/language/target.js';
import { fuse } from '../../src/passes/fuse/fuse.js';
import { lowerProgram, type ProgramPlan } from '../../src/passes/lower/main/plan.js';
import { prepareControl } from '../../src/passes/lower/main/prepare.js';
import { runPipeline } from '../../src/passes/pipeline.js';
import { schedule } from '../../src/passes/plan/schedule.js';
import type { Executable, Operand } from '../../src/runtime/execution/executable.js';
import { Executor } from '../../src/runtime/execution/executor.js';
import { Device } from '../../src/runtime/memory/device.js';
import { settings } from './settings.js';
import { runTeam } from './teams.js';

/** Every kernel that can be divided is. */
const grain = 1;

/** The plan of a program for a number of threads, each of which has something to do. */
export function teamPlan(program: Program, threads: number): ProgramPlan {
  const lowest = prepareControl(runPipeline(program));
  const groups = schedule(lowest, fuse(lowest));
  const division = threads === 1 ? undefined : { threads, grain };
  const lifetime = threads === 1 ? 'once' : 'many runs';
  const plan = lowerProgram(lowest, groups, onCpu(wasmTarget), [], division, lifetime);
  assert.equal(plan.threads, threads, 'something is worth dividing');
  return plan;
}

/** A program on threads that run one after the other between two barriers, in an order. */
export function simulated(program: Program, order: readonly number[]): Executable {
  const plan = teamPlan(program, order.length);
  const device = new Device();
  return new Executor(program, plan, device, (table) =>
    runTeam(plan.module, device.buffer, table, order),
  );
}

/** The results on each list of operands, as bytes. */
export function resultsOf(
  executable: Executable,
  operands: readonly (readonly Operand[])[],
): Buffer[] {
  return operands.flatMap((list) =>
    executable.run(list).map(({ storage: { host } }) => {
      const { buffer, byteOffset, byteLength } = host.slice();
      return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
    }),
  );
}

/** Orders in which few threads take their turns, whoever is first; by day those in which not all come as they are numbered. */
export const orders: readonly (readonly number[])[] = [
  [1, 0],
  [2, 0, 1],
  ...(settings.isLong ? [[0, 1], [0, 1, 2]] : []), // prettier-ignore
];
