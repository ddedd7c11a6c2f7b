import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import {
  type ConvAttributes,
  convNest,
  type ConvTransposeAttributes,
  convTransposeNest,
  type ConvWeightGradientAttributes,
  convWeightGradientNest,
  channelsOfGroup,
  groupSize,
  inGroup,
  isInside,
  reachedPlace,
  windowPlace,
} from '../../../ops/contraction/convolution/nests.js';
import { conv, convTranspose, convWeightGradient } from '../../../ops/index.js';
import { unravel, volume } from '../../../ops/contraction/unravel.js';
import {
  type Access,
  computeScalar,
  type KernelContext,
  type Sink,
} from '../../../ops/declare/lowering.js';
import { loadElement } from '../../../ops/elements.js';
import { ravel } from '../../../ops/loops.js';
import { accumulatorOf } from '../../../ops/sums.js';
import { known } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';
import { kernelCall, type KernelCall } from '../choices.js';
import { groupedProduct } from '../product/product.js';

/*
 * Convolution, its transpose and its weights' gradient as contractions whose operands are read through windows: nothing
 * is copied, and what a window has outside of the input is 0. The batch are the groups of channels, columns are places
 * of all images, since neighbors of those lie beside each other.
 */

/** `y[n, o, p] = sum of w[o, c, r] * x[n, c, p * stride + r * dilation - before]`. */
export function groupedConv(context: KernelContext<ConvAttributes>): Stmt {
  const { attributes, inputs, outputs, extent } = context;
  const [x, w] = inputs;
  const [out] = outputs;
  const [images, outputCount, ...spatial] = out.shape;
  const inner = w.shape.slice(1);
  const before = attributes.padding.map(([low]) => extent(low));
  const perGroup = groupSize(outputCount, attributes.groups);
  const scalar = accumulatorOf(out.dtype);
  const columns = [images, ...spatial];
  const spec: Contraction = {
    context,
    scalar,
    batch: e.i32(attributes.groups),
    m: perGroup,
    n: volume(columns),
    k: volume(inner),
    a: (group, i, k) => readFlat(w, inGroup(group, perGroup, i), k, scalar),
    b: (group, k, j) => {
      const [channel, ...tap] = unravel(k, inner);
      const [image, ...at] = unravel(j, columns);
      const place = windowPlace(attributes, at, tap, before);
      const from = [image, inGroup(group, inner[0], channel)];
      return readInside(x, from, place, isInside(place, x.shape.slice(2)), scalar);
    },
    store: storeAtPlace(out, columns, perGroup),
  };
  return windowProduct(x, spec, kernelCall(conv, context)) ?? convNest(context);
}

/** `y[n, c, i] = sum of w[o, c, r] * x[n, o, q]` for those `q`, `r` for which `i = q * stride + r * dilation - before`. */
export function groupedConvTranspose(context: KernelContext<ConvTransposeAttributes>): Stmt {
  const { attributes, inputs, outputs, extent } = context;
  const [x, w] = inputs;
  const [out] = outputs;
  const [images, , ...spatial] = out.shape;
  const [, channels, ...kernel] = w.shape;
  const before = attributes.before.map((dim) => extent(dim));
  const perGroup = channelsOfGroup(x.shape[1], attributes.groups);
  const inner = [perGroup, ...kernel];
  const scalar = accumulatorOf(out.dtype);
  const columns = [images, ...spatial];
  const spec: Contraction = {
    context,
    scalar,
    batch: e.i32(attributes.groups),
    m: channels,
    n: volume(columns),
    k: volume(inner),
    a: (group, i, k) => {
      const [part, ...tap] = unravel(k, inner);
      return e.cast(scalar, w.at([inGroup(group, perGroup, part), i, ...tap]));
    },
    b: (group, k, j) => {
      const [part, ...tap] = unravel(k, inner);
      const [image, ...at] = unravel(j, columns);
      const { place, isReached } = reachedPlace(attributes, at, tap, before, x.shape.slice(2));
      return readInside(x, [image, inGroup(group, perGroup, part)], place, isReached, scalar);
    },
    store: storeAtPlace(out, columns, channels),
  };
  return windowProduct(x, spec, kernelCall(convTranspose, context)) ?? convTransposeNest(context);
}

/** `y[o, c, r] = sum of g[n, o, p] * x[n, c, p * stride + r * dilation - before]` over `n` and `p`. */
export function groupedConvWeightGradient(
  context: KernelContext<ConvWeightGradientAttributes>,
): Stmt {
  const { attributes, inputs, outputs, extent } = context;
  const [x, g] = inputs;
  const [out] = outputs;
  const [images, outputCount, ...count] = g.shape;
  const columns = out.shape.slice(1);
  const inner = [images, ...count];
  const before = attributes.before.map((dim) => extent(dim));
  const perGroup = groupSize(outputCount, attributes.groups);
  const scalar = accumulatorOf(out.dtype);
  const spec: Contraction = {
    context,
    scalar,
    batch: e.i32(attributes.groups),
    m: perGroup,
    n: volume(columns),
    k: volume(inner),
    a: (group, i, k) => {
      const [image, ...at] = unravel(k, inner);
      return e.cast(scalar, g.at([image, inGroup(group, perGroup, i), ...at]));
    },
    b: (group, k, j) => {
      const [channel, ...tap] = unravel(j, columns);
      const [image, ...at] = unravel(k, inner);
      const place = windowPlace(attributes, at, tap, before);
      const from = [image, inGroup(group, columns[0], channel)];
      return readInside(x, from, place, isInside(place, x.shape.slice(2)), scalar);
    },
    store: (group, i, j, sum) =>
      out.store(
        [inGroup(group, perGroup, i), ...unravel(j, columns)],
        e.cast(computeScalar(out.dtype), sum),
      ),
  };
  return (
    windowProduct(x, spec, kernelCall(convWeightGradient, context)) ??
    convWeightGradientNest(context)
  );
}

/** The product; null where there is none, or where no place of the input can be read in the stead of one outside. */
function windowProduct(x: Access, spec: Contraction, call: KernelCall): Stmt | null {
  return x.shape.some((extent) => known(extent) === 0) ? null : groupedProduct(spec, call);
}

/** Stores of results whose rows are the channels of a group, of `perGroup` each, and whose columns are places of all images. */
function storeAtPlace(out: Sink, columns: readonly Expr[], perGroup: Expr): Contraction['store'] {
  return (group, i, j, sum) => {
    const [image, ...at] = unravel(j, columns);
    const index = [image, inGroup(group, perGroup, i), ...at];
    return out.store(index, e.cast(computeScalar(out.dtype), sum));
  };
}

/** An element of the input, and 0 outside of it. */
function readInside(
  x: Access,
  lead: readonly Expr[],
  place: readonly Expr[],
  inside: Expr,
  scalar: Contraction['scalar'],
): Expr {
  const nearest = place.map((at, axis) => e.max(e.min(at, e.sub(x.shape[axis + 2], 1)), 0));
  const value = e.cast(scalar, x.at([...lead, ...nearest]));
  return e.select(inside, value, e.constant(scalar, 0));
}

/** An element at a position of all axes but the first, without a division where it lies in memory. */
function readFlat(from: Access, first: Expr, rest: Expr, scalar: Contraction['scalar']): Expr {
  const inner = from.shape.slice(1);
  const { buffer } = from;
  if (buffer === null) return e.cast(scalar, from.at([first, ...unravel(rest, inner)]));
  const position = ravel([first, rest], [from.shape[0], volume(inner)]);
  return e.cast(scalar, loadElement(from.dtype, buffer, position));
}
