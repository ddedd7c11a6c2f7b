import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { Multiples } from '../../../loop/analysis/multiples.js';
import { unravel } from '../../../ops/contraction/unravel.js';
import {
  type Access,
  computeScalar,
  type KernelContext,
  type Sink,
} from '../../../ops/declare/lowering.js';
import type { Scan } from '../../../ops/declare/scan.js';
import { divisor } from '../../../ops/loops.js';
import { declareAll, scanLocals, scanPosition } from '../../../ops/reduction/scans/scan.js';
import { known, product } from '../../contraction/sizes.js';
import type { GroupShape } from '../folds/group-shape.js';
import { type GroupPlace, placeIn } from '../folds/places.js';
import { GroupScan } from './group-scan.js';
import { scanLanes as lanes, scanShape } from './scan-shape.js';

/** Rows in blocks, each scanned by a workgroup of its own. */
export interface ScanBlocks {
  /** Elements of a block, in steps of a workgroup. */
  readonly block: number;
  /** The states of all blocks, in which those before a block are looked up; null where they are computed. */
  readonly totals: readonly Access[] | null;
}

/** A scan by workgroups, one for some rows; null for rows that are scanned by an invocation each. */
export function groupedScan(context: KernelContext<unknown>, scan: Scan): Stmt | null {
  const { outputs } = context;
  const shape = shapeOf(scan, outputs[0].shape);
  return shape && scanInWorkgroups(scan, shape, outputs[0].shape, null, outputs);
}

/** One of the two dispatches of a scan in blocks: `outputs` are the states of the blocks, or the results. */
export function scanOfBlocks(
  scan: Scan,
  shape: readonly Expr[],
  blocks: ScanBlocks,
  outputs: readonly Sink[],
): Stmt {
  return scanInWorkgroups(scan, shapeOf(scan, shape) ?? anyShape, shape, blocks, outputs);
}

/** Division for rows that are scanned in blocks, and known to be short when the kernel is made. */
const anyShape: GroupShape = { results: 1, partials: 256, together: lanes, isRow: true };

function shapeOf({ axis }: Scan, shape: readonly Expr[]): GroupShape | null {
  const count = (extents: readonly Expr[]): number => known(product(...extents)) ?? Infinity;
  return scanShape({
    length: known(shape[axis]) ?? Infinity,
    neighbors: count(shape.slice(axis + 1)),
    rows: count(shape.toSpliced(axis, 1)),
  });
}

/** The kernel of a scan: the invocations of a workgroup divide the rows of a block. */
function scanInWorkgroups(
  scan: Scan,
  shape: GroupShape,
  extents: readonly Expr[],
  blocks: ScanBlocks | null,
  outputs: readonly Sink[],
): Stmt {
  const group = new GroupScan(scan.associative, shape);
  const length = extents[scan.axis];
  const rows = product(...extents.toSpliced(scan.axis, 1));
  const count = blocks === null ? e.i32(1) : e.div(e.add(length, blocks.block - 1), blocks.block);
  const groups = product(e.div(e.add(rows, shape.results - 1), shape.results), count);
  const size = shape.partials * shape.results;
  return e.workgroups(groups, size, group.memory, (number, invocation) => {
    const own = blocks === null ? e.i32(0) : e.rem(number, divisor(count));
    const lead = blocks === null ? number : e.div(number, divisor(count));
    const place = placeIn(shape, invocation);
    const [row, begin, end] = ['row', 'begin', 'end'].map((name) => e.variable(name, 'i32'));
    const work = new RowWork(scan, group, { extents, place, row, isLive: e.lt(row, rows), end });
    const step = shape.partials * lanes;
    const steps = e.div(e.add(e.sub(end, begin), step - 1), step);
    const results = blocks?.totals === null ? null : outputs;
    return e.block(
      e.declare(row, e.add(e.mul(lead, shape.results), place.result)),
      e.declare(begin, blocks === null ? e.i32(0) : e.mul(own, blocks.block)),
      e.declare(end, blocks === null ? length : e.min(e.add(begin, blocks.block), length)),
      ...declareAll(work.carry, scan.associative.initial),
      ...(blocks?.totals ? [work.before(blocks.totals, own, shape.partials)] : []),
      e.forLoop('turn', 0, steps, (turn) => work.advance(e.add(begin, e.mul(turn, step)), results)),
      ...(results === null ? [work.give(outputs, own)] : []),
    );
  });
}

