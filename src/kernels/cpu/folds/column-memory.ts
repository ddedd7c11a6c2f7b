import * as e from '../../../loop/language/build.js';
import { fastTwoSum } from '../../../loop/language/compensation.js';
import type { Buffer, Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import type { Fold } from '../../../ops/nests/fold.js';
import { emptySum, mostStepsOfColumns, sumsIn } from '../../folds/long-sums.js';
import { type BlockBoundaries, blocksOf, isCompensated, oneBlock } from '../../folds/sum-blocks.js';
import type { LoopStage } from '../../folds/stages.js';

/**
 * The states of neighboring columns, and the totals of their sums when these take more than one block. The
 * carry is the first term of the next block.
 */
export class ColumnMemory {
  /** The components of a state that are sums, as in `sumsIn`. */
  readonly sums: readonly number[];
  readonly #fold: Fold;
  readonly #states: readonly Buffer[];
  readonly #most: number;
  #totals: ReadonlyMap<number, Buffer> = new Map();
  #isCarried: boolean = false;

  constructor(fold: Fold, most: number) {
    this.#fold = fold;
    this.#most = most;
    this.sums = sumsIn(fold.parts);
    this.#states = fold.initial.map((_, k) => this.#row(`state${k}`, k));
  }

  #row(name: string, k: number): Buffer {
    return this.#fold.scratch(name, this.#fold.initial[k].type.scalar, e.i32(this.#most));
  }

  /** Block boundaries; with several blocks, totals are allocated. */
  blocksOf(stages: readonly LoopStage[]): BlockBoundaries {
    const blocks =
      this.sums.length === 0
        ? oneBlock(stages)
        : blocksOf(
            this.#fold.inner,
            stages,
            stages.map(() => mostStepsOfColumns),
            stages.map(() => 0),
          );
    if (blocks.around !== null || blocks.within.some((steps) => steps !== null)) {
      this.#isCarried = isCompensated(blocks);
      this.#totals = new Map(this.sums.map((k) => [k, this.#row(`total${k}`, k)]));
    }
    return blocks;
  }

  begin(at: Expr, lanes: number): Stmt {
    const initial = this.#fold.initial.map((part) => e.broadcast(part, lanes));
    const totals = [...this.#totals].map(([k, buffer]) => e.store(buffer, at, initial[k]));
    return e.block(this.save(at, initial), ...totals);
  }

  load(at: Expr): Expr[] {
    return this.#states.map((buffer, k) => loadState(buffer, at, this.#fold.initial[k]));
  }

  save(at: Expr, state: readonly Expr[]): Stmt {
    return e.block(...state.map((part, k) => saveState(this.#states[k], at, part)));
  }

  /** Adds a block to the totals, after it. */
  addToTotals(at: Expr, lanes: number): Stmt {
    return e.block(
      ...[...this.#totals].map(([k, buffer]) => {
        const { scalar } = this.#fold.initial[k].type;
        const local = (name: string): Var => e.variable(`${name}_${k}`, scalar, lanes);
        const [total, block] = [local('total'), local('block')];
        const { sum, error } = fastTwoSum(total, block);
        return e.block(
          e.declare(total, e.load(buffer, at)),
          e.declare(block, e.load(this.#states[k], at)),
          e.store(buffer, at, sum),
          e.store(this.#states[k], at, this.#isCarried ? error : emptySum(block, lanes)),
        );
      }),
    );
  }

  /** The states with their totals. */
  whole(at: Expr): Expr[] {
    return this.load(at).map((part, k) => {
      const total = this.#totals.get(k);
      return total === undefined ? part : e.add(e.load(total, at), part);
    });
  }
}

function loadState(from: Buffer, at: Expr, like: Expr): Expr {
  const raw = e.load(from, at);
  return like.type.scalar === 'bool' ? e.cast('bool', raw) : raw;
}

function saveState(to: Buffer, at: Expr, part: Expr): Stmt {
  return e.store(to, at, part.type.scalar === 'bool' ? e.cast('i32', part) : part);
}
