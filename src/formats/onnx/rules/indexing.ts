import { isStatic, minDim, elementCount, sameDim } from '../../../base/dim/index.js';
import type { Value } from '../../../ir/program.js';
import type { Shape } from '../../../ir/types.js';
import * as ops from '../../../ops/index.js';
import { alongAxis, type ImportedNode, type Results } from '../node.js';
import { ordered } from './carriers.js';
import { anyElement, moves, rule, type ImportRules } from './rule.js';

/** Row-major flat indices from tuples of indices along the leading axes. */
function flatPositions(tuples: Value, leading: Shape, node: ImportedNode): Value {
  let flat: Value | null = null;
  leading.forEach((extent, k) => {
    const at = ops.cast(ops.slice(tuples, '...', k), 'int64');
    const size = ops.dimLike(at, extent);
    const counted = ops.where(ops.less(at, 0), ops.add(at, size), at);
    flat = flat === null ? counted : ops.add(ops.mul(flat, size), counted);
  });
  return flat ?? ops.broadcastTo(node.scalar(0, 'int64'), tuples.type.shape.slice(0, -1));
}

function lastOf(node: ImportedNode, shape: Shape): number {
  const last = shape.at(-1);
  if (last === undefined || !isStatic(last)) throw node.unsupported('the length of an index is not known'); // prettier-ignore
  return last;
}

function gatheredBlocks(x: Value, node: ImportedNode): Value {
  const tuples = node.value(1);
  const batches = node.attributes.int('batch_dims', 0);
  const { shape } = x.type;
  const count = lastOf(node, tuples.type.shape);
  if (batches + count > shape.length || batches >= tuples.type.shape.length) {
    throw node.refuse('the indices have more entries than the operand has axes');
  }
  const batch = shape.slice(0, batches);
  const taken = shape.slice(batches, batches + count);
  const rest = shape.slice(batches + count);
  const flat = flatPositions(tuples, taken, node);
  const merged = ops.reshape(x, [elementCount([...batch, ...taken]), ...rest]);
  if (batches === 0) return ops.take(merged, flat, { axis: 0 });
  const start = ops.reshape(
    ops.mul(node.iota(elementCount(batch)), ops.dimLike(flat, elementCount(taken))),
    [...batch, ...flat.type.shape.slice(batches).map(() => 1)],
  );
  return ops.take(merged, ops.add(flat, start), { axis: 0 });
}

/** Combines updates with the existing elements, and with each other. */
function scattered(
  reduction: string,
  target: Value,
  positions: Value,
  updates: Value,
  node: ImportedNode,
): Value {
  switch (reduction) {
    case 'none':
      return ops.scatter(target, positions, updates, 0);
    case 'add':
      return ops.cast(ops.scatterAdd(target, positions, updates, 0), target.type.dtype);
    case 'mul':
    case 'max':
    case 'min':
      return combined(reduction, target, positions, updates, node);
    default:
      throw node.refuse('no such reduction', 'none, add, mul, max or min', reduction);
  }
}

/** Applies updates one after the other: no operator multiplies or compares colliding updates. */
function combined(
  reduction: 'mul' | 'max' | 'min',
  target: Value,
  positions: Value,
  updates: Value,
  node: ImportedNode,
): Value {
  const [rows, columns] = updates.type.shape;
  if (!isStatic(rows) || rows > 256) {
    throw node.unsupported(`reduction ${reduction} of more than 256 updates`, String(rows));
  }
  const combine = { mul: ops.mul, max: ops.maximum, min: ops.minimum }[reduction];
  let result = target;
  for (let k = 0; k < rows; k++) {
    const at = ops.reshape(ops.slice(positions, k), [1, columns]);
    const update = ops.reshape(ops.slice(updates, k), [1, columns]);
    const before = ops.gather(result, at, 0);
    result = ops.scatter(result, at, combine(before, update) as Value, 0);
  }
  return result;
}

/** ScatterND: blocks at tuples of indices. */
function scatteredBlocks(x: Value, node: ImportedNode): Value {
  const [tuples, updates] = [node.value(1), node.value(2)];
  const { shape } = x.type;
  const count = lastOf(node, tuples.type.shape);
  if (count > shape.length) throw node.refuse('the indices have more entries than the operand has axes'); // prettier-ignore
  const rest = elementCount(shape.slice(count));
  const flat = flatPositions(tuples, shape.slice(0, count), node);
  const rows = elementCount(flat.type.shape);
  const positions = ops.broadcastTo(ops.reshape(flat, [rows, 1]), [rows, rest]);
  const target = ops.reshape(x, [elementCount(shape.slice(0, count)), rest]);
  const blocks = ops.reshape(updates, [rows, rest]);
  const reduction = node.attributes.string('reduction', 'none');
  return ops.reshape(scattered(reduction, target, positions, blocks, node), shape);
}

