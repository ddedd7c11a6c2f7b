import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { computeScalar, type KernelContext } from '../../../ops/declare/lowering.js';
import { overAll, wideDType } from '../../../ops/loops.js';
import { comesBefore, type SortAttributes, sortedAxis } from '../../../ops/indexing/order.js';

/**
 * Stores, for every row of the first input along an axis, the indices of the first `k` elements in sorted
 * order, `k` at least 1. The best so far are kept sorted, and an element is inserted only if it beats the
 * last of them: n comparisons, and about k * k * log(n / k) steps for random rows.
 */
export function selectLoops(context: KernelContext<SortAttributes & { readonly k: number }>): Stmt {
  const [x] = context.inputs;
  const [sink] = context.outputs;
  const { k, descending } = context.attributes;
  const axis = sortedAxis(context.attributes.axis, x.shape.length);
  const wide = wideDType(x.dtype);
  const keys = context.scratch('keys', wide, e.i32(k));
  const positions = context.scratch('positions', 'int32', e.i32(k));
  const scalar = computeScalar(wide);
  const rows = x.shape.map((extent, at) => (at === axis ? e.i32(1) : extent));

  /** Moves the elements after the key up by one, from position `last` down, and inserts the key. */
  const insert = (key: Expr, position: Expr, last: Expr): Stmt => {
    const place = e.variable('place', 'i32');
    const goesOn = e.variable('goesOn', 'bool');
    const below = e.sub(place, 1);
    const test = e.ifThen(
      e.gt(place, 0),
      e.assign(goesOn, comesBefore(key, e.load(keys, below), descending)),
      e.assign(goesOn, e.constant('bool', 0)),
    );
    return e.block(
      e.declare(place, last),
      e.declare(goesOn, e.constant('bool', 0)),
      test,
      e.whileLoop(
        goesOn,
        e.block(
          e.store(keys, place, e.load(keys, below)),
          e.store(positions, place, e.load(positions, below)),
          e.assign(place, below),
          test,
        ),
      ),
      e.store(keys, place, key),
      e.store(positions, place, position),
    );
  };

  return overAll(
    rows,
    (row) => {
      const filled = e.variable('filled', 'i32');
      const key = e.variable('key', scalar);
      const enters = e.variable('enters', 'bool');
      return e.block(
        e.declare(filled, e.i32(0)),
        e.forLoop('i', 0, x.shape[axis], (i) =>
          e.block(
            e.declare(key, e.cast(scalar, x.at(row.with(axis, i)))),
            e.declare(enters, e.lt(filled, k)),
            e.ifThen(
              e.not(enters),
              e.assign(enters, comesBefore(key, e.load(keys, k - 1), descending)),
            ),
            e.ifThen(
              enters,
              e.block(
                insert(key, i, e.min(filled, k - 1)),
                e.assign(filled, e.min(e.add(filled, 1), k)),
              ),
            ),
          ),
        ),
        e.forLoop('i', 0, sink.shape[axis], (i) =>
          sink.store(row.with(axis, i), e.cast(computeScalar(sink.dtype), e.load(positions, i))),
        ),
      );
    },
    'serial',
  );
}
