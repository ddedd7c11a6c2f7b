import { type Dim, mulDim, elementCount } from '../../base/dim/index.js';
import type { Shape, Tensor } from '../../ir/types.js';
import { type Batching, rowShape } from '../declare/batch.js';
import { reshape, swapaxes } from '../movement/index.js';
import { sumOfRows } from '../reduction/rows.js';
import type { Binary } from '../signatures.js';

/**
 * Batching rule: matrix products of rows as one product. Where one side is invariant, the row axis joins the
 * rows of the other side: T products of `[m, k]` by `[k, n]` are one of `[T*m, k]` by `[k, n]`. Where the sum
 * over all rows is wanted, it joins the summed axis: `[m, T*k]` by `[T*k, n]`.
 */
export function batchedProduct(product: Binary): Batching {
  const rows: Batching['rows'] = (context) => {
    const { inputs, isBatched, length, outputTypes } = context;
    const [x, y] = inputs;
    const [left, right] = [rowShape(context, 0), rowShape(context, 1)];
    const shape: Shape = [length, ...outputTypes[0].shape];
    if (!isBatched[1] && right.length <= 2) {
      const { shape: all } = x.type;
      const matrix = reshape(x, [elementCount(all.slice(0, -1)), all.at(-1)!]);
      return [reshape(product(matrix, y), shape)];
    }
    if (!isBatched[0] && left.length <= 2 && right.length <= 2) {
      const columns = right.length === 1 ? 1 : right[1];
      const matrix = reshape(columnsAsRows(y), [mulDim(length, columns), right[0]]);
      const found = product(matrix, left.length === 1 ? x : swapaxes(x, 0, 1));
      if (left.length === 1 || right.length === 1) return [reshape(found, shape)];
      return [swapaxes(reshape(found, [length, columns, left[0]]), 1, 2)];
    }
    const rank = Math.max(left.length, right.length, 2);
    const [a, b] = [asRows(left), asColumns(right)];
    return [
      reshape(
        product(
          isBatched[0] ? reshape(x, aligned(length, a, rank)) : reshape(x, a),
          isBatched[1] ? reshape(y, aligned(length, b, rank)) : reshape(y, b),
        ),
        shape,
      ),
    ];
  };
  return {
    rows,
    total: (context) => {
      const { inputs, isBatched, length, outputTypes } = context;
      const [x, y] = inputs;
      const [left, right] = [asRows(rowShape(context, 0)), asColumns(rowShape(context, 1))];
      if (!isBatched[0] || !isBatched[1]) {
        return product(isBatched[0] ? sumOfRows(x) : x, isBatched[1] ? sumOfRows(y) : y);
      }
      if (left.length > 2 || right.length > 2) return sumOfRows(rows(context)[0]);
      const [m, k] = left;
      const inner = mulDim(length, k);
      // For each row the left side is often a transposition itself, and the two cancel.
      const matrix = reshape(swapaxes(reshape(x, [length, m, k]), 1, 2), [inner, m]);
      const found = product(swapaxes(matrix, 0, 1), reshape(y, [inner, right[1]]));
      return reshape(found, outputTypes[0].shape);
    },
  };
}

const asRows = (shape: Shape): Shape => (shape.length === 1 ? [1, ...shape] : shape);
const asColumns = (shape: Shape): Shape => (shape.length === 1 ? [...shape, 1] : shape);

/** `[T, k, n]` as `[T, n, k]`, and `[T, k]` as it is. */
const columnsAsRows = <T extends Tensor>(y: T): T =>
  y.type.shape.length === 2 ? y : swapaxes(y, 1, 2);

/** A batched shape whose rows have a certain rank. */
function aligned(length: Dim, row: Shape, rank: number): Shape {
  const ones = Array.from({ length: rank - row.length }, () => 1);
  return [length, ...ones, ...row];
}
