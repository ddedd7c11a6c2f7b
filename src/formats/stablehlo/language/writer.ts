import {
  addDim,
  boundsOf,
  ceilDivDim,
  type Dim,
  elementCount,
  floorDivDim,
  isMultipleOf,
  isStatic,
  maxDim,
  mulDim,
  sameDim,
  sameShape,
  subDim,
} from '../../../base/dim/index.js';
import type { DType } from '../../../base/dtype.js';
import type { Shape } from '../../../ir/types.js';
import { type HloAttributes, HloSizes, integerList } from './sizes.js';
import { numberText } from './literals.js';
import { type HloOrigin, type HloValue, isEmpty, mergedAxes, typeText } from './types.js';

/** True for a size that may turn out to be 0. */
function mayBeEmpty(extent: Dim): boolean {
  return !isStatic(extent) && boundsOf(extent).min < 1;
}

/** A size, or 1 where it may turn out to be 0. */
export function atLeastOne(extent: Dim): Dim {
  return mayBeEmpty(extent) ? maxDim(extent, 1) : extent;
}

/** The extent of an axis whose elements are moved to be `step` apart; none stay none. */
export function spreadSize(extent: Dim, step: number): Dim {
  return maxDim(0, addDim(mulDim(addDim(extent, -1), step), 1));
}

/**
 * Writes operations of StableHLO. Where a size is not a number, an operation is written in its dynamic form, whose
 * operands compute the size.
 */
export class HloWriter extends HloSizes {
  /** A tensor of one value. */
  splat(dtype: DType, value: number | bigint, shape: Shape = []): HloValue {
    const origin: HloOrigin = { kind: 'splat', value };
    if (!shape.every(isStatic)) {
      return { ...this.#broadcast(this.splat(dtype, value), shape, []), origin };
    }
    const content = isEmpty({ shape }) ? '' : numberText(dtype, value);
    const attributes = { value: `dense<${content}> : ${typeText({ dtype, shape })}` };
    return this.op('stablehlo.constant', [], { dtype, shape }, attributes, origin);
  }

  /** A tensor of one size. */
  sizeSplat(dtype: DType, dim: Dim, shape: Shape = []): HloValue {
    if (isStatic(dim)) return this.splat(dtype, dim, shape);
    return this.broadcast(this.convert(this.size(dim), dtype), shape, []);
  }

  /** 0, 1, 2 and so on along an axis, which is the axis `along` of where they are used. */
  iota(dtype: DType, shape: Shape, axis: number, along: number = axis): HloValue {
    const attributes = { iota_dimension: `${axis} : i64` };
    const type = { dtype, shape };
    const origin: HloOrigin = { kind: 'numbers', along };
    if (shape.every(isStatic)) return this.op('stablehlo.iota', [], type, attributes, origin);
    return this.op('stablehlo.dynamic_iota', [this.sizes(shape)], type, attributes, origin);
  }

  /** An elementwise operation on operands of one shape. */
  map(name: string, operands: readonly HloValue[], dtype: DType = operands[0].dtype): HloValue {
    return this.op(`stablehlo.${name}`, operands, { dtype, shape: operands[0].shape });
  }

  compare(direction: 'EQ' | 'NE' | 'LT' | 'LE' | 'GT' | 'GE', a: HloValue, b: HloValue): HloValue {
    return this.op(
      'stablehlo.compare',
      [a, b],
      { dtype: 'bool', shape: a.shape },
      { comparison_direction: `#stablehlo<comparison_direction ${direction}>` },
    );
  }

  /** Conversion as StableHLO defines it: of floats to integers only where the value fits. */
  convert(x: HloValue, dtype: DType): HloValue {
    if (x.dtype === dtype) return x;
    return this.op('stablehlo.convert', [x], { dtype, shape: x.shape });
  }

  reshape(x: HloValue, shape: Shape): HloValue {
    if (sameShape(x.shape, shape)) return x;
    if (x.origin?.kind === 'splat') return this.splat(x.dtype, x.origin.value, shape);
    if (x.origin?.kind === 'reshape') return this.reshape(x.origin.of, shape);
    const [type, origin]: [HloValue, HloOrigin] = [
      { ...x, shape },
      { kind: 'reshape', of: x },
    ];
    if (shape.every(isStatic)) return this.op('stablehlo.reshape', [x], type, {}, origin);
    return this.op('stablehlo.dynamic_reshape', [x, this.sizes(shape)], type, {}, origin);
  }

  transpose(x: HloValue, order: readonly number[]): HloValue {
    if (order.every((axis, i) => axis === i)) return x;
    const shape = order.map((axis) => x.shape[axis]);
    if (x.origin?.kind === 'splat') return this.splat(x.dtype, x.origin.value, shape);
    if (x.origin?.kind === 'transpose') {
      const { of, order: first } = x.origin;
      return this.transpose(of, order.map((axis) => first[axis])); // prettier-ignore
    }
    const permutation = { permutation: integerList(order) };
    const origin: HloOrigin = { kind: 'transpose', of: x, order };
    return this.op('stablehlo.transpose', [x], { dtype: x.dtype, shape }, permutation, origin);
  }

  /** Broadcast to a shape, whose axis for each axis of `x` is given. Extents of 1 repeat. */
  broadcast(x: HloValue, shape: Shape, axes: readonly number[]): HloValue {
    if (sameShape(x.shape, shape) && axes.every((axis, i) => axis === i)) return x;
    if (x.origin?.kind === 'splat') return this.splat(x.dtype, x.origin.value, shape);
    return this.#broadcast(x, shape, axes);
  }

  #broadcast(x: HloValue, shape: Shape, axes: readonly number[]): HloValue {
    const attributes = { broadcast_dimensions: integerList(axes) };
    const type = { dtype: x.dtype, shape };
    if (shape.every(isStatic)) return this.op('stablehlo.broadcast_in_dim', [x], type, attributes);
    return this.op('stablehlo.dynamic_broadcast_in_dim', [x, this.sizes(shape)], type, attributes);
  }

