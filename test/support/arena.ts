import type { Program } from '../../src/ir/program.js';
import { bytesOf } from '../../src/base/dtype.js';
import { fuse } from '../../src/passes/fuse/fuse.js';
import { planMemory } from '../../src/passes/plan/memory.js';
import { runPipeline } from '../../src/passes/pipeline.js';
import { BufferAssignment } from '../../src/passes/groups/places.js';
import { schedule } from '../../src/passes/plan/schedule.js';

/** The memory that a compiled program of static sizes takes besides its inputs and constants. */
export function arenaBytes(program: Program): number {
  const lowest = runPipeline(program);
  const groups = schedule(lowest, fuse(lowest));
  const places = new BufferAssignment(lowest, groups).all.filter(
    ({ role }) => role.kind === 'temporary',
  );
  return planMemory(
    places.map(({ dtype, length, first, last }) => ({
      bytes: bytesOf(dtype) * Number(length),
      first,
      last,
    })),
  ).bytes;
}
