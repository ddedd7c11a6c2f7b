import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { packedStates } from '../../../ops/declare/lowering.js';
import type { StepRange } from '../../groups/places.js';
import type { PackedArgument } from '../nests/builder.js';
import type { TableLayout, TableReader } from './table.js';

/** Packed buffer that is kept while a loop runs, with the variable of `main` that says whether it is filled. */
interface LoopState {
  readonly step: number;
  readonly variable: Var;
  readonly span: StepRange;
}

/**
 * Places and states of the packed buffers that kernels keep. Those kept from run to run are in the table;
 * those kept while a loop runs have variables.
 */
export class PackedStates {
  readonly #table: TableLayout;
  readonly #reader: TableReader;
  readonly #states: Map<number, Expr> = new Map();
  readonly #inLoops: LoopState[] = [];

  constructor(table: TableLayout, reader: TableReader) {
    this.#table = table;
    this.#reader = reader;
  }

  /** The address of what a step keeps, which each thread has for itself unless one runs `alone`. */
  memory(arg: PackedArgument, step: number, alone: boolean): Expr {
    const { steady, room } = arg;
    if (steady.kind === 'runs') {
      const { memory, state } = this.#table.keptEntries(step);
      this.#states.set(step, this.#reader.load(state));
      return alone ? this.#reader.loadAddress(memory) : this.#reader.own(memory);
    }
    const { span } = steady;
    const variable = e.variable('state', 'i32');
    this.#states.set(step, variable);
    this.#inLoops.push({ step, variable, span });
    const { first, last } = span;
    return this.#reader.loadAddress(
      this.#table.scratchEntry({ ...arg, length: room.whole }, first, { last }),
    );
  }

  /** The state of what a step keeps, once its address is known. */
  state(step: number): Expr {
    return this.#states.get(step)!;
  }

  /** The variables, to be declared before all else once everything has been printed. */
  declarations(): readonly Stmt[] {
    return this.#inLoops.map(({ variable }) => e.declare(variable, e.i32(packedStates.empty)));
  }

  /**
   * Statements that mark the buffers of a loop as empty where it begins. Called after its body has been
   * printed.
   */
  emptied(loop: StepRange): readonly Stmt[] {
    return this.#assigned('empty', ({ span }) => span === loop);
  }

  /** Behind a step, what it keeps while a loop runs is there. */
  filled(of: number): readonly Stmt[] {
    return this.#assigned('full', ({ step }) => step === of);
  }

  #assigned(state: keyof typeof packedStates, wanted: (of: LoopState) => boolean): readonly Stmt[] {
    return this.#inLoops
      .filter(wanted)
      .map(({ variable }) => e.assign(variable, e.i32(packedStates[state])));
  }
}
