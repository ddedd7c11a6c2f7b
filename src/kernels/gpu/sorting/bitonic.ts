import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Scalar, Stmt } from '../../../loop/language/nodes.js';
import { workgroupLimits } from '../../../loop/language/verify-workgroups.js';
import { unravel } from '../../../ops/contraction/unravel.js';
import type { KernelContext } from '../../../ops/declare/lowering.js';
import { storageOf } from '../../../ops/elements.js';
import { comesBefore } from '../../../ops/indexing/order.js';
import { wideDType } from '../../../ops/loops.js';
import { known, product } from '../../contraction/sizes.js';

/** The sort of equal runs of rows along an axis; the last run of a row may be shorter. */
export interface RunSort {
  readonly axis: number;
  readonly descending: boolean;
  /** Elements of a run, at most `longestRun`. */
  readonly run: number;
}

/** Elements that a workgroup sorts in its memory, with their positions. */
export function longestRun(scalar: Scalar): number {
  return workgroupLimits.bytes / (e.scalarBytes(scalar) === 8 ? 16 : 8);
}

/**
 * Stores the positions of the elements of each run in sorted order. A workgroup for each run sorts pairs of element and position by a bitonic network: Batcher, Sorting networks and their applications, 1968.
 * Positions decide between equal elements, so that the order is a total one and the sort is stable.
 */
export function sortedInWorkgroups(
  context: KernelContext<unknown>,
  { axis, descending, run }: RunSort,
): Stmt {
  const {
    inputs: [x],
    outputs: [sink],
  } = context;
  const length = x.shape[axis];
  const mostStages = Math.ceil(Math.log2(run));
  const places = 2 ** mostStages;
  // Rows of unknown length may be far shorter than a run.
  const isShort = known(length) === null;
  const invocations = Math.min(places / 2, workgroupLimits.invocations);
  const keys = e.buffer('keys', storageOf(wideDType(x.dtype)));
  const positions = e.buffer('positions', 'i32');
  const memory = [keys, positions].map((buffer) => ({ buffer, length: places }));
  const others = x.shape.toSpliced(axis, 1);
  const runs = e.div(e.add(length, run - 1), run);
  const groups = product(...others, runs);
  return e.workgroups(groups, invocations, memory, (group, invocation) => {
    const [first, count, stages] = ['first', 'count', 'stages'].map((name) => e.variable(name, 'i32')); // prettier-ignore
    const divisor = isShort ? e.max(runs, 1) : runs;
    const [lead, own] = [e.div(group, divisor), e.rem(group, divisor)];
    const row = unravel(lead, others);
    /** A statement for each place of memory, or each pair of places. */
    const each = (of: number, body: (place: Expr) => Stmt): Stmt => {
      if (!isShort) return always(of, body);
      const used = e.shr(e.shl(e.i32(1), stages), Math.log2(places / of));
      const part = e.div(e.add(used, invocations - 1), invocations);
      return e.forLoop('part', 0, part, (at) => {
        const place = e.add(invocation, e.mul(at, invocations));
        return e.ifThen(e.lt(place, used), body(place));
      });
    };
    const always = (of: number, body: (place: Expr) => Stmt): Stmt =>
      of === invocations
        ? body(invocation)
        : e.forLoop('part', 0, of / invocations, (part) =>
            body(e.add(invocation, e.mul(part, invocations))),
          );
    const fill = (place: Expr): Stmt => {
      const at = e.add(first, e.min(place, e.sub(count, 1)));
      const key = x.at(row.toSpliced(axis, 0, at));
      return e.block(
        e.store(keys, place, e.cast(e.loadedScalar(keys.storage), key)),
        e.store(positions, place, place),
      );
    };
    const give = (place: Expr): Stmt => {
      const index = row.toSpliced(axis, 0, e.add(first, place));
      const position = e.add(first, e.load(positions, place));
      return e.ifThen(e.lt(place, count), sink.store(index, position));
    };
    return e.block(
      e.declare(first, e.mul(own, run)),
      e.declare(count, e.min(e.sub(length, first), run)),
      ...(isShort ? [e.declare(stages, stagesFor(count, mostStages))] : []),
      each(places, fill),
      e.workgroupBarrier,
      e.forLoop('stage', 0, isShort ? stages : mostStages, (stage) =>
        e.forLoop('step', 0, e.add(stage, 1), (step) =>
          e.block(
            each(places / 2, (pair) =>
              exchanged({ keys, positions, count, descending }, pair, stage, e.sub(stage, step)),
            ),
            e.workgroupBarrier,
          ),
        ),
      ),
      each(places, give),
    );
  });
}

/** The least number of stages that sort so many elements. */
function stagesFor(count: Expr, most: number): Expr {
  const isWanted = Array.from({ length: most }, (_, stage) => e.lt(e.i32(2 ** stage), count));
  return isWanted.map((is) => e.select(is, e.i32(1), e.i32(0))).reduce((a, b) => e.add(a, b));
}

interface Network {
  readonly keys: Buffer;
  readonly positions: Buffer;
  /** Places that hold elements; others belong behind all of them. */
  readonly count: Expr;
  readonly descending: boolean;
}

/** Exchanges the two elements of a pair, `2 ** level` places apart, if their order is not that of their block. */
function exchanged(
  { keys, positions, count, descending }: Network,
  pair: Expr,
  stage: Expr,
  level: Expr,
): Stmt {
  const scalar = e.loadedScalar(keys.storage);
  const [low, high] = ['low', 'high'].map((name) => e.variable(name, 'i32'));
  const [lowKey, highKey] = ['lowKey', 'highKey'].map((name) => e.variable(name, scalar));
  const [lowAt, highAt] = ['lowAt', 'highAt'].map((name) => e.variable(name, 'i32'));
  const distance = e.shl(e.i32(1), level);
  const isLater = e.or(
    comesBefore(highKey, lowKey, descending),
    e.and(e.not(comesBefore(lowKey, highKey, descending)), e.lt(highAt, lowAt)),
  );
  const isReal = e.lt(e.max(lowAt, highAt), count);
  const wrong = e.select(isReal, isLater, e.lt(highAt, lowAt));
  const ascends = e.eq(e.and(e.shr(low, e.add(stage, 1)), 1), 0);
  return e.block(
    // Twice the number of the pair, with the bits below the distance as they are.
    e.declare(low, e.sub(e.mul(pair, 2), e.and(pair, e.sub(distance, 1)))),
    e.declare(high, e.add(low, distance)),
    e.declare(lowKey, e.load(keys, low)),
    e.declare(highKey, e.load(keys, high)),
    e.declare(lowAt, e.load(positions, low)),
    e.declare(highAt, e.load(positions, high)),
    e.ifThen(
      e.eq(wrong, ascends),
      e.block(
        e.store(keys, low, highKey),
        e.store(keys, high, lowKey),
        e.store(positions, low, highAt),
        e.store(positions, high, lowAt),
      ),
    ),
  );
}
