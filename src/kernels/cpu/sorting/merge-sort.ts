import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { computeScalar, type KernelContext } from '../../../ops/declare/lowering.js';
import { comesBefore, type SortAttributes, sortedAxis } from '../../../ops/indexing/order.js';
import { overAll, wideDType } from '../../../ops/loops.js';

/**
 * Stores, for every row of the first input along an axis, the indices of its elements in sorted order. A
 * merge sort with scratch memory for 2 n keys and indices.
 */
export function sortLoops(context: KernelContext<SortAttributes>): Stmt {
  const [x] = context.inputs;
  const [sink] = context.outputs;
  const { descending } = context.attributes;
  const axis = sortedAxis(context.attributes.axis, x.shape.length);
  const length = x.shape[axis];
  const dim = context.inputTypes[0].shape[axis];
  const room = e.mul(context.extent(dim), 2);
  const keys = context.scratch('keys', wideDType(x.dtype), room);
  const positions = context.scratch('positions', 'int32', room);
  const rows = x.shape.map((extent, at) => (at === axis ? e.i32(1) : extent));
  return overAll(
    rows,
    (row) =>
      mergeSort({
        length,
        positions,
        begin: (i) =>
          e.store(keys, i, e.cast(e.loadedScalar(keys.storage), x.at(row.with(axis, i)))),
        decide: (takesRight, left, right) =>
          e.assign(takesRight, comesBefore(e.load(keys, right), e.load(keys, left), descending)),
        carry: (to, from) => e.store(keys, to, e.load(keys, from)),
        finish: (i, at) =>
          sink.store(row.with(axis, i), e.cast(computeScalar(sink.dtype), e.load(positions, at))),
      }),
    'serial',
  );
}

/**
 * Data of a merge sort, in two halves that are merged into one another: slots 0 to `length` and from there to
 * twice that. Each slot holds the index of an element, and additional data.
 */
export interface Merging {
  readonly length: Expr;
  /** Twice as many int32 as there are elements. */
  readonly positions: Buffer;
  /** Fills the additional data of slot `i` of the first half. */
  begin(i: Expr): Stmt;
  /** Assigns the condition that the element in slot `right` must precede the one in `left`. */
  decide(takesRight: Var, left: Expr, right: Expr): Stmt;
  /** Copies the additional data of a slot. */
  carry(to: Expr, from: Expr): Stmt;
  /** Called for every rank `i` with the slot of its element. */
  finish(i: Expr, at: Expr): Stmt;
}

/** A stable bottom-up merge sort, n log n in the worst case. */
export function mergeSort(merging: Merging): Stmt {
  const { length, positions } = merging;
  /** Start of the current half: 0 or `length`. */
  const source = e.variable('source', 'i32');
  const width = e.variable('width', 'i32');
  const low = e.variable('low', 'i32');
  return e.block(
    e.forLoop('i', 0, length, (i) => e.block(merging.begin(i), e.store(positions, i, i))),
    e.declare(source, e.i32(0)),
    e.declare(width, e.i32(1)),
    e.whileLoop(
      e.lt(width, length),
      e.block(
        e.declare(low, e.i32(0)),
        e.whileLoop(
          e.lt(low, length),
          e.block(
            mergeRuns(merging, source, low, e.min(e.add(low, width), length), e.min(e.add(low, e.mul(width, 2)), length)), // prettier-ignore
            e.assign(low, e.add(low, e.mul(width, 2))),
          ),
        ),
        e.assign(source, e.sub(length, source)),
        e.assign(width, e.mul(width, 2)),
      ),
    ),
    e.forLoop('i', 0, length, (i) => merging.finish(i, e.add(source, i))),
  );
}

/** Merges `low .. middle` and `middle .. high` into the other half; on ties the left element goes first. */
function mergeRuns(
  { length, positions, decide, carry }: Merging,
  source: Expr,
  low: Expr,
  middleValue: Expr,
  highValue: Expr,
): Stmt {
  const middle = e.variable('middle', 'i32');
  const high = e.variable('high', 'i32');
  const left = e.variable('left', 'i32');
  const right = e.variable('right', 'i32');
  const takesRight = e.variable('takesRight', 'bool');
  const from = e.variable('from', 'i32');
  const target = e.sub(length, source);
  return e.block(
    e.declare(middle, middleValue),
    e.declare(high, highValue),
    e.declare(left, low),
    e.declare(right, middle),
    e.forLoop('out', low, high, (out) =>
      e.block(
        e.declare(takesRight, e.lt(right, high)),
        // Both elements exist only inside the branch: a select would read beyond a run's end.
        e.ifThen(
          e.and(takesRight, e.lt(left, middle)),
          decide(takesRight, e.add(source, left), e.add(source, right)),
        ),
        e.declare(from, e.add(source, e.select(takesRight, right, left))),
        carry(e.add(target, out), from),
        e.store(positions, e.add(target, out), e.load(positions, from)),
        e.ifThen(takesRight, e.assign(right, e.add(right, 1)), e.assign(left, e.add(left, 1))),
      ),
    ),
  );
}
