import * as e from '../../../loop/language/build.js';
import { addWithError } from '../../../loop/language/compensation.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';
import type { Access, Sink } from '../../../ops/declare/lowering.js';
import { isLong, shortTerms } from '../../contraction/long-sums.js';
import { isContiguous } from '../../contraction/reach.js';
import { divides, isWithin } from '../../contraction/sizes.js';
import { carriedInMemory, sumInBlocks } from '../product/blocks.js';
import { multiplyPanels } from '../product/multiply.js';
import { type ColumnOrder, RightPanel } from '../product/panels.js';
import { storeResults } from '../product/results.js';
import type { ProductTile } from '../product/tile.js';
import { type AttentionGroup, beginZero } from './group.js';
import { columnsAtOnce, resultPanels, tableElements } from './tile.js';

/** Results of a workgroup: for each row, sums over columns of what the table has, times the rows of an operand. */
export class GroupResults {
  /** By the rows of an invocation, some vectors each. */
  readonly sums: readonly Var[];
  readonly #group: AttentionGroup;
  readonly #operand: Access;
  readonly #width: number;
  readonly #panels: ProductTile;
  readonly #order: ColumnOrder;

  constructor(group: AttentionGroup, name: string, operand: Access, width: number) {
    this.#group = group;
    this.#operand = operand;
    this.#width = width;
    this.#panels = resultPanels(group.tile, width);
    const [i, j] = ['i', 'j'].map((index) => e.variable(index, 'i32'));
    const isAcross = isContiguous(group.read(operand, i, e.ramp(j, 1, lanes)));
    this.#order = { distance: isAcross && width % lanes === 0 ? 1 : group.tile.across, isAcross };
    const { rows, vectors } = this.#panels;
    this.sums = Array.from({ length: rows * vectors }, (_, k) => e.variable(`${name}${k}`, 'f32', lanes)); // prettier-ignore
  }

  /** Row of a sum among those of its invocation. */
  rowOf(sum: number): number {
    return Math.floor(sum / this.#panels.vectors);
  }

  /**
   * Adds what the columns from one on contribute. Invocations may still put values into the table before this, and none
   * reads memory; it ends with a barrier.
   */
  add(from: Expr): Stmt {
    const group = this.#group;
    const panels = this.#panels;
    const count = columnsAtOnce(group.tile);
    const extent = this.#operand.shape.at(-2)!;
    /** The element of the operand for a place in a row of the table, which has four columns of an invocation together. */
    const b = (_: Expr, place: Expr, column: Expr): Expr => {
      const own = e.mul(e.and(place, lanes - 1), group.tile.across);
      const row = e.add(from, e.add(e.shr(place, Math.log2(lanes)), own));
      if (divides(extent, count)) return group.read(this.#operand, row, column);
      const value = group.read(this.#operand, e.min(row, e.sub(extent, 1)), column);
      return e.select(e.lt(row, extent), value, e.constant('f32', 0));
    };
    const operand = { b, n: e.i32(this.#width), k: e.i32(count), scalar: 'f32' as const };
    const base = tableElements(group.tile);
    const panel = new RightPanel(operand, panels, group.memory, base, this.#order);
    const body = (first: Expr): Stmt =>
      e.block(
        panel.fill(group.invocation, e.i32(0), e.i32(0), first),
        e.workgroupBarrier,
        multiplyPanels(
          this.sums,
          panels,
          (row, kk) => group.inTable(row, e.add(first, kk)),
          (vector, kk) => panel.at(e.add(group.x, vector * panels.across), kk),
        ),
        e.workgroupBarrier,
      );
    return e.forLoop('place', 0, count, body, { step: panels.depth });
  }

  /** Stores the results; `finish` makes one of the sums of a row of the invocation. Nobody reads memory before. */
  store(to: Sink, finish: (sum: Expr, row: number) => Expr = (sum) => sum): Stmt {
    const group = this.#group;
    const results = {
      tile: this.#panels,
      distance: this.#order.distance,
      m: group.extent,
      n: e.i32(this.#width),
      store: (row: Expr, column: Expr, value: Expr) => group.store(to, row, column, value),
    };
    return e.block(
      ...this.sums.map((sum, k) => e.assign(sum, finish(sum, this.rowOf(k)))),
      storeResults(this.sums, results, group.memory, group.invocation, [group.first, e.i32(0)]),
    );
  }
}

/**
 * Every tile of columns from `begin` to `end` of `extent`, over which results are summed: in blocks where there may be
 * many. `rescaled` is for sums that change their scale on the way: a vector of factors, for the rows of an invocation, by which
 * the totals of blocks are multiplied, and what assigns it behind each block.
 */
export function sumOverColumns(
  group: AttentionGroup,
  results: readonly GroupResults[],
  { begin, end, extent }: { readonly begin: Expr; readonly end: Expr; readonly extent: Expr },
  body: (from: Expr) => Stmt,
  rescaled: { readonly factors: Var; readonly before: readonly Stmt[]; readonly behind: readonly Stmt[] } | null = null,
): readonly Stmt[] {
  const sums = results.flatMap((each) => each.sums);
  const rows = results.flatMap((each) => each.sums.map((_, k) => each.rowOf(k)));
  const isInBlocks = rescaled !== null && isLong({ k: extent, scalar: 'f32' });
  const steps = (first: Expr, last: Expr): Stmt =>
    e.block(group.overColumns(first, last, body), ...(isInBlocks ? rescaled.behind : []));
  const factor = rescaled === null ? null : (sum: number): Expr => e.extract(rescaled.factors, rows[sum]);
  const length = sums.length * lanes;
  return [
    ...sums.map(beginZero),
    ...(isInBlocks ? rescaled.before : []),
    sumInBlocks(
      sums,
      end,
      extent,
      columnsAtOnce(group.tile),
      steps,
      () => carriedInMemory(sums, group.scratch('totals', length), group.scratch('errors', length), factor),
      begin,
    ),
  ];
} // prettier-ignore

/** Sums of the rows of an invocation, a lane each, that may be scaled on the way, and carry what they round away where they have many terms (decision 46). */
export class RunningSums {
  readonly #sum: Var;
  readonly #error: Var | null;

  constructor(name: string, terms: Expr) {
    this.#sum = e.variable(name, 'f32', lanes);
    this.#error = isWithin(terms, shortTerms) ? null : e.variable(`${name}Error`, 'f32', lanes);
  }

  get #locals(): readonly Var[] {
    return this.#error === null ? [this.#sum] : [this.#sum, this.#error];
  }

  get result(): Expr {
    return this.#error === null ? this.#sum : e.add(this.#sum, this.#error);
  }

  get begin(): readonly Stmt[] {
    return this.#locals.map(beginZero);
  }

  scale(factor: Expr): readonly Stmt[] {
    return this.#locals.map((local) => e.assign(local, e.mul(local, factor)));
  }

  add(term: Expr): Stmt {
    return this.#error === null
      ? e.assign(this.#sum, e.add(this.#sum, term))
      : addWithError(this.#sum, this.#error, term);
  }
}
