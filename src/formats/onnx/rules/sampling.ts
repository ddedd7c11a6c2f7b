import { elementCount } from '../../../base/dim/index.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';

/** An index along one axis and its weight. */
export interface Tap {
  /** int64, [N, P]. */
  readonly at: Value;
  readonly weight: Value;
}

/**
 * Samples `x`, `[N, C, ...size]`: the sum over one tap of each axis of the element times the weights. `[N, C,
 * P]`.
 */
export function sampled(x: Value, taps: readonly (readonly Tap[])[]): Value {
  const [images, channels, ...size] = x.type.shape;
  const flat = ops.reshape(x, [images, channels, elementCount(size)]);
  const [, points] = taps[0][0].at.type.shape;
  const visit = (axis: number, at: Value | null, weight: Value | null): Value => {
    if (axis === size.length) {
      const positions = ops.broadcastTo(ops.expandDims(at!, 1), [images, channels, points]);
      return ops.mul(ops.gather(flat, positions, 2), ops.expandDims(weight!, 1));
    }
    return taps[axis]
      .map((tap) => {
        const extent = ops.dimLike(tap.at, size[axis]);
        const place = at === null ? tap.at : ops.add(ops.mul(at, extent), tap.at);
        return visit(axis + 1, place, weight === null ? tap.weight : ops.mul(weight, tap.weight));
      })
      .reduce((a, b) => ops.add(a, b));
  };
  return visit(0, null, null);
}

/** A tap with weight zero outside of the axis. */
export function insideOnly(x: Value, axis: number, at: Value, weight: Value): Tap {
  const extent = ops.dimLike(at, x.type.shape[axis + 2]);
  const isInside = ops.logicalAnd(ops.greaterEqual(at, 0), ops.less(at, extent));
  const held = ops.maximum(ops.minimum(at, ops.sub(extent, 1)), 0);
  return {
    at: ops.cast(held, 'int64'),
    weight: ops.cast(ops.where(isInside, weight, 0), x.type.dtype),
  };
}

/** Linear interpolation between the corners around coordinates; zero outside. */
export function cornersAt(x: Value, coordinates: readonly Value[]): Value {
  return sampled(
    x,
    coordinates.map((coordinate, axis) => {
      const low = ops.floor(coordinate);
      const part = ops.sub(coordinate, low);
      return [
        insideOnly(x, axis, low, ops.sub(1, part)),
        insideOnly(x, axis, ops.add(low, 1), part),
      ];
    }),
  );
}
