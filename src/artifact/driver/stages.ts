import { onCpu } from '../../kernels/cpu/index.js';
import type { Target } from '../../loop/language/target.js';
import type { Program, Value } from '../../ir/program.js';
import { fuse } from '../../passes/fuse/fuse.js';
import { lowerProgram, type Plan } from '../../passes/lower/main/plan.js';
import { prepareControl } from '../../passes/lower/main/prepare.js';
import { type Island, partition, type Stage } from '../../passes/host/partition.js';
import { passes, runPipeline } from '../../passes/pipeline.js';
import { schedule } from '../../passes/plan/schedule.js';
import { viewed } from '../../passes/rewrite/views.js';
import { evaluateConstant } from '../../runtime/compile/compile.js';

/** A part of a program that runs in one go, and what happens behind it. */
export interface PlannedStage {
  readonly island: {
    readonly plan: Plan;
    /** What the plan's inputs are; one behind them tells sizes and has no elements. */
    readonly reads: readonly Value[];
    /** What its outputs are. */
    readonly gives: readonly Value[];
  } | null;
  readonly extents: Stage['extents'];
  readonly calls: Stage['calls'];
  readonly requirements: Stage['requirements'];
}

/** A program as the parts that run one after the other. */
export interface Staged {
  readonly program: Program;
  readonly stages: readonly PlannedStage[];
}

/** Cuts and plans a program as the runtime does, so that an artifact computes the same in the same order. */
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

/** On one thread, whatever the process uses. */
function planned(lowest: Program, target: Target): Plan {
  const prepared = prepareControl(lowest);
  return lowerProgram(prepared, schedule(prepared, fuse(prepared)), onCpu(target));
}