/** The work of an invocation on its row. */
class RowWork {
  /** The state of the row so far, which all its invocations know. */
  readonly carry: readonly Var[];
  readonly #scan: Scan;
  readonly #group: GroupScan;
  readonly #row: RowPlace;
  readonly #index: readonly Expr[];
  /** Vectors are of neighbors in memory, which are all there or not at all. */
  readonly #isWhole: boolean;

  constructor(scan: Scan, group: GroupScan, row: RowPlace) {
    const { axis } = scan;
    const { extents } = row;
    this.#scan = scan;
    this.#group = group;
    this.#row = row;
    this.#index = unravel(row.row, extents.toSpliced(axis, 1));
    const isLast = axis === extents.length - 1;
    this.#isWhole = isLast && new Multiples(e.block()).of(extents[axis]) % lanes === 0;
    this.carry = this.#state('carry');
  }

  /** Takes the states of the blocks before a block. */
  before(totals: readonly Access[], block: Expr, partials: number): Stmt {
    const { place, isLive } = this.#row;
    const turns = e.div(e.add(block, partials - 1), partials);
    return e.forLoop('turn', 0, turns, (turn) => {
      const total = this.#state('total');
      const own = e.add(e.mul(turn, partials), place.partial);
      const given = totals.map((each) => each.at(this.#at(own)));
      const isBefore = e.and(isLive, e.lt(own, block));
      return e.block(
        ...declareAll(total, this.#scan.associative.initial),
        e.ifThen(isBefore, e.block(...total.map((local, k) => e.assign(local, e.cast(local.type.scalar, given[k]))))), // prettier-ignore
        ...this.#group.ahead(total, this.carry, place).statements,
      );
    });
  }

  /**
   * Takes the elements of one step of all invocations, from `base` on, some neighbors each, and stores results unless
   * there are none. What comes before them is what the row has been so far, and what those before them take.
   */
  advance(base: Expr, outputs: readonly Sink[] | null): Stmt {
    const { associative } = this.#scan;
    const { place, end, isLive } = this.#row;
    const first = e.variable('first', 'i32');
    const isThere = e.and(isLive, e.lt(first, end));
    const taken = associative.initial.map(({ type }, k) => e.variable(`taken${k}`, type.scalar, lanes)); // prettier-ignore
    const elements = associative.element(this.#at(this.#positions(first)));
    const take = taken.map((local, k) => e.assign(local, e.broadcast(elements[k], lanes)));
    const { parts, declarations } = this.#parts(first, taken);
    const { ahead, statements } = this.#group.ahead(parts[lanes - 1], this.carry, place);
    return e.block(
      e.declare(first, e.add(base, e.mul(place.partial, lanes))),
      ...taken.map((local, k) => e.declare(local, e.broadcast(associative.initial[k], lanes))),
      e.ifThen(isThere, e.block(...take)),
      ...declarations,
      ...statements,
      ...(outputs === null ? [] : [e.ifThen(isThere, this.#results(outputs, first, parts, ahead))]),
    );
  }

  /** Stores the state of a block. */
  give(outputs: readonly Sink[], block: Expr): Stmt {
    const { place, isLive } = this.#row;
    const stores = outputs.map((sink, k) =>
      sink.store(this.#at(block), e.cast(computeScalar(sink.dtype), this.carry[k])),
    );
    return e.ifThen(e.and(isLive, e.eq(place.partial, 0)), e.block(...stores));
  }

  /** The states from the first element of an invocation to each of them; those beyond the row change nothing. */
  #parts(first: Expr, taken: readonly Var[]): { readonly parts: readonly (readonly Var[])[]; readonly declarations: readonly Stmt[] } {
    const { initial, combine } = this.#scan.associative;
    const parts: (readonly Var[])[] = [];
    const declarations: Stmt[] = [];
    for (let k = 0; k < lanes; k++) {
      const isElement = this.#isWhole || k === 0 ? null : e.lt(e.add(first, k), this.#row.end);
      const values = taken.map((local, j) => {
        const value = e.extract(local, this.#lane(k));
        return isElement === null ? value : e.select(isElement, value, initial[j]);
      });
      const [element, part] = [this.#state(`element${k}_`), this.#state(`part${k}_`)];
      if (k > 0) declarations.push(...declareAll(element, values));
      declarations.push(...declareAll(part, k === 0 ? values : combine(parts[k - 1], element)));
      parts.push(part);
    }
    return { parts, declarations };
  } // prettier-ignore

  /** Stores what follows from the elements of an invocation and from what comes before them. */
  #results(outputs: readonly Sink[], first: Expr, parts: readonly (readonly Var[])[], ahead: readonly Var[]): Stmt {
    const { exclusive, associative } = this.#scan;
    const declarations: Stmt[] = [];
    const results = parts.map((part, k) => {
      const upTo = this.#state(`upTo${k}_`);
      const last = exclusive ? parts[k - 1] : part;
      declarations.push(...declareAll(upTo, last === undefined ? ahead : associative.combine(ahead, last)));
      const values = associative.finish(upTo);
      const finished = scanLocals(`result${k}_`, values);
      declarations.push(...declareAll(finished, values));
      return finished;
    });
    const stores = outputs.map((sink, j) => {
      if (this.#isWhole) return sink.store(this.#at(this.#positions(first)), vectorOf(results.map((_, k) => results[this.#lane(k)][j])));
      return e.block(...results.map((finished, k) => {
        const at = e.add(first, k);
        const store = sink.store(this.#at(scanPosition(this.#scan, this.#length, at)), finished[j]);
        return k === 0 ? store : e.ifThen(e.lt(at, this.#row.end), store);
      }));
    });
    return e.block(...declarations, ...stores);
  } // prettier-ignore

  /** The positions of the elements of an invocation in memory, ascending where they are whole vectors; all are there. */
  #positions(first: Expr): Expr {
    const { reverse } = this.#scan;
    const length = this.#length;
    if (this.#isWhole)
      return e.ramp(reverse ? e.sub(e.sub(length, lanes), first) : first, 1, lanes);
    const places = e.min(e.ramp(first, 1, lanes), e.sub(this.#row.end, 1));
    return scanPosition(this.#scan, length, places);
  }

  /** The lane of an element of an invocation in its vector. */
  #lane(k: number): number {
    return this.#isWhole && this.#scan.reverse ? lanes - 1 - k : k;
  }

  #at(position: Expr): readonly Expr[] {
    return this.#index.toSpliced(this.#scan.axis, 0, position);
  }

  #state(name: string): readonly Var[] {
    return scanLocals(name, this.#scan.associative.initial);
  }

  get #length(): Expr {
    return this.#row.extents[this.#scan.axis];
  }
}

/** The part of a row that is an invocation's. */
interface RowPlace {
  readonly extents: readonly Expr[];
  readonly place: GroupPlace;
  readonly row: Expr;
  /** True where there is such a row. */
  readonly isLive: Expr;
  /** End of the block of the row. */
  readonly end: Expr;
}

/** A vector of these lanes. */
function vectorOf(values: readonly Expr[]): Expr {
  const at = e.ramp(0, 1, values.length);
  return values.reduce((vector, value, k) => e.select(e.eq(at, k), value, vector));
}
