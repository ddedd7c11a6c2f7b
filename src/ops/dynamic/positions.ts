import * as attr from '../../base/attributes/attribute.js';
import { type Dim, elementCount } from '../../base/dim/index.js';
import { kindOf } from '../../base/dtype.js';
import { DTypeError, ShapeError } from '../../base/errors.js';
import type { Shape, Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Buffer, Expr, Stmt } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { checkShape, shapeToString } from '../declare/infer.js';
import type { Access } from '../declare/lowering.js';
import { workspace } from '../loops.js';
import { take, takeAdjoint } from '../indexing/take.js';
import { reshape } from '../movement/reshape.js';
import { writeLeading, writeMarked, writeRepeated } from './onnx.js';

/*
 * Which rows of an array its data selects, and how often, as positions: once their number is known, all
 * that selects by data is a gather from them, and its gradient a scatter to them.
 */

/**
 * @internal Every index `i` of `counts` (rank 1) repeated `counts[i]` times, in ascending order: int32, `rows`
 * elements. bool counts as 0 or 1, a negative count as 0. Excess indices are dropped; missing ones are 0.
 */
export const countedPositions: OperatorFunction<
  <T extends Tensor = DefaultTensor>(counts: Input<T>, rows: Dim) => T
> = operator({
  name: 'countedPositions',
  family: 'dynamic',
  attributes: { rows: attr.dim },
  method: false,
  operands: 'keep',
  call: (counts, rows) => ({ inputs: [counts], attributes: { rows } }),
  infer: ({ inputs: [counts], attributes: { rows }, require }) => {
    const op = 'countedPositions';
    if (counts.dtype !== 'bool' && kindOf(counts.dtype) !== 'int') {
      throw new DTypeError('counts are integers or truth values', {
        op,
        expected: 'bool or an integer dtype',
        actual: counts.dtype,
      });
    }
    if (counts.shape.length !== 1) {
      throw new ShapeError('the counts do not have rank 1', {
        op,
        expected: 'an array of rank 1',
        actual: shapeToString(counts.shape),
      });
    }
    checkShape(op, [rows], require);
    return [{ dtype: 'int32', shape: [rows] }];
  },
  gradient: 'none',
  lowering: {
    kind: 'kernel',
    kernel: (context) => {
      const { buffer, flush } = workspace(context);
      const [counts] = context.inputs;
      const rows = context.extent(context.attributes.rows);
      return e.block(
        counts.dtype === 'bool' ? marked(counts, buffer, rows) : repeated(counts, buffer, rows),
        flush,
      );
    },
  },
  onnx: ({ onnx, inputs: [counts], inputTypes: [{ dtype, shape }], attributes: { rows } }) => {
    const positions =
      dtype === 'bool'
        ? writeLeading(onnx, writeMarked(onnx, counts), rows)
        : writeRepeated(onnx, onnx.cast(counts, 'int64'), shape[0], rows);
    return onnx.cast(positions, 'int32');
  },
  samples: [
    { args: [tensor(['n'], { dtype: 'bool' }), 3] },
    { args: [tensor(['n'], { dtype: 'int32', low: -1, high: 3 }), 5] },
    { args: [tensor([4], { dtype: 'int64', low: 0, high: 2 }), 0] },
  ],
});

/**
 * Stores every index at the next free position; if unmarked, it is overwritten by the next. So the loop has
 * no data-dependent branch, and it ends with the last row.
 */
function marked(mask: Access, rowsFound: Buffer, rows: Expr): Stmt {
  const found = e.variable('found', 'i32');
  const at = e.variable('at', 'i32');
  return e.block(
    e.declare(found, e.i32(0)),
    e.declare(at, e.i32(0)),
    e.whileLoop(
      e.and(e.lt(found, rows), e.lt(at, mask.shape[0])),
      e.block(
        e.store(rowsFound, found, at),
        e.assign(found, e.add(found, e.cast('i32', mask.at([at])))),
        e.assign(at, e.add(at, 1)),
      ),
    ),
    e.forLoop('i', found, rows, (i) => e.store(rowsFound, i, e.i32(0))),
  );
}

function repeated(counts: Access, rowsFound: Buffer, rows: Expr): Stmt {
  const found = e.variable('found', 'i32');
  const end = e.variable('end', 'i32');
  return e.block(
    e.declare(found, e.i32(0)),
    e.forLoop('at', 0, counts.shape[0], (at) => {
      const count = counts.at([at]);
      // Compared before narrowing: an int64 count may exceed any number of rows.
      const left = e.cast(count.type.scalar, e.sub(rows, found));
      const taken = e.cast('i32', e.max(e.min(count, left), 0));
      return e.block(
        e.declare(end, e.add(found, taken)),
        e.forLoop('i', found, end, (i) => e.store(rowsFound, i, at), { mode: 'vector' }),
        e.assign(found, end),
      );
    }),
    e.forLoop('i', found, rows, (i) => e.store(rowsFound, i, e.i32(0))),
  );
}

/** The sub-arrays of `x` at row-major positions along its flattened leading axes. */
export function rowsAt<T extends Tensor>(x: T, positions: T, leading: number): T {
  const { shape } = x.type;
  return take(merged(x, leading, shape), positions, { axis: 0, mode: 'valid' });
}

/** The adjoint of `rowsAt`: adds the rows of `g` to zeros of a shape, at the same positions. */
export function rowsBack<T extends Tensor>(g: T, positions: T, leading: number, shape: Shape): T {
  const within = mergedShape(shape, leading);
  return reshape(takeAdjoint(g, positions, within, { axis: 0, mode: 'valid' }), shape);
}

function merged<T extends Tensor>(x: T, leading: number, shape: Shape): T {
  return leading === 1 ? x : reshape(x, mergedShape(shape, leading));
}

function mergedShape(shape: Shape, leading: number): Shape {
  return [elementCount(shape.slice(0, leading)), ...shape.slice(leading)];
}
