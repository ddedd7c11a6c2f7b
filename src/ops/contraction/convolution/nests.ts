import type { Dim } from '../../../base/dim/index.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { type Access, computeScalar, type KernelContext } from '../../declare/lowering.js';
import { divisor, overAll } from '../../loops.js';
import { accumulatorOf, type SumScalar, sumOver } from '../../sums.js';

/*
 * Convolution, its transpose and its weights' gradient as sums, each element by itself. What would lie outside of
 * the input adds nothing.
 */

/** The attributes that all three share. */
export interface WindowAttributes {
  readonly strides: readonly number[];
  readonly dilation: readonly number[];
  readonly groups: number;
}

export interface ConvAttributes extends WindowAttributes {
  readonly padding: readonly (readonly Dim[])[];
}

export interface ConvTransposeAttributes extends WindowAttributes {
  readonly before: readonly Dim[];
  readonly size: readonly Dim[];
}

export interface ConvWeightGradientAttributes extends WindowAttributes {
  readonly before: readonly Dim[];
  readonly kernel: readonly Dim[];
}

/** `y[n, o, p] = sum of x[n, c, p * stride + r * dilation - before] * w[o, c, r]` over `c` and `r`. */
export function convNest(context: KernelContext<ConvAttributes>): Stmt {
  const { attributes, inputs, extent } = context;
  const [x, w] = inputs;
  const before = attributes.padding.map(([low]) => extent(low));
  const [, channels, ...kernel] = w.shape;
  const perGroup = groupSize(w.shape[0], attributes.groups);
  return eachSum(
    context,
    [channels, ...kernel],
    ([image, output, ...at], [channel, ...tap], scalar, add) => {
      const from = inGroup(e.div(output, perGroup), channels, channel);
      const place = windowPlace(attributes, at, tap, before);
      return e.ifThen(
        isInside(place, x.shape.slice(2)),
        add(e.mul(read(x, [image, from, ...place], scalar), read(w, [output, channel, ...tap], scalar))), // prettier-ignore
      );
    },
  );
}

/** `y[n, c, i] = sum of x[n, o, q] * w[o, c, r]` over `o` and those `q`, `r` for which `i = q * stride + r * dilation - before`. */
export function convTransposeNest(context: KernelContext<ConvTransposeAttributes>): Stmt {
  const { attributes, inputs, extent } = context;
  const { groups } = attributes;
  const [x, w] = inputs;
  const before = attributes.before.map((dim) => extent(dim));
  const [, channels, ...kernel] = w.shape;
  const perGroup = channelsOfGroup(x.shape[1], groups);
  return eachSum(
    context,
    [perGroup, ...kernel],
    ([image, channel, ...at], [part, ...tap], scalar, add) => {
      const group = e.div(channel, divisor(channels));
      const from = inGroup(group, perGroup, part);
      const own = e.sub(channel, e.mul(group, channels));
      const { place, isReached } = reachedPlace(attributes, at, tap, before, x.shape.slice(2));
      return e.ifThen(
        isReached,
        add(e.mul(read(x, [image, from, ...place], scalar), read(w, [from, own, ...tap], scalar))),
      );
    },
  );
}

/** `y[o, c, r] = sum of g[n, o, p] * x[n, c, p * stride + r * dilation - before]` over `n` and `p`. */
export function convWeightGradientNest(context: KernelContext<ConvWeightGradientAttributes>): Stmt {
  const { attributes, inputs, extent } = context;
  const [x, g] = inputs;
  const before = attributes.before.map((dim) => extent(dim));
  const [images, outputCount, ...count] = g.shape;
  const perGroup = groupSize(outputCount, attributes.groups);
  return eachSum(
    context,
    [images, ...count],
    ([output, channel, ...tap], [image, ...at], scalar, add) => {
      const from = inGroup(e.div(output, perGroup), context.outputs[0].shape[1], channel);
      const place = windowPlace(attributes, at, tap, before);
      return e.ifThen(
        isInside(place, x.shape.slice(2)),
        add(e.mul(read(g, [image, output, ...at], scalar), read(x, [image, from, ...place], scalar))), // prettier-ignore
      );
    },
  );
}

type Terms = (
  index: readonly Expr[],
  inner: readonly Expr[],
  scalar: SumScalar,
  add: (term: Expr) => Stmt,
) => Stmt;

/** Every element of a result as a sum over `inner`. */
function eachSum(context: KernelContext<unknown>, inner: readonly Expr[], terms: Terms): Stmt {
  const [out] = context.outputs;
  const scalar = accumulatorOf(out.dtype);
  return overAll(
    out.shape,
    (index) =>
      sumOver(
        scalar,
        inner,
        (at, add) => terms(index, at, scalar, add),
        (sum) => out.store(index, e.cast(computeScalar(out.dtype), sum)),
      ),
    'serial',
    context,
  );
}

function read(from: Access, index: readonly Expr[], scalar: SumScalar): Expr {
  return e.cast(scalar, from.at(index));
}

/** The channels of one of the groups. */
export function channelsOfGroup(channels: Expr, groups: number): Expr {
  if (channels.kind !== 'const') return e.div(channels, groups);
  return e.i32(Math.floor(Number(channels.value) / groups));
}

/** The channels of one of the groups, as what to divide by. */
export const groupSize = (channels: Expr, groups: number): Expr =>
  divisor(channelsOfGroup(channels, groups));

/** The channel that is `at` one of a group. */
export function inGroup(group: Expr, size: Expr, at: Expr): Expr {
  return e.add(e.mul(group, size), at);
}

/** Input index that a tap of a window reads. */
export function windowPlace(
  { strides, dilation }: WindowAttributes,
  at: readonly Expr[],
  tap: readonly Expr[],
  before: readonly Expr[],
): readonly Expr[] {
  return at.map((window, axis) =>
    e.sub(e.add(e.mul(window, strides[axis]), e.mul(tap[axis], dilation[axis])), before[axis]),
  );
}

/** Input index whose window reaches an element of a transposed convolution by a tap, and whether there is one. */
export function reachedPlace(
  { strides, dilation }: WindowAttributes,
  at: readonly Expr[],
  tap: readonly Expr[],
  before: readonly Expr[],
  shape: readonly Expr[],
): { readonly place: readonly Expr[]; readonly isReached: Expr } {
  const covered = at.map((i, axis) =>
    e.sub(e.add(i, before[axis]), e.mul(tap[axis], dilation[axis])),
  );
  const place = covered.map((distance, axis) => e.div(distance, strides[axis]));
  const isReached = covered
    .map((distance, axis) => e.and(e.ge(distance, 0), e.eq(e.rem(distance, strides[axis]), 0)))
    .reduce((all, one) => e.and(all, one), isInside(place, shape));
  return { place, isReached };
}

/** True for an index that lies in a shape. */
export function isInside(place: readonly Expr[], shape: readonly Expr[]): Expr {
  return place
    .map((at, axis) => e.and(e.ge(at, 0), e.lt(at, shape[axis])))
    .reduce((all, one) => e.and(all, one), e.constant('bool', 1));
}
