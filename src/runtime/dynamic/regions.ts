import type { Program } from '../../ir/program.js';
import type { Inspectable } from '../execution/executable.js';

/** The regions of one program in compiled form: each at most once, and when it is first asked for. */
export class Regions {
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
