import { type Dim, isStatic } from '../../../base/dim/index.js';
import type { DType } from '../../../base/dtype.js';
import type { TensorType } from '../../../ir/types.js';
import type { Template } from './absence.js';
import { isGivenUp, type RowUse } from './path.js';
import type { Tracking } from './tracking.js';
import type { PackedLayout } from './values.js';

/** Thrown where a first path has to give a value in another form: everything is traced again. */
export class Retrace extends Error {}

/** Facts about a loop that tracing its body finds out. */
export interface LoopFacts {
  /** The codes of the ends of iterations that lead out of the loop. */
  readonly codes: Set<number>;
  returned: readonly PackedLayout[] | null;
  /** True if the loop may end by its test or its own `break`. */
  mayEnd: boolean;
  /** True where an iteration changes the limit of the loop's counter. */
  isLimitChanged: boolean;
  /** True where the test is a state, since it changes something or needs what its iteration has computed. */
  isTestCarried: boolean;
}

/** Rows that paths or iterations give for a list. */
export interface RowFacts {
  /** The number of rows; null where only the data of a path or iteration decides it. */
  readonly count: Dim | null;
  /** The type of a row. */
  readonly type: TensorType;
}

/** Rows of a list that iterations both push to and use. */
export interface UsedRows extends RowFacts {
  readonly uses: Set<RowUse>;
}

/** Order in which the paths of a choice are traced. */
interface PathOrder {
  readonly isSwapped: boolean;
  /** The reason of the latest swap. */
  readonly reason: 'dead' | 'lacking';
  readonly swaps: number;
}

/** Facts about a construct that its traces have found out, for the next ones. */
export class TraceFacts {
  /** Dtypes that numbers have to have, by the names of what they are the values of. */
  readonly dtypes: Map<string, DType> = new Map();
  /** Values that may be absent, by such names, as they are where they are there. */
  readonly optionals: Map<string, Template> = new Map();
  /** The order of the paths, where it is not the natural one. */
  order: PathOrder | null = null;
  /** Values that only the second path returns: the first one gives zeros in their place. */
  lateReturn: readonly PackedLayout[] | null = null;
  loop: LoopFacts | null = null;
  tracking: Tracking | null = null;
  /** Rows that both paths of a branch give, by lists. */
  readonly branchRows: Map<object, RowFacts> = new Map();
  /** Rows that an iteration gives, by lists that the iterations use. */
  readonly earlierRows: Map<object, UsedRows> = new Map();
  readonly #learned: Set<string> = new Set();
  readonly #learnedRows: Set<string> = new Set();

  /** Has the construct traced again: a trace has found out something, which is told in words. */
  learn(fact: string): never {
    this.#learned.add(fact);
    throw new Retrace();
  }

  knows(fact: string): boolean {
    return this.#learned.has(fact);
  }

  /** As `learn`, of the rows of lists. */
  learnRows(fact: string): never {
    this.#learnedRows.add(fact);
    throw new Retrace();
  }

  /** Number of facts, but for those about rows. */
  get size(): number {
    return this.dtypes.size + this.#learned.size;
  }

  /** A text that tells sets of facts apart. */
  get signature(): string {
    return [...this.dtypes, ...this.#learned, ...this.#learnedRows].join();
  }

  /**
   * Prepares for another trace of the construct around: forgets lists of traces that were given up, and those whose rows
   * have sizes that another trace may not have.
   */
  revisit(): void {
    this.tracking?.revisit();
    for (const rows of [this.branchRows, this.earlierRows]) {
      for (const [list, { type, count }] of rows) {
        const isKept = isGivenUp(list) === false && [count ?? 0, ...type.shape].every(isStatic);
        if (!isKept) rows.delete(list);
      }
    }
    this.#learnedRows.clear();
  }
}
