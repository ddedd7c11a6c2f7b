import * as attr from '../../../base/attributes/attribute.js';
import type { Tensor } from '../../../ir/types.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { type Input, operator, type OperatorFunction } from '../../../ops/declare/declare.js';
import type { KernelContext } from '../../../ops/declare/lowering.js';
import { comesBefore } from '../../../ops/indexing/order.js';
import { overAll } from '../../../ops/loops.js';
import type { RunSort } from './bitonic.js';
import { type RowSort, sortNest } from './sort.js';

/*
 * The steps of a long sort, each a dispatch: runs that a workgroup sorts, merges of two runs into one, or of many of them
 * where nobody knows how many there are. They are calls that only the expansion of a sort makes: no operators of the
 * library, so that they have no samples.
 */

const attributes = { axis: attr.int, descending: attr.bool, run: attr.int };

/** The positions that sort each run of `run` elements along an axis, or rows of any length without one; int32. */
export const sortedRuns: OperatorFunction<<T extends Tensor>(x: Input<T>, sort: RowSort) => T> =
  operator({
    name: 'sortedRuns',
    family: 'indexing',
    attributes: { ...attributes, run: attr.optional(attr.int) },
    operands: 'keep',
    call: (x, { axis, descending, run }) => ({
      inputs: [x],
      attributes: { axis, descending, run },
    }),
    infer: ({ inputs: [{ shape }] }) => [{ dtype: 'int32', shape }],
    gradient: 'none',
    lowering: { kind: 'kernel', kernel: sortNest },
    samples: [],
  });

/** A step of a sort: positions along an axis, of those that sort runs of `run` elements of `x`. */
type RunStep = <T extends Tensor>(x: Input<T>, positions: Input<T>, sort: RunSort) => T;

function runStep(
  name: string,
  kernel: (context: KernelContext<RunSort>) => Stmt,
): OperatorFunction<RunStep> {
  return operator({
    name,
    family: 'indexing',
    attributes,
    operands: 'keep',
    call: (x, positions, { axis, descending, run }) => ({
      inputs: [x, positions],
      attributes: { axis, descending, run },
    }),
    infer: ({ inputs: [, { dtype, shape }] }) => [{ dtype, shape }],
    gradient: 'none',
    lowering: { kind: 'kernel', kernel },
    samples: [],
  });
}

/** Positions that sort runs of `2 * run` elements. */
export const mergedRuns: OperatorFunction<RunStep> = runStep('mergedRuns', mergeNest);

/** Some runs that become one. */
interface RankSort extends RunSort {
  /** Number of neighboring runs; null for all of a row. */
  readonly together: number | null;
}

/** Positions that sort runs of `together` runs, or whole rows. */
export const rankedRuns: OperatorFunction<
  <T extends Tensor>(x: Input<T>, positions: Input<T>, sort: RankSort) => T
> = operator({
  name: 'rankedRuns',
  family: 'indexing',
  attributes: { ...attributes, together: attr.optional(attr.int) },
  operands: 'keep',
  call: (x, positions, { axis, descending, run, together }) => ({
    inputs: [x, positions],
    attributes: { axis, descending, run, together },
  }),
  infer: ({ inputs: [, { dtype, shape }] }) => [{ dtype, shape }],
  gradient: 'none',
  lowering: { kind: 'kernel', kernel: rankNest },
  samples: [],
});

/**
 * An invocation for each element, which looks in every other run that its own is joined with for the elements that come
 * before it. Of equal ones those of earlier runs do.
 */