/** ScatterElements: single elements along an axis, as NumPy's `put_along_axis`. */
function scatteredElements(x: Value, node: ImportedNode): Value {
  const [indices, updates] = [node.value(1), node.value(2)];
  const { shape } = x.type;
  const axis = node.axis(node.attributes.int('axis', 0), shape.length);
  const reduction = node.attributes.string('reduction', 'none');
  if (reduction === 'none') return ops.scatter(x, indices, updates, axis);
  if (reduction === 'add') return ops.cast(ops.scatterAdd(x, indices, updates, axis), x.type.dtype);
  // As tuples of indices, one for each update.
  const at = indices.type.shape;
  const tuples = shape.map((_, k) => {
    if (k === axis) return ops.cast(indices, 'int64');
    return ops.broadcastTo(node.indices(at, k), at);
  });
  const flat = flatPositions(ops.stack(tuples, -1), shape, node);
  const rows = elementCount(at);
  const result = scattered(
    reduction,
    ops.reshape(x, [elementCount(shape), 1]),
    ops.reshape(flat, [rows, 1]),
    ops.reshape(updates, [rows, 1]),
    node,
  );
  return ops.reshape(result, shape);
}

/** TensorScatter: writes new rows to a cache, at an index for each batch. */
function cached(x: Value, node: ImportedNode): Value {
  node.expectRank(1, node.rank(0));
  node.expectRank(2, 1);
  const update = node.value(1);
  const { shape } = x.type;
  const axis = node.axis(node.attributes.int('axis', -2), shape.length);
  const isCircular = node.attributes.string('mode', 'linear') === 'circular';
  let places = node.indices(update.type.shape, axis);
  if (node.has(2)) {
    const starts = ops.cast(node.value(2), 'int64');
    places = ops.add(places, ops.reshape(starts, alongAxis(shape[0], 0, shape.length)));
  }
  if (isCircular) places = ops.mod(places, ops.dimLike(places, shape[axis]));
  return ops.scatter(x, ops.broadcastTo(places, update.type.shape), update, axis);
}

function top(node: ImportedNode): Results {
  const element = node.element(0);
  const x = ordered(element, node.value(0));
  const { shape } = x.type;
  const axis = node.axis(node.attributes.int('axis', -1), shape.length);
  const largest = node.attributes.flag('largest', true);
  const known = node.version < 10 ? node.attributes.int('k', 1) : node.dimsIfKnown(1)?.[0];
  if (known !== undefined && isStatic(known)) {
    const { values, indices } = ops.topK(x, known, axis, { largest });
    return [node.like(0, ordered(element, values)), indices];
  }
  const order = ops.argsort(x, axis, { descending: largest });
  const before = Array.from({ length: axis }, () => ':' as const);
  const count = known ?? ops.reshape(node.value(1), []);
  const isWhole = known !== undefined && sameDim(known, shape[axis]);
  const indices = isWhole ? order : ops.slice(order, ...before, [0, count]);
  return [node.like(0, ordered(element, ops.gather(x, indices, axis))), indices];
}

function oneHot(node: ImportedNode): Results {
  const indices = ops.cast(node.value(0), 'int64');
  const rank = indices.type.shape.length;
  const axis = node.axis(node.attributes.int('axis', -1), rank + 1);
  const [off, on] = [0, 1].map((k) => ops.slice(ops.reshape(node.value(2), [2]), k));
  const depth = node.size(1);
  const size = ops.dimLike(indices, depth);
  const counted = ops.where(ops.less(indices, 0), ops.add(indices, size), indices);
  const places = ops.reshape(node.iota(depth), alongAxis(depth, 0, rank - axis + 1));
  const isHot = ops.equal(ops.expandDims(counted, axis), places);
  return node.like(2, ops.where(isHot, on, off));
}

