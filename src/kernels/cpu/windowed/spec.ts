import { type Dim, sameDim } from '../../../base/dim/index.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import type { KernelContext } from '../../../ops/declare/lowering.js';
import type { Contraction } from '../../contraction/spec.js';

/** One spatial axis: tap `r` of the window of result `q` reads the input at `q * stride + r * dilation - before`. */
export interface Axis {
  /** Of the input, which is zero outside. */
  readonly size: Dim;
  /** Of the result. */
  readonly count: Dim;
  readonly taps: number;
  readonly stride: number;
  readonly dilation: number;
  readonly before: Dim;
}

/** An index, or a tap, along the three spatial axes. */
export type SpatialIndex = readonly [z: Expr, y: Expr, x: Expr];

/**
 * A convolution in general form: for every image, group, output channel and place
 *
 *     store(image, group, output, place, sum over inputs and taps of weight * input)
 *
 * Convolutions over fewer axes have leading ones of extent 1.
 */
export interface Windowed {
  readonly context: Pick<KernelContext<unknown>, 'scratch' | 'extent' | 'target' | 'isDivided'>;
  readonly scalar: Contraction['scalar'];
  readonly images: Dim;
  readonly groups: number;
  /** Channels of the input and of the result, each of one group. */
  readonly inputs: Dim;
  readonly outputs: Dim;
  readonly axes: readonly [Axis, Axis, Axis];
  readonly input: {
    readonly prepare: readonly Stmt[];
    /** The element of a channel among those of all groups, inside of the input. */
    at(image: Expr, channel: Expr, place: SpatialIndex): Expr;
  };
  readonly weights: {
    readonly prepare: readonly Stmt[];
    at(group: Expr, output: Expr, input: Expr, tap: SpatialIndex): Expr;
    /** By row-major position in `[groups, outputs, inputs, taps]`, where they are stored so. */
    readonly flat: ((position: Expr) => Expr) | null;
  };
  store(image: Expr, group: Expr, output: Expr, place: SpatialIndex, value: Expr): Stmt;
}

/** The three axes of a convolution over up to three. */
export function threeAxes(axes: readonly Axis[]): readonly [Axis, Axis, Axis] {
  const missing = Array.from({ length: 3 - axes.length }, () => single);
  return [...missing, ...axes] as unknown as readonly [Axis, Axis, Axis];
}

const single: Axis = { size: 1, count: 1, taps: 1, stride: 1, dilation: 1, before: 0 };

/**
 * True when windows and elements correspond one to one: then a convolution is a product of matrices in
 * memory.
 */
export function isPlainProduct(axes: readonly Axis[]): boolean {
  return axes.every(
    ({ size, count, taps, stride, before }) =>
      taps === 1 && stride === 1 && before === 0 && sameDim(size, count),
  );
}
