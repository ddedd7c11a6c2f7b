import type { HostArray } from '../../base/dtype.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import type { ConstantData } from '../../ir/types.js';
import { moduleOf } from '../../loop/language/build.js';
import { optimizeModule } from '../../loop/optimize/module.js';
import type { Kernel, Module } from '../../loop/language/nodes.js';
import type { Target } from '../../loop/language/target.js';
import { copy } from '../../ops/structure/copy.js';
import { inline } from '../../passes/rewrite/inline.js';
import { mainName } from '../../passes/lower/main/main.js';
import type { ProgramPlan } from '../../passes/lower/main/plan.js';
import { withOutputs } from '../../passes/rewrite/outputs.js';
import { viewed } from '../../passes/rewrite/views.js';
import { aligned } from './layout.js';
import { type Callee, type Decides, RoutineBuilder, type RoutineContext } from './builder.js';
import { hostControl } from './control.js';
import { stagesOf } from './stages.js';
import type { Routine } from './statements.js';

/** An array that is in memory from the beginning, at an address that no size moves. */
export interface InitialArray {
  readonly data: HostArray;
  readonly address: number;
}

/** The routines of an artifact, their kernels, and the constants that these read. */
export class Composer implements RoutineContext {
  readonly #target: Target;
  readonly #kernels: Kernel[] = [];
  readonly #constants: Map<HostArray, ConstantData & InitialArray> = new Map();
  readonly #regions: Map<Program, Callee> = new Map();
  readonly #routines: Routine[] = [];
  #mains = 0;
  #end: number;

  /** Nothing lies below `base`. */
  constructor(target: Target, base: number) {
    this.#target = target;
    this.#end = aligned(base) as number;
  }

  /** A builder for the program as a whole. */
  builder(program: Program): RoutineBuilder {
    return new RoutineBuilder(stagesOf(program, this.#target), this, decidesIn(program));
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
  get routines(): readonly Routine[] {
    return this.#routines;
  }

  module(): Module {
    return optimizeModule(moduleOf(this.#kernels), this.#target);
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

  region(region: Program): Callee {
    let callee = this.#regions.get(region);
    if (callee === undefined) {
      callee = this.program(withOwnOutputs(region));
      this.#regions.set(region, callee);
    }
    return callee;
  }

  program(program: Program): Callee {
    const builder = this.builder(program);
    const inputs = program.inputs.map((_, index) => {
      const at = builder.names.fresh('at');
      builder.input(index, at);
      return at.key;
    });
    builder.run(hostControl);
    const callee = builder.finish(`part_${this.#routines.length}`, inputs);
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
