import type { HostArray } from '../../base/dtype.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import type { ConstantData } from '../../ir/types.js';
import { onCpu } from '../../kernels/cpu/index.js';
import { moduleOf } from '../../loop/language/build.js';
import type { Kernel, Module } from '../../loop/language/nodes.js';
import type { Target } from '../../loop/language/target.js';
import { optimizeModule } from '../../loop/optimize/module.js';
import { copy } from '../../ops/structure/copy.js';
import { fuse } from '../../passes/fuse/fuse.js';
import { partition, wholePartition } from '../../passes/host/partition.js';
import { routineOf } from '../../passes/host/routine.js';
import type * as host from '../../passes/host/statements.js';
import { mainName } from '../../passes/lower/main/main.js';
import { lowerProgram, type ProgramPlan } from '../../passes/lower/main/plan.js';
import { prepareControl } from '../../passes/lower/main/prepare.js';
import { schedule } from '../../passes/plan/schedule.js';
import { inline } from '../../passes/rewrite/inline.js';
import { withOutputs } from '../../passes/rewrite/outputs.js';
import { viewed } from '../../passes/rewrite/views.js';
import type { PlacedCallee, Decides, RoutineContext } from './callee.js';
import { aligned } from './layout.js';
import { Placement } from './placement.js';
import type { PlacedRoutine } from './statements.js';

/** An array that is in memory from the beginning, at an address that no size moves. */
export interface InitialArray {
  readonly data: HostArray;
  readonly address: number;
}

/** Runs the passes that come before planning. */
export type Lower = (program: Program) => Program;

/** The routines of an artifact, their kernels, and the constants that these read. */
export class Composer implements RoutineContext {
  readonly #target: Target;
  readonly #lower: Lower;
  readonly #kernels: Kernel[] = [];
  readonly #constants: Map<HostArray, ConstantData & InitialArray> = new Map();
  readonly #callees: Map<Program, PlacedCallee> = new Map();
  readonly #routines: PlacedRoutine[] = [];
  #mains = 0;
  #end: number;

  /** Nothing lies below `base`. */
  constructor(target: Target, base: number, lower: Lower) {
    this.#target = target;
    this.#lower = lower;
    this.#end = aligned(base) as number;
  }

  /** The routine that the runtime would interpret, to be placed in memory. */
  placement(program: Program): Placement {
    const lowest = this.#lower(program);
    const routine = routineOf(partition(lowest) ?? wholePartition(lowest));
    return new Placement(routine, this, decidesIn(program));
  }

  /** The address of new memory that is there from the beginning. */
  keep({ byteLength }: HostArray): number {
    const at = this.#end;
    this.#end += aligned(byteLength) as number;
    return at;
  }

  /** Behind all that is there from the beginning. */
  get end(): number {
    return this.#end;
  }

  get constants(): Iterable<ConstantData & InitialArray> {
    return this.#constants.values();
  }

  /** Each behind those that it calls. */
  get routines(): readonly PlacedRoutine[] {
    return this.#routines;
  }

  module(): Module {
    return optimizeModule(moduleOf(this.#kernels), this.#target);
  }

  /** On one thread, whatever the process uses. */
  plan(program: Program, isWhole: boolean): ProgramPlan {
    const prepared = prepareControl(isWhole ? program : this.#lower(program));
    return lowerProgram(prepared, schedule(prepared, fuse(prepared)), onCpu(this.#target));
  }

  code({ module }: ProgramPlan): string {
    const name = this.#mains === 0 ? mainName : `${mainName}_${this.#mains}`;
    this.#mains++;
    for (const kernel of module.kernels) {
      this.#kernels.push(kernel.name === mainName ? { ...kernel, name } : kernel);
    }
    return name;
  }

  constant(data: ConstantData): number {
    let known = this.#constants.get(data.data);
    if (known === undefined) {
      known = { ...data, address: this.keep(data.data) };
      this.#constants.set(data.data, known);
    }
    return known.address;
  }

  callee({ program, kind }: host.HostCallee): PlacedCallee {
    let callee = this.#callees.get(program);
    if (callee === undefined) {
      callee = this.#routine(kind === 'region' ? withOwnOutputs(program) : program);
      this.#callees.set(program, callee);
    }
    return callee;
  }

  #routine(program: Program): PlacedCallee {
    const placement = this.placement(program);
    const inputs = program.inputs.map((_, index) => {
      const at = placement.names.fresh('at');
      placement.input(index, at);
      return at.key;
    });
    placement.run();
    const callee = placement.finish(`part_${this.#routines.length}`, inputs);
    this.#routines.push(callee.routine);
    return callee;
  }
}

/** A program of our own, each of whose outputs it computes itself, in memory of its own. */
export function withOwnOutputs(program: Program): Program {
  const own = withOutputs(program, program.outputs);
  const taken = new Set<Value>();
  const outputs = own.outputs.map(({ name, value }) => {
    const base = viewed(own, value);
    const isComputed = own.node(base.node).kind === 'call' && !taken.has(base);
    taken.add(base);
    return { name, value: isComputed ? value : copy<Value>(value) };
  });
  own.setOutputs(outputs);
  return own;
}

/** Asks a program as it was before operators were written in others. */
function decidesIn(program: Program): Decides {
  return (size) => {
    const whole = inline(program);
    const value = whole.decidedSizes.get(size);
    if (value === undefined) return undefined;
    const { op, source } = whole.node(value.node) as CallNode;
    return { op: op.name, source };
  };
}
