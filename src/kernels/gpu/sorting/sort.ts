import * as e from '../../../loop/language/build.js';
import type { Stmt } from '../../../loop/language/nodes.js';
import { computeScalar, type KernelContext } from '../../../ops/declare/lowering.js';
import { comesBefore } from '../../../ops/indexing/order.js';
import { overAll, wideDType } from '../../../ops/loops.js';
import { known } from '../../contraction/sizes.js';
import { longestRun, sortedInWorkgroups } from './bitonic.js';

/** Elements of a row up to which each looks for its rank as fast as a workgroup sorts. */
export const shortRow = 32;

/** A sort of runs, or of whole rows where `run` is null. */
export interface RowSort {
  readonly axis: number;
  readonly descending: boolean;
  readonly run: number | null;
}

/** Stores the positions that sort runs or rows: a workgroup for each, or an invocation for each element. */
export function sortNest(context: KernelContext<RowSort>): Stmt {
  const { attributes, inputs } = context;
  const [x] = inputs;
  const { axis, descending } = attributes;
  const run = attributes.run ?? known(x.shape[axis]);
  const most = longestRun(computeScalar(wideDType(x.dtype)));
  return run === null || run <= shortRow || run > most
    ? ranksOfAll(context)
    : sortedInWorkgroups(context, { axis, descending, run });
}

/** An invocation for each element counts those that come before it. */
function ranksOfAll(context: KernelContext<RowSort>): Stmt {
  const {
    attributes: { axis, descending },
    inputs: [x],
    outputs: [sink],
  } = context;
  return overAll(
    x.shape,
    (index) => {
      const own = index[axis];
      const rank = e.variable('rank', 'i32');
      return e.block(
        e.declare(rank, e.i32(0)),
        e.forLoop('other', 0, x.shape[axis], (other) => {
          const [a, b] = [x.at(index.with(axis, other)), x.at(index)];
          const isBehind = comesBefore(b, a, descending);
          const isAhead = e.or(
            comesBefore(a, b, descending),
            e.and(e.not(isBehind), e.lt(other, own)),
          );
          return e.assign(rank, e.add(rank, e.select(isAhead, e.i32(1), e.i32(0))));
        }),
        sink.store(index.with(axis, rank), own),
      );
    },
    'serial',
    context,
  );
}