  /** The elements from `start` on, `step` apart, up to `stop`, along each axis. */
  slice(
    x: HloValue,
    start: Shape,
    stop: Shape,
    step: readonly number[] = start.map(() => 1),
  ): HloValue {
    const shape = start.map((first, axis) => ceilDivDim(subDim(stop[axis], first), step[axis]));
    if (sameShape(x.shape, shape) && step.every((distance) => distance === 1)) return x;
    if (x.origin?.kind === 'splat') return this.splat(x.dtype, x.origin.value, shape);
    const whole = this.#sliceOfMerged(x, start, stop, step);
    if (whole !== null) return whole;
    const type = { dtype: x.dtype, shape };
    if (start.every(isStatic) && stop.every(isStatic)) {
      const attributes = {
        start_indices: integerList(start),
        limit_indices: integerList(stop),
        strides: integerList(step),
      };
      return this.op('stablehlo.slice', [x], type, attributes);
    }
    const ends = [start, stop, step].map((list) => this.sizes(list));
    return this.op('stablehlo.real_dynamic_slice', [x, ...ends], type);
  }

  /** A slice of merged axes that takes whole entries of the first of them, as a slice of that one. */
  #sliceOfMerged(
    { shape, origin }: HloValue,
    start: Shape,
    stop: Shape,
    step: readonly number[],
  ): HloValue | null {
    if (origin?.kind !== 'reshape' || step.some((distance) => distance !== 1)) return null;
    const { of } = origin;
    const groups = mergedAxes(of.shape, shape);
    if (groups === null) return null;
    const from: Dim[] = of.shape.map(() => 0);
    const to = [...of.shape];
    for (const [axis, group] of groups.entries()) {
      if (sameDim(subDim(stop[axis], start[axis]), shape[axis])) continue;
      if (group.length === 0) return null;
      const inner = elementCount(group.slice(1).map((merged) => of.shape[merged]));
      if (!isMultipleOf(start[axis], inner) || !isMultipleOf(stop[axis], inner)) return null;
      from[group[0]] = floorDivDim(start[axis], inner);
      to[group[0]] = floorDivDim(stop[axis], inner);
    }
    return this.reshape(this.slice(of, from, to), shape.map((_, axis) => subDim(stop[axis], start[axis]))); // prettier-ignore
  }

  /** A border of one value, of a scalar, also between elements; negative widths at the ends crop. */
  pad(
    x: HloValue,
    value: HloValue,
    low: Shape,
    high: Shape,
    between: readonly number[] = low.map(() => 0),
  ): HloValue {
    if ([...low, ...high, ...between].every((width) => width === 0)) return x;
    const shape = x.shape.map((extent, axis) => {
      return addDim(addDim(low[axis], spreadSize(extent, between[axis] + 1)), high[axis]);
    });
    const type = { dtype: x.dtype, shape };
    if (low.every(isStatic) && high.every(isStatic)) {
      const attributes = {
        edge_padding_low: integerList(low),
        edge_padding_high: integerList(high),
        interior_padding: integerList(between),
      };
      return this.op('stablehlo.pad', [x, value], type, attributes);
    }
    const widths = [low, high, between].map((list) => this.sizes(list));
    return this.op('stablehlo.dynamic_pad', [x, value, ...widths], type);
  }

  concat(parts: readonly HloValue[], axis: number): HloValue {
    if (parts.length === 1) return parts[0];
    const total = parts.reduce<Dim>((sum, { shape }) => addDim(sum, shape[axis]), 0);
    const shape = parts[0].shape.with(axis, total);
    const type = { dtype: parts[0].dtype, shape };
    const origin: HloOrigin = { kind: 'concat', parts, axis };
    return this.op('stablehlo.concatenate', parts, type, { dimension: `${axis} : i64` }, origin);
  }

  /** Reverses axes. */
  reverse(x: HloValue, axes: readonly number[]): HloValue {
    if (axes.length === 0) return x;
    return this.op('stablehlo.reverse', [x], x, { dimensions: integerList(axes) });
  }

  /**
   * `x` with a zero along each of some axes that turns out to be empty: XLA refuses to read an element from an axis
   * that has none, also where nothing is read.
   */
  withoutEmptyAxes(x: HloValue, axes: readonly number[]): HloValue {
    const high = x.shape.map((extent, axis) =>
      axes.includes(axis) && mayBeEmpty(extent) ? maxDim(subDim(1, extent), 0) : 0,
    );
    if (high.every((width) => width === 0)) return x;
    const padded = this.pad(x, this.splat(x.dtype, 0), x.shape.map(() => 0), high); // prettier-ignore
    return { ...padded, shape: x.shape.map((extent, axis) => (high[axis] === 0 ? extent : atLeastOne(extent))) }; // prettier-ignore
  }

  /** Sub-arrays of given sizes at indices; `attributes` say what the axes of the indices mean. */
  gather(
    x: HloValue,
    indices: HloValue,
    sizes: Shape,
    shape: Shape,
    attributes: HloAttributes,
  ): HloValue {
    const type = { dtype: x.dtype, shape };
    const common = { ...attributes, indices_are_sorted: 'false' };
    if (sizes.every(isStatic)) {
      return this.op('stablehlo.gather', [x, indices], type, { ...common, slice_sizes: integerList(sizes) }); // prettier-ignore
    }
    return this.op('stablehlo.dynamic_gather', [x, indices, this.sizes(sizes)], type, common);
  }

  /** The block of given sizes whose first index is given by scalars; moved until it lies within `x`. */
  dynamicSlice(x: HloValue, start: readonly HloValue[], sizes: Shape): HloValue {
    const type = { dtype: x.dtype, shape: sizes };
    if (sizes.every(isStatic)) {
      return this.op('stablehlo.dynamic_slice', [x, ...start], type, { slice_sizes: integerList(sizes) }); // prettier-ignore
    }
    const places = start.map((at, axis) => {
      const last = this.sizeSplat(at.dtype, subDim(x.shape[axis], sizes[axis]));
      const inside = this.map('clamp', [this.splat(at.dtype, 0), at, last], at.dtype);
      return this.reshape(this.convert(inside, 'int32'), [1]);
    });
    const from = this.concat(places, 0);
    const to = this.map('add', [from, this.sizes(sizes)]);
    const ones = this.sizes(sizes.map(() => 1));
    return this.op('stablehlo.real_dynamic_slice', [x, from, to, ones], type);
  }

  /** `x` with a block written at an index of scalars. */
  updateSlice(x: HloValue, update: HloValue, start: readonly HloValue[]): HloValue {
    return this.op('stablehlo.dynamic_update_slice', [x, update, ...start], x);
  }

  /** A row of `x` along its first axis, which is not empty, without that axis. */
  row(x: HloValue, at: HloValue): HloValue {
    const [, ...rest] = x.shape;
    const zeros = rest.map(() => this.splat(at.dtype, 0));
    return this.reshape(this.dynamicSlice(x, [at, ...zeros], [1, ...rest]), rest);
  }

  /** `x` with a row written along its first axis. */
  withRow(x: HloValue, row: HloValue, at: HloValue): HloValue {
    const [, ...rest] = x.shape;
    const zeros = rest.map(() => this.splat(at.dtype, 0));
    return this.updateSlice(x, this.reshape(row, [1, ...rest]), [at, ...zeros]);
  }
}