function rankNest(context: KernelContext<RankSort>): Stmt {
  const {
    attributes: { axis, descending, run, together },
    inputs: [x, positions],
    outputs: [sink],
  } = context;
  const length = x.shape[axis];
  const runs = e.div(e.add(length, run - 1), run);
  return overAll(
    x.shape,
    (index) => {
      const place = index[axis];
      const [own, position, rank, begin] = ['own', 'position', 'rank', 'begin'].map((name) => e.variable(name, 'i32')); // prettier-ignore
      const [first, low, high, middle] = ['first', 'low', 'high', 'middle'].map((name) => e.variable(name, 'i32')); // prettier-ignore
      const positionAt = (at: Expr): Expr => positions.at(index.with(axis, at));
      const keyOf = (at: Expr): Expr => x.at(index.with(axis, at));
      return e.block(
        e.declare(own, e.div(place, run)),
        e.declare(position, positionAt(place)),
        e.declare(rank, e.rem(place, run)),
        e.declare(begin, together === null ? e.i32(0) : e.sub(own, e.rem(own, together))),
        e.forLoop(
          'other',
          begin,
          together === null ? runs : e.min(e.add(begin, together), runs),
          (other) => {
            const key = keyOf(positionAt(middle));
            const isAhead = e.select(
              e.lt(other, own),
              e.not(comesBefore(keyOf(position), key, descending)),
              comesBefore(key, keyOf(position), descending),
            );
            return e.ifThen(
              e.ne(other, own),
              e.block(
                e.declare(first, e.mul(other, run)),
                e.declare(low, first),
                e.declare(high, e.min(e.add(first, run), length)),
                e.whileLoop(
                  e.lt(low, high),
                  e.block(
                    e.declare(middle, e.shr(e.add(low, high), 1)),
                    e.ifThen(isAhead, e.assign(low, e.add(middle, 1)), e.assign(high, middle)),
                  ),
                ),
                e.assign(rank, e.add(rank, e.sub(low, first))),
              ),
            );
          },
        ),
        sink.store(index.with(axis, e.add(e.mul(begin, run), rank)), position),
      );
    },
    'serial',
    context,
  );
}

/**
 * An invocation for each place of the result, which looks for the point where two runs are cut: as many elements come
 * before the place from both together (Green, McColl, Bader: GPU merge path, 2012). Of equal elements those of the
 * first run come first.
 */
function mergeNest(context: KernelContext<RunSort>): Stmt {
  const {
    attributes: { axis, descending, run },
    inputs: [x, positions],
    outputs: [sink],
  } = context;
  const length = x.shape[axis];
  return overAll(
    x.shape,
    (index) => {
      const place = index[axis];
      const [first, second, ahead] = ['first', 'second', 'ahead'].map((name) => e.variable(name, 'i32')); // prettier-ignore
      const [sizes, others] = [e.variable('firstSize', 'i32'), e.variable('secondSize', 'i32')];
      const [low, high, middle] = ['low', 'high', 'middle'].map((name) => e.variable(name, 'i32'));
      const found = e.variable('found', 'i32');
      const positionAt = (at: Expr): Expr => positions.at(index.with(axis, at));
      const keyAt = (at: Expr): Expr => x.at(index.with(axis, positionAt(at)));
      /** True when element `b` of the second run comes before element `a` of the first. */
      const isSecond = (a: Expr, b: Expr): Expr =>
        comesBefore(keyAt(e.add(second, b)), keyAt(e.add(first, a)), descending);
      const takesSecond = e.variable('takesSecond', 'bool');
      const rest = e.sub(ahead, low);
      return e.block(
        e.declare(first, e.sub(place, e.rem(place, 2 * run))),
        e.declare(second, e.min(e.add(first, run), length)),
        e.declare(ahead, e.sub(place, first)),
        e.declare(sizes, e.sub(second, first)),
        e.declare(others, e.min(e.sub(length, second), run)),
        e.declare(low, e.max(e.sub(ahead, others), 0)),
        e.declare(high, e.min(ahead, sizes)),
        e.whileLoop(
          e.lt(low, high),
          e.block(
            e.declare(middle, e.shr(e.add(low, high), 1)),
            e.ifThen(
              isSecond(middle, e.sub(e.sub(ahead, 1), middle)),
              e.assign(high, middle),
              e.assign(low, e.add(middle, 1)),
            ),
          ),
        ),
        e.declare(takesSecond, e.ge(low, sizes)),
        e.ifThen(
          e.and(e.lt(low, sizes), e.lt(rest, others)),
          e.assign(takesSecond, isSecond(low, rest)),
        ),
        e.declare(found, e.select(takesSecond, e.add(second, rest), e.add(first, low))),
        sink.store(index, positionAt(found)),
      );
    },
    'serial',
    context,
  );
}
