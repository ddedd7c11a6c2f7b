import { type Dim, elementCount, mulDim } from '../../base/dim/index.js';
import type { Shape, Tensor } from '../../ir/types.js';
import type { Batching } from '../declare/batch.js';
import { normalizeAxis } from '../declare/infer.js';
import { mul } from '../elementwise/arithmetic.js';
import { cast } from '../elementwise/conversion.js';
import { mod } from '../elementwise/division.js';
import { maximum } from '../elementwise/extremum.js';
import { dimLike } from '../movement/fill.js';
import { reshape } from '../movement/reshape.js';
import { moveaxis } from '../movement/transpose.js';
import { broadcastTo } from '../reduction/sum.js';
import { axisInRows, sumOfRows, withRows } from '../reduction/rows.js';
import type { IndexMode } from './position.js';

/*
 * Indexing in all rows of a loop at once. Where indices differ between rows, each row is read at its own: that is
 * `gather` along the axis, and `scatterAdd` for what is added there.
 */

/** Indices of rows along an axis of arrays of a shape, one for each element that is taken. */
export function indicesInRows<T extends Tensor>(
  indices: T,
  shape: Shape,
  axis: number,
  mode: IndexMode,
): T {
  const [length, ...taken] = indices.type.shape;
  const count = elementCount(taken);
  const column = [length, ...shape.map((_, at) => (at === axis ? count : 1))];
  const places = reshape(plainPositions(indices, shape[axis], mode), column);
  return broadcastTo(places, [length, ...shape.with(axis, count)]);
}

/** Positions of a mode as those of mode `error`, which wraps no further than once and clamps what is too large. */
function plainPositions<T extends Tensor>(indices: T, extent: Dim, mode: IndexMode): T {
  if (mode === 'error') return indices;
  const wide = indices.type.dtype === 'int64' ? indices : cast(indices, 'int32');
  return mode === 'wrap' ? mod(wide, dimLike(wide, extent)) : maximum(wide, 0);
}

/** The batching rule of scattering, and of the sum over rows where it adds. */
export function scatteredRows(
  name: string,
  adds: boolean,
  scatter: <T extends Tensor>(x: T, indices: T, updates: T, axis: number) => T,
): Batching<{ readonly axis: number }> {
  return {
    rows: (context) => {
      const [x, indices, updates] = withRows(context);
      return [scatter(x, indices, updates, axisInRows(context.attributes.axis))];
    },
    ...(adds && {
      zeroWith: [0, 2],
      total: (context) => {
        const { inputs, isBatched, length, outputTypes } = context;
        const axis = normalizeAxis(name, context.attributes.axis, outputTypes[0].shape.length);
        const [x] = inputs;
        const [, indices, updates] = withRows(context);
        const onto = isBatched[0] ? sumOfRows(x) : mul(x, dimLike(x, length));
        return scatter(onto, alongAxis(indices, axis), alongAxis(updates, axis), axis);
      },
    }),
  };
}

/** Rows one after the other along one of their axes. */
function alongAxis<T extends Tensor>(x: T, axis: number): T {
  const [length, ...row] = x.type.shape;
  return reshape(moveaxis(x, 0, axis), row.with(axis, mulDim(length, row[axis])));
}
