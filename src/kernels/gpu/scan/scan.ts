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
import { placeIn } from '../folds/places.js';
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

/**
 * The invocations of a row take neighbors of it, some in each step of all. What comes before them is what the row has
 * been so far, and what those before them have taken (`GroupScan`).
 */
function scanInWorkgroups(
  scan: Scan,
  shape: GroupShape,
  extents: readonly Expr[],
  blocks: ScanBlocks | null,
  outputs: readonly Sink[],
): Stmt {
  const { axis, reverse, exclusive, associative } = scan;
  const { initial, combine } = associative;
  const group = new GroupScan(associative, shape);
  const length = extents[axis];
  const others = extents.toSpliced(axis, 1);
  const rows = product(...others);
  const givesTotals = blocks?.totals === null;
  const count = blocks === null ? e.i32(1) : e.div(e.add(length, blocks.block - 1), blocks.block);
  const groups = product(e.div(e.add(rows, shape.results - 1), shape.results), count);
  const isLast = axis === extents.length - 1;
  // Vectors of neighbors in memory, which are all there or not at all.
  const isWhole = isLast && new Multiples(e.block()).of(length) % lanes === 0;
  const step = shape.partials * lanes;
  return e.workgroups(groups, shape.partials * shape.results, group.memory, (number, invocation) => {
    const place = placeIn(shape, invocation);
    const [row, begin, end] = ['row', 'begin', 'end'].map((name) => e.variable(name, 'i32'));
    const own = blocks === null ? e.i32(0) : e.rem(number, divisor(count));
    const lead = blocks === null ? number : e.div(number, divisor(count));
    const isLive = e.lt(row, rows);
    const at = unravel(row, others);
    const indexOf = (k: Expr): readonly Expr[] => at.toSpliced(axis, 0, k);
    const carry = scanLocals('carry', initial);
    const state = (name: string): readonly Var[] => scanLocals(name, initial);

    /** Statements that take the states before a block from those of all. */
    const before = (totals: readonly Access[]): Stmt =>
      e.forLoop('turn', 0, e.div(e.add(own, shape.partials - 1), shape.partials), (turn) => {
        const total = state('total');
        const block = e.add(e.mul(turn, shape.partials), place.partial);
        return e.block(
          ...declareAll(total, initial),
          e.ifThen(e.and(isLive, e.lt(block, own)), e.block(...total.map((local, k) => e.assign(local, e.cast(local.type.scalar, totals[k].at(indexOf(block))))))),
          ...group.ahead(total, carry, place).statements,
        );
      });

    /** Statements for the elements of all invocations from one on. */
    const advance = (base: Expr): Stmt => {
      const first = e.variable('first', 'i32');
      const isThere = e.and(isLive, e.lt(first, end));
      const taken = initial.map(({ type }, k) => e.variable(`taken${k}`, type.scalar, lanes));
      const lane = (k: number): number => (isWhole && reverse ? lanes - 1 - k : k);
      const parts = Array.from({ length: lanes }, (_, k) => state(`part${k}_`));
      const elements = associative.element(indexOf(positionsFrom(scan, first, end, length, isWhole)));
      const { ahead, statements } = group.ahead(parts[lanes - 1], carry, place);
      return e.block(
        e.declare(first, e.add(base, e.mul(place.partial, lanes))),
        ...taken.map((local, k) => e.declare(local, e.broadcast(initial[k], lanes))),
        e.ifThen(isThere, e.block(...taken.map((local, k) => e.assign(local, e.broadcast(elements[k], lanes))))),
        ...parts.flatMap((part, k) => {
          const element = state(`element${k}_`);
          const isElement = isWhole || k === 0 ? null : e.lt(e.add(first, k), end);
          const values = taken.map((local, j) => {
            const value = e.extract(local, lane(k));
            return isElement === null ? value : e.select(isElement, value, initial[j]);
          });
          if (k === 0) return declareAll(part, values);
          return [...declareAll(element, values), ...declareAll(part, combine(parts[k - 1], element))];
        }),
        ...statements,
        ...(givesTotals ? [] : [results(first, isThere, parts, ahead, lane)]),
      );
    };

    /** Stores what an invocation makes of its elements. */
    const results = (first: Expr, isThere: Expr, parts: readonly (readonly Var[])[], ahead: readonly Var[], lane: (k: number) => number): Stmt => {
      const found = parts.map((part, k) => {
        const upTo = state(`upTo${k}_`);
        const source = exclusive ? (k === 0 ? ahead : combine(ahead, parts[k - 1])) : combine(ahead, part);
        const values = associative.finish(upTo);
        const finished = scanLocals(`result${k}_`, values);
        return { finished, declarations: [...declareAll(upTo, source), ...declareAll(finished, values)] };
      });
      const declarations = found.flatMap((each) => each.declarations);
      const stores = outputs.map((sink, j) => {
        if (isWhole) {
          const vector = vectorOf(parts.map((_, k) => found[lane(k)].finished[j]));
          return sink.store(indexOf(positionsFrom(scan, first, end, length, true)), vector);
        }
        return e.block(...parts.map((_, k) => {
          const index = e.add(first, k);
          const store = sink.store(indexOf(scanPosition(scan, length, index)), found[k].finished[j]);
          return k === 0 ? store : e.ifThen(e.lt(index, end), store);
        }));
      });
      return e.ifThen(isThere, e.block(...declarations, ...stores));
    };

    const steps = e.div(e.add(e.sub(end, begin), step - 1), step);
    return e.block(
      e.declare(row, e.add(e.mul(lead, shape.results), place.result)),
      e.declare(begin, blocks === null ? e.i32(0) : e.mul(own, blocks.block)),
      e.declare(end, blocks === null ? length : e.min(e.add(begin, blocks.block), length)),
      ...declareAll(carry, initial),
      ...(blocks?.totals ? [before(blocks.totals)] : []),
      e.forLoop('turn', 0, steps, (turn) => advance(e.add(begin, e.mul(turn, step)))),
      ...(givesTotals ? [e.ifThen(e.and(isLive, e.eq(place.partial, 0)), e.block(...outputs.map((sink, k) => sink.store(indexOf(own), e.cast(computeScalar(sink.dtype), carry[k])))))] : []),
    );
  });
} // prettier-ignore

/** The positions of neighbors from one on in the order of a scan, ascending where they are whole vectors; all of them are there. */
function positionsFrom(
  { reverse }: Scan,
  first: Expr,
  end: Expr,
  length: Expr,
  isWhole: boolean,
): Expr {
  if (isWhole) return e.ramp(reverse ? e.sub(e.sub(length, lanes), first) : first, 1, lanes);
  const places = e.min(e.ramp(first, 1, lanes), e.sub(end, 1));
  return reverse ? e.sub(e.sub(length, 1), places) : places;
}

/** A vector of these lanes. */
function vectorOf(values: readonly Expr[]): Expr {
  const at = e.ramp(0, 1, values.length);
  return values.reduce((vector, value, k) => e.select(e.eq(at, k), value, vector));
}
