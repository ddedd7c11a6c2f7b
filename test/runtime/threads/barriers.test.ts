import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onCpu } from '../../../src/kernels/cpu/index.js';
import { wasmTarget } from '../../../src/loop/language/target.js';
import { fuse } from '../../../src/passes/fuse/fuse.js';
import { lowerProgram } from '../../../src/passes/lower/main/plan.js';
import { prepareControl } from '../../../src/passes/lower/main/prepare.js';
import { partition } from '../../../src/passes/host/partition.js';
import { runPipeline } from '../../../src/passes/pipeline.js';
import { schedule } from '../../../src/passes/plan/schedule.js';
import type { Program } from '../../../src/ir/program.js';
import { Device } from '../../../src/runtime/memory/device.js';
import type { Executable } from '../../../src/runtime/execution/executable.js';
import { Executor } from '../../../src/runtime/execution/executor.js';
import { runTeam } from '../../support/teams.js';
import { corpus } from './corpus.js';

/** Every kernel that can be divided is. */
const grain = 1;

/** A program on threads that run one after the other between two barriers, in an order. */
function simulated(program: Program, order: readonly number[]): Executable {
  const lowest = prepareControl(runPipeline(program));
  const groups = schedule(lowest, fuse(lowest));
  const plan = lowerProgram(
    lowest,
    groups,
    onCpu(wasmTarget),
    [],
    { threads: order.length, grain },
    'many runs',
  );
  assert.equal(plan.threads, order.length, 'something is worth dividing');
  const device = new Device();
  return new Executor(program, plan, device, (table) =>
    runTeam(plan.module, device.buffer, table, order),
  );
}

/** The results on each list of operands, as bytes. */
function resultsOf(
  executable: Executable,
  operands: (typeof corpus)[number]['operands'],
): Buffer[] {
  return operands.flatMap((list) =>
    executable.run(list).map(({ storage: { host } }) => {
      const { buffer, byteOffset, byteLength } = host.slice();
      return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
    }),
  );
}

describe('barriers of programs', () => {
  for (const { name, program, operands } of corpus) {
    // What the host runs piece by piece is not one program.
    if (partition(runPipeline(program)) !== null) continue;
    it(`are where threads need them: ${name}`, () => {
      const lowest = prepareControl(runPipeline(program));
      const plan = lowerProgram(lowest, schedule(lowest, fuse(lowest)), onCpu(wasmTarget));
      assert.equal(plan.threads, 1);
      const device = new Device();
      const single = new Executor(program, plan, device, (table) =>
        runTeam(plan.module, device.buffer, table, [0]),
      );
      const expected = resultsOf(single, operands);
      for (const order of [[0, 1], [1, 0], [2, 0, 1], [0, 1, 2]]) {
        const found = resultsOf(simulated(program, order), operands);
        assert.deepEqual(found, expected, `threads ${order.join()}`);
      } // prettier-ignore
    });
  }
});
