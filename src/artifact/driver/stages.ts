import { onCpu } from '../../kernels/cpu/index.js';
import type { Target } from '../../loop/language/target.js';
import type { Program, Value } from '../../ir/program.js';
import { fuse } from '../../passes/fuse/fuse.js';
import { lowerProgram, type ProgramPlan } from '../../passes/lower/main/plan.js';
import { prepareControl } from '../../passes/lower/main/prepare.js';
import { type Island, partition, type IslandStage } from '../../passes/host/partition.js';
import { passes, runPipeline } from '../../passes/pipeline.js';
import { schedule } from '../../passes/plan/schedule.js';
import { viewed } from '../../passes/rewrite/views.js';
import { evaluateConstant } from '../../runtime/compile/compile.js';

/** A part of a program that runs at once, and the steps after it. */
export interface PlannedStage {
  readonly island: {
    readonly plan: ProgramPlan;
    /** Values that are the plan's inputs; one after them carries sizes and has no elements. */
    readonly reads: readonly Value[];
    /** Values that are its outputs. */
    readonly gives: readonly Value[];
  } | null;
  readonly extents: IslandStage['extents'];
  readonly calls: IslandStage['calls'];
  readonly requirements: IslandStage['requirements'];
}

/** A program as parts that run in sequence. */
export interface Staged {
  readonly program: Program;
  readonly stages: readonly PlannedStage[];
}

/**
 * Partitions and plans a program as the runtime does, so that an artifact computes the same in the same
 * order.
 */
export function stagesOf(program: Program, target: Target): Staged {
  const lowest = lowered(program);
  const parts = partition(lowest);
  if (parts === null) {
    const gives = lowest.outputs.map(({ value }) => viewed(lowest, value));
    const island = { plan: planned(lowest, target), reads: lowest.inputs, gives };
    const stage = { island, extents: [], calls: [], requirements: [] };
    return { program: lowest, stages: [stage] };
  }
  const planIsland = ({ program: inner, reads, gives }: Island): PlannedStage['island'] => ({
    plan: planned(lowered(inner), target),
    reads,
    gives,
  });
  return {
    program: parts.program,
    stages: parts.stages.map(({ island, extents, calls, requirements }) => ({
      island: island === null ? null : planIsland(island),
      extents,
      calls,
      requirements,
    })),
  };
}

function lowered(program: Program): Program {
  return runPipeline(program, passes, { evaluate: evaluateConstant });
}

/** On one thread, regardless of the process. */
function planned(lowest: Program, target: Target): ProgramPlan {
  const prepared = prepareControl(lowest);
  return lowerProgram(prepared, schedule(prepared, fuse(prepared)), onCpu(target));
}
