import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { computeScalar, type KernelContext } from '../../../ops/declare/lowering.js';
import { comesBefore } from '../../../ops/indexing/order.js';
import { overAll, ravel, wideDType } from '../../../ops/loops.js';
import { mergeSort } from './merge-sort.js';

/** A merge sort of the rows of a matrix, which are computed once. */
export function sortRowsLoops(context: KernelContext<unknown>): Stmt {
  const [x] = context.inputs;
  const [sink] = context.outputs;
  const [length, width] = x.shape;
  const [rows, columns] = context.inputTypes[0].shape;
  const wide = wideDType(x.dtype);
  // Rows are compared repeatedly, so they are computed once.
  const keys = context.scratch('keys', wide, e.mul(context.extent(rows), context.extent(columns)));
  const positions = context.scratch('positions', 'int32', e.mul(context.extent(rows), 2));
  const key = (row: Expr, column: Expr): Expr => e.load(keys, ravel([row, column], x.shape));
  const column = e.variable('column', 'i32');
  const isOpen = e.variable('isOpen', 'bool');
  const first = e.variable('first', 'i32');
  const second = e.variable('second', 'i32');
  return e.block(
    overAll(x.shape, (index) =>
      e.store(keys, ravel(index, x.shape), e.cast(computeScalar(wide), x.at(index))),
    ),
    mergeSort({
      length,
      positions,
      begin: () => e.block(),
      decide: (takesRight, left, right) => {
        const [before, behind] = [key(first, column), key(second, column)];
        return e.block(
          e.declare(first, e.load(positions, left)),
          e.declare(second, e.load(positions, right)),
          e.declare(column, e.i32(0)),
          e.declare(isOpen, e.constant('bool', 1)),
          e.assign(takesRight, e.constant('bool', 0)),
          e.whileLoop(
            e.and(isOpen, e.lt(column, width)),
            e.block(
              e.assign(takesRight, comesBefore(behind, before, false)),
              e.assign(isOpen, e.not(e.or(takesRight, comesBefore(before, behind, false)))),
              e.assign(column, e.add(column, 1)),
            ),
          ),
        );
      },
      carry: () => e.block(),
      finish: (i, at) => sink.store([i], e.cast('i64', e.load(positions, at))),
    }),
  );
}
