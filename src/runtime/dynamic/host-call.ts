import type { DimBindings } from '../../base/dim/index.js';
import { inContext, type KaonError } from '../../base/errors.js';
import type { CallNode, Program } from '../../ir/program.js';
import type { Inspectable, Operand } from '../execution/executable.js';

/** A loop or branch that the host runs. */
export interface HostCall {
  /**
   * Runs on the operands of the call; `sizes` are those known so far. Every result has a storage of its
   * own, which is no operand's.
   */
  run(operands: readonly Operand[], sizes: DimBindings): readonly Operand[];
}

/** The regions of one program in compiled form: each at most once, and when it is first asked for. */
export class CompiledRegions {
  readonly #compile: (region: Program) => Inspectable;
  readonly #compiled: Map<Program, Inspectable> = new Map();

  constructor(compile: (region: Program) => Inspectable) {
    this.#compile = compile;
  }

  executable(region: Program): Inspectable {
    let executable = this.#compiled.get(region);
    if (executable === undefined) {
      executable = this.#compile(region);
      this.#compiled.set(region, executable);
    }
    return executable;
  }

  /** Those that were asked for, in that order. */
  get compiled(): Iterable<Inspectable> {
    return this.#compiled.values();
  }

  release(): void {
    for (const executable of this.#compiled.values()) executable.release();
    this.#compiled.clear();
  }
}

/** An error of a region, told from where the call that owns it stands. */
export function inHostCall(error: unknown, where: string, { op, source }: CallNode): KaonError {
  return inContext(error, where, { op: op.name, ...(source !== undefined && { source }) });
}
