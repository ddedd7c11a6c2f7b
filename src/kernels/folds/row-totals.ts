import * as e from '../../loop/language/build.js';
import type { Stmt, Var } from '../../loop/language/nodes.js';
import type { FoldStage } from '../../ops/nests/fold.js';
import { mostScalarSteps, mostStepsOfRows, sumsIn } from './long-sums.js';
import { type BlockBoundaries, blocksOf, oneBlock } from './sum-blocks.js';
import { declareTotals, joinSums, type Totals } from './sum-totals.js';
import type { LoopStage } from './stages.js';

/** True when a stage folds into the state of the whole row rather than into lanes and copies. */
export function isScalar({ lanes, copies }: LoopStage): boolean {
  return lanes * copies === 1;
}

/** Totals of a row's block sums: one set for the lanes, one for the scalar. */
export class RowTotals {
  readonly blocks: BlockBoundaries;
  readonly #fold: FoldStage;
  readonly #stages: readonly LoopStage[];
  readonly #partial: readonly (readonly Var[])[];
  readonly #total: readonly Var[];
  readonly #lanes: Totals | null;
  readonly #scalar: Totals | null;

  constructor(
    fold: FoldStage,
    stages: readonly LoopStage[],
    partial: readonly (readonly Var[])[],
    total: readonly Var[],
  ) {
    this.#fold = fold;
    this.#stages = stages;
    this.#partial = partial;
    this.#total = total;
    const sums = sumsIn(fold.parts);
    // The scalars of one row form a block, however many they are.
    const mostScalars = fold.inner.length > 1 ? mostScalarSteps : Infinity;
    const hasRest = stages.some(isScalar);
    const most = stages.map((stage) =>
      isScalar(stage) ? mostScalars : mostStepsOfRows(stage, partial.length, hasRest),
    );
    const chains = stages.map((stage) => Number(isScalar(stage)));
    this.blocks = sums.length === 0 ? oneBlock(stages) : blocksOf(fold.inner, stages, most, chains);
    const declare = (
      name: string,
      lanes: number,
      of: (stage: LoopStage) => boolean,
    ): Totals | null => {
      const isNeeded = stages.some(
        (stage, k) => of(stage) && (this.blocks.within[k] !== null || this.blocks.around !== null),
      );
      return isNeeded ? declareTotals(name, fold, sums, lanes, this.blocks) : null;
    };
    this.#lanes = declare('lanes', fold.lanes, (stage) => !isScalar(stage));
    this.#scalar = declare('scalar', 1, isScalar);
  }

  get declarations(): readonly Stmt[] {
    return [...(this.#lanes?.declarations ?? []), ...(this.#scalar?.declarations ?? [])];
  }

  /** True when all but the first copy of the lanes' state are empty in the end. */
  get areJoined(): boolean {
    const { within, around } = this.blocks;
    const areLeft = this.#stages.some(
      ({ copies }, k) => copies > 1 && (within[k] === null || within[k].isLast),
    );
    if (areLeft && around === null) return false;
    return this.#lanes?.sums.length === this.#fold.initial.length;
  }

  /** After a block of a stage. */
  add(stage: LoopStage): Stmt {
    if (isScalar(stage)) return this.#scalar!.add(this.#total);
    return this.#addLanes(stage.copies);
  }

  /** After a block of rows. */
  addAll(): Stmt {
    const copies = this.#stages.map((stage, k) =>
      this.blocks.within[k] === null && !isScalar(stage) ? stage.copies : 1,
    );
    return e.block(
      ...(this.#lanes === null ? [] : [this.#addLanes(Math.max(...copies))]),
      ...(this.#scalar === null ? [] : [this.#scalar.add(this.#total)]),
    );
  }

  /** Final totals, where the remaining lanes are in the first copy. */
  complete(): readonly Stmt[] {
    return [
      ...(this.#lanes === null ? [] : [this.#lanes.complete(this.#partial[0])]),
      ...(this.#scalar === null ? [] : [this.#scalar.complete(this.#total)]),
    ];
  }

  #addLanes(copies: number): Stmt {
    const totals = this.#lanes!;
    return e.block(
      joinSums(this.#fold, totals.sums, this.#partial.slice(0, copies)),
      totals.add(this.#partial[0]),
    );
  }
}