/** Compress: selects rows along an axis, or elements, by a mask that may be shorter. */
function compressed(x: Value, node: ImportedNode): Value {
  const axis = node.attributes.int('axis', null);
  const flat = axis === null ? ops.flatten(x) : ops.moveaxis(x, axis, 0);
  node.expectRank(1, 1);
  if (flat.type.shape.length === 0) throw node.refuse('there is no axis');
  const mask = node.value(1);
  const [length, extent] = [mask.type.shape[0], flat.type.shape[0]];
  const both = minDim(length, extent);
  // The same mask value decides the same size, however often it is used.
  const leading = (whole: Value): Value =>
    sameDim(whole.type.shape[0], both) ? whole : ops.slice(whole, [0, both]);
  const taken = ops.booleanMask(leading(flat), leading(mask));
  return axis === null ? taken : ops.moveaxis(taken, 0, axis);
}

function unique(node: ImportedNode): Results {
  const axis = node.attributes.int('axis', null);
  const all = ops.unique(node.value(0), {
    axis,
    returnIndex: true,
    returnInverse: true,
    returnCounts: true,
  });
  const inverse = ops.flatten(all.inverse);
  if (node.attributes.flag('sorted', true)) {
    return [node.like(0, all.values), all.index, inverse, all.counts];
  }
  // In order of first occurrence.
  const order = ops.argsort(all.index, 0);
  const rank = ops.argsort(order, 0);
  const take = (x: Value, along: number = 0): Value =>
    ops.take(x, order, { axis: along, mode: 'clip' });
  return [
    node.like(0, take(all.values, axis ?? 0)),
    take(all.index),
    ops.take(rank, inverse, { axis: 0, mode: 'clip' }),
    take(all.counts),
  ];
}

/** NonMaxSuppression: the selected boxes as triples of image, class and box index. */
function suppressed(node: ImportedNode): Value {
  for (const index of [0, 1]) node.expectRank(index, 3);
  const [boxes, scores] = [node.value(0), node.value(1)];
  const [images, classes] = scores.type.shape;
  if (!isStatic(images) || !isStatic(classes) || images * classes > 4096) {
    throw node.unsized('the numbers of images and classes are not known, or too large');
  }
  const limit = node.has(2) ? node.number(2) : 0;
  const iouThreshold = node.has(3) ? node.number(3) : 0;
  const scoreThreshold = node.has(4) ? node.number(4) : null;
  const wanted = limit > 0 ? classes : 0;
  const found: Value[] = [];
  for (let image = 0; image < images; image++) {
    const corners = cornersOf(ops.slice(boxes, image), node.attributes.flag('center_point_box'));
    for (let each = 0; each < wanted; each++) {
      const kept = ops.nonMaxSuppression(corners, ops.slice(scores, image, each), {
        iouThreshold,
        // The greatest int64, which exporters write for no limit, is no exact number.
        maxOutputSize: Math.min(limit, Number.MAX_SAFE_INTEGER),
        ...(scoreThreshold !== null && { scoreThreshold }),
      });
      const [count] = kept.type.shape;
      const column = (number: number): Value => ops.fullLike(kept, number, { shape: [count] });
      found.push(ops.stack([column(image), column(each), kept], 1));
    }
  }
  return found.length === 0 ? node.filled([0, 3], 0, 'int64') : ops.concat(found, 0);
}

/** Two corners of boxes that are given by corners, or by centers and extents. */
function cornersOf(boxes: Value, areCentered: boolean): Value {
  if (!areCentered) return boxes;
  const [x, y, width, height] = [0, 1, 2, 3].map((k) => ops.slice(boxes, ':', k));
  const [halfWidth, halfHeight] = [ops.div(width, 2), ops.div(height, 2)];
  return ops.stack([ops.sub(y, halfHeight), ops.sub(x, halfWidth), ops.add(y, halfHeight), ops.add(x, halfWidth)], 1); // prettier-ignore
}

export const indexing: ImportRules = {
  Gather: moves((x, node) => {
    const axis = node.axis(node.attributes.int('axis', 0), x.type.shape.length);
    return ops.take(x, node.value(1), { axis });
  }),
  GatherElements: moves((x, node) => {
    const axis = node.axis(node.attributes.int('axis', 0), x.type.shape.length);
    return ops.gather(x, node.value(1), axis);
  }),
  GatherND: moves(gatheredBlocks),
  Scatter: moves(scatteredElements),
  ScatterElements: rule((node) => scatteredElements(node.value(0), node)),
  ScatterND: rule((node) => scatteredBlocks(node.value(0), node)),
  TensorScatter: moves(cached),
  TopK: anyElement(top),
  OneHot: rule(oneHot),
  NonZero: rule((node) => ops.transpose(ops.nonzero(node.value(0)))),
  Compress: moves(compressed),
  Unique: rule(unique),
  NonMaxSuppression: rule(suppressed),
};
