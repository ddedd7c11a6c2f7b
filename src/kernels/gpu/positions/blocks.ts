import * as attr from '../../../base/attributes/attribute.js';
import { addDim, type Dim, floorDivDim } from '../../../base/dim/index.js';
import type { Tensor } from '../../../ir/types.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { type Input, operator, type OperatorFunction } from '../../../ops/declare/declare.js';
import type { Access, KernelContext } from '../../../ops/declare/lowering.js';
import { overAll } from '../../../ops/loops.js';

/*
 * The steps of a compaction, each a dispatch: how many places the elements of a block take, where each block begins,
 * and the positions of its elements behind one another. An invocation does a block. They are calls that only the
 * expansion of positions makes: no operators of the library, so that they have no samples.
 */

/** Elements of a block. */
const blockLength = 64;

/** The number of blocks of so many elements: one at least, the last of which may be empty. */
function blocksOf(length: Dim): Dim {
  return addDim(floorDivDim(length, blockLength), 1);
}

/** For each block of `counts` (rank 1), the sum of those that are not negative; int32. */
export const blockTotals: OperatorFunction<<T extends Tensor>(counts: Input<T>) => T> = operator({
  name: 'blockTotals',
  family: 'dynamic',
  attributes: {},
  operands: 'keep',
  call: (counts) => ({ inputs: [counts], attributes: {} }),
  infer: ({ inputs: [{ shape }] }) => [{ dtype: 'int32', shape: [blocksOf(shape[0])] }],
  gradient: 'none',
  lowering: {
    kind: 'kernel',
    kernel: (context) => {
      const { inputs, outputs } = context;
      const [counts] = inputs;
      const [sink] = outputs;
      return overBlocks(context, sink.shape[0], (block) => {
        const total = e.variable('total', 'i32');
        return e.block(
          e.declare(total, e.i32(0)),
          inBlock(block, counts, (i) => e.assign(total, e.add(total, takenBy(counts, i)))),
          sink.store([block], total),
        );
      });
    },
  },
  samples: [],
});

/** For each of some totals (rank 1), the sum of those before; blocks of them begin with `starts`, or all with 0. */
export const totalsBefore: OperatorFunction<
  <T extends Tensor>(totals: Input<T>, starts: Input<T> | null) => T
> = operator({
  name: 'totalsBefore',
  family: 'dynamic',
  attributes: { isWhole: attr.bool },
  operands: 'keep',
  call: (totals, starts) => ({
    inputs: starts === null ? [totals] : [totals, starts],
    attributes: { isWhole: starts === null },
  }),
  infer: ({ inputs: [totals] }) => [totals],
  gradient: 'none',
  lowering: {
    kind: 'kernel',
    kernel: (context) => {
      const {
        inputs: [totals, starts],
        outputs: [sink],
        attributes: { isWhole },
      } = context;
      const before = e.variable('before', 'i32');
      const next = (i: Expr): Stmt =>
        e.block(sink.store([i], before), e.assign(before, e.add(before, totals.at([i]))));
      if (isWhole) {
        const [count] = totals.shape;
        return e.block(e.declare(before, e.i32(0)), e.forLoop('i', 0, count, next));
      }
      return overBlocks(context, starts.shape[0], (block) =>
        e.block(e.declare(before, starts.at([block])), inBlock(block, totals, next)),
      );
    },
  },
  samples: [],
});

/** As `countedPositions`, where the places of each block of counts begin at `starts`. */
export const placedPositions: OperatorFunction<
  <T extends Tensor>(counts: Input<T>, starts: Input<T>, rows: Dim) => T
> = operator({
  name: 'placedPositions',
  family: 'dynamic',
  attributes: { rows: attr.dim },
  operands: 'keep',
  call: (counts, starts, rows) => ({ inputs: [counts, starts], attributes: { rows } }),
  infer: ({ attributes: { rows } }) => [{ dtype: 'int32', shape: [rows] }],
  gradient: 'none',
  lowering: {
    kind: 'kernel',
    kernel: (context) => {
      const {
        inputs: [counts, starts],
        outputs: [sink],
      } = context;
      const [rows] = sink.shape;
      const [blocks] = starts.shape;
      const [found, end] = [e.variable('found', 'i32'), e.variable('end', 'i32')];
      const filled = (to: Expr, value: Expr): Stmt =>
        e.block(
          e.forLoop('row', found, e.min(to, rows), (row) => sink.store([row], value)),
          e.assign(found, to),
        );
      return overBlocks(context, blocks, (block) =>
        e.block(
          e.declare(found, starts.at([block])),
          inBlock(block, counts, (i) =>
            e.block(e.declare(end, e.add(found, takenBy(counts, i))), filled(end, i)),
          ),
          // Rows that no count asks for.
          e.ifThen(e.eq(block, e.sub(blocks, 1)), filled(rows, e.i32(0))),
        ),
      );
    },
  },
  samples: [],
});

/** An invocation for each block. */
function overBlocks(
  context: KernelContext<unknown>,
  blocks: Expr,
  body: (block: Expr) => Stmt,
): Stmt {
  return overAll([blocks], ([block]) => body(block), 'serial', context);
}

/** A loop over the elements of a block. */
function inBlock(block: Expr, { shape: [count] }: Access, body: (at: Expr) => Stmt): Stmt {
  const first = e.mul(block, blockLength);
  return e.forLoop('at', first, e.min(e.add(first, blockLength), count), body);
}

/** The places that an element takes: none for a negative count. */
function takenBy(counts: Access, at: Expr): Expr {
  const count = counts.at([at]);
  const { scalar } = count.type;
  if (scalar === 'bool') return e.cast('i32', count);
  // Compared before narrowing: an int64 count may exceed any number of rows.
  const most = e.constant(scalar, 2 ** 31 - 1);
  return e.cast('i32', e.max(e.min(count, most), e.constant(scalar, 0)));
}
