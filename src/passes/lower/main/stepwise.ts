import type { Program } from '../../../ir/program.js';
import type { DeviceTarget } from '../../../ops/declare/kernels.js';
import { fuse } from '../../fuse/fuse.js';
import type { Group } from '../../groups/group.js';
import type { OutputSource, ProgramMemory } from '../../groups/places.js';
import { schedule } from '../../plan/schedule.js';
import { expandFor } from '../../simplify/expand.js';
import { lowerSteps, refuseUnknown } from './plan.js';
import { prepareControl } from './prepare.js';
import { mainSizes, type MainStep } from './steps.js';

/**
 * A program as steps over planned buffers: for devices that are told step by step what to run. The CPU prints the same
 * steps as `main`.
 */
export interface StepPlan {
  readonly program: Program;
  readonly groups: readonly Group[];
  /** Kernels keep their parallel ranges, in memory that each member of a team has for itself. */
  readonly steps: readonly MainStep[];
  readonly memory: ProgramMemory;
  readonly outputs: readonly OutputSource[];
}

/**
 * Plans a program whose passes have run, for a target.
 * @throws UnsupportedError when a size is known to nobody.
 */
export function planSteps(program: Program, target: DeviceTarget): StepPlan {
  const prepared = prepareControl(expandFor(program, target));
  const groups = schedule(prepared, fuse(prepared, target));
  const division = { threads: 1, keepsRanges: true } as const;
  const { places, steps } = lowerSteps(prepared, groups, target, [], division, 'step');
  const { memory } = places;
  refuseUnknown(prepared, [...mainSizes(steps), ...memory.places.map(({ length }) => length)]);
  const outputs = prepared.outputs.map(({ value }) => places.outputSource(value));
  return { program: prepared, groups, steps, memory, outputs };
}
