import { type Dim, isStatic, elementCount, subDim } from '../../../base/dim/index.js';
import type { Value } from '../../../ir/program.js';
import type { Shape } from '../../../ir/types.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode, Results } from '../node.js';
import { rule, type ImportRules } from './rule.js';
import { coveringPadding, knownPadding, type OnnxWindows, windowsFromNode } from './windows.js';

/** The window axes, after batch and channels. */
function windowAxes({ kernel }: Pick<OnnxWindows, 'kernel'>): readonly number[] {
  return kernel.map((_, axis) => axis + 2);
}

function spatialOf(node: ImportedNode): Shape {
  return node.shape(0).slice(2);
}

/** The windows with the extra padding of `ceil_mode`. */
function covered(node: ImportedNode): OnnxWindows {
  const windows = windowsFromNode(node, spatialOf(node));
  if (!node.attributes.flag('ceil_mode')) return windows;
  return { ...windows, padding: coveringPadding(windows, spatialOf(node)) };
}

function greatest(node: ImportedNode): Results {
  const x = node.value(0);
  const windows = covered(node);
  const { kernel, strides, dilation, padding } = windows;
  const y = ops.maxPool(x, kernel, { strides, dilation, padding });
  return node.wants(1) ? [y, greatestPlaces(node, x, windows, y)] : y;
}

/** Flat index in the operand of the maximum of each window. */
function greatestPlaces(node: ImportedNode, x: Value, windows: OnnxWindows, y: Value): Value {
  const { kernel, strides, dilation } = windows;
  const padding = knownPadding(node, windows);
  const spatial = spatialOf(node);
  if (!spatial.every(isStatic)) throw node.unsized('the sizes of the images are not known');
  const [images, channels, ...places] = y.type.shape;
  const all = ops.slidingWindows(x, kernel, { strides, dilation, padding, outside: 'lowest' });
  const taps = elementCount(kernel) as number;
  let tap = ops.argmax(ops.reshape(all, [images, channels, taps, ...places]), 2);
  const isColumnMajor = node.attributes.int('storage_order', 0) === 1;
  const order = spatial.map((_, axis) => axis);
  let stride = 1;
  const strideOf = new Map<number, number>();
  for (const axis of isColumnMajor ? order : order.toReversed()) {
    strideOf.set(axis, stride);
    stride *= spatial[axis];
  }
  const planes = ops.reshape(node.iota(elementCount([images, channels])), [images, channels, ...places.map(() => 1)]); // prettier-ignore
  let found = ops.mul(planes, stride);
  for (const axis of order.toReversed()) {
    const within = ops.mod(tap, kernel[axis]);
    tap = ops.floorDivide(tap, kernel[axis]);
    const start = ops.sub(ops.mul(node.indices(places, axis), strides[axis]), padding[axis][0]);
    const at = ops.add(ops.mul(within, dilation[axis]), start);
    found = ops.add(found, ops.mul(at, strideOf.get(axis)!));
  }
  return found;
}

function average(node: ImportedNode): Value {
  const x = node.value(0);
  const windows = windowsFromNode(node, spatialOf(node));
  const countIncludePad = node.attributes.flag('count_include_pad');
  const { kernel, strides, dilation } = windows;
  // The extra padding never counts, whatever `count_include_pad` says.
  const options = { strides, dilation, padding: covered(node).padding };
  const total = ops.sum(ops.slidingWindows(x, kernel, options), windowAxes(windows));
  const ones = ops.onesLike(x, { shape: [1, 1, ...spatialOf(node)] });
  const withBorder = (): Value => {
    const within = knownPadding(node, windows);
    const beyond = options.padding.map(([, after], axis): [Dim, Dim] => [0, subDim(after, within[axis][1])]); // prettier-ignore
    const bordered = ops.pad(ones, [[0, 0], [0, 0], ...within], { value: 1 });
    return ops.slidingWindows(bordered, kernel, { ...options, padding: beyond });
  };
  const counted = countIncludePad ? withBorder() : ops.slidingWindows(ones, kernel, options);
  return ops.div(total, ops.sum(counted, windowAxes(windows)));
}

function root(x: Value, p: number): Value {
  return p === 1 ? x : p === 2 ? ops.sqrt(x) : ops.pow(x, 1 / p);
}

function power(x: Value, p: number): Value {
  return p === 1 ? ops.abs(x) : p === 2 ? ops.square(x) : ops.pow(ops.abs(x), p);
}

function exponent(node: ImportedNode): number {
  return node.version < 2 ? node.attributes.float('p', 2) : node.attributes.int('p', 2);
}

function normPool(node: ImportedNode): Value {
  const p = exponent(node);
  const { kernel, ...options } = covered(node);
  const all = ops.slidingWindows(power(node.value(0), p), kernel, options);
  return root(ops.sum(all, windowAxes({ kernel })), p);
}

/** Pooling over all spatial axes, which are kept with extent 1. */
function overSpace(node: ImportedNode): { x: Value; axes: readonly number[] } {
  const x = node.value(0);
  if (x.type.shape.length < 3) throw node.refuse('the operand has no spatial axes');
  return { x, axes: x.type.shape.slice(2).map((_, axis) => axis + 2) };
}

/** MaxUnpool: puts elements back at the indices that a pool returned. */
function unpooled(node: ImportedNode): Value {
  node.expectRank(1, node.rank(0));
  const [x, places] = [node.value(0), node.value(1)];
  const [images, channels, ...counts] = x.type.shape;
  const windows = windowsFromNode(node, counts);
  const { kernel, strides } = windows;
  const padding = knownPadding(node, windows);
  const inferred = counts.map((count, axis) => {
    if (!isStatic(count)) throw node.unsized('the sizes of the images are not known');
    const [before, after] = padding[axis];
    return (count - 1) * strides[axis] + kernel[axis] - before - after;
  });
  const shape = [images, channels, ...inferred];
  const flat = ops.fullLike(x, 0, { shape: [elementCount(shape)] });
  const y = ops.reshape(ops.scatter(flat, ops.flatten(places), ops.flatten(x), 0), shape);
  if (!node.has(2)) return y;
  // Indices refer to the shape that the pool would have had; a larger result is zero beyond it.
  const wanted = node.sizes(2).slice(2);
  return ops.pad(y, [
    [0, 0],
    [0, 0],
    ...wanted.map((size, axis) => [0, subDim(size, inferred[axis])]),
  ]);
}

export const pools: ImportRules = {
  MaxPool: rule(greatest),
  AveragePool: rule(average),
  LpPool: rule(normPool),
  GlobalAveragePool: rule((node) => {
    const { x, axes } = overSpace(node);
    return ops.mean(x, axes, { keepdims: true });
  }),
  GlobalMaxPool: rule((node) => {
    const { x, axes } = overSpace(node);
    return ops.max(x, axes, { keepdims: true });
  }),
  GlobalLpPool: rule((node) => {
    const { x, axes } = overSpace(node);
    const p = exponent(node);
    return root(ops.sum(power(x, p), axes, { keepdims: true }), p);
  }),
  MaxUnpool: rule(unpooled),
};
