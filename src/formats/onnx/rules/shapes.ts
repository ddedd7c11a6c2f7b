import {
  broadcastDim,
  type Dim,
  isStatic,
  maxDim,
  sameDim,
  elementCount,
} from '../../../base/dim/index.js';
import type { Value } from '../../../ir/program.js';
import type { Shape } from '../../../ir/types.js';
import * as ops from '../../../ops/index.js';
import { broadcastRefusal } from '../../../ops/declare/meeting.js';
import { elementFor } from '../tensor.js';
import type { ImportedNode, Results } from '../node.js';
import { floats, integers, TensorOperand } from '../operand.js';
import { anyElement, moves, rule, type ImportRules } from './rule.js';

/** Reshape: 0 copies the operand's size, and -1 is inferred. */
function reshaped(node: ImportedNode): Results {
  node.expectRank(1, 1);
  const x = node.value(0);
  const from = x.type.shape;
  const keepsZero = node.attributes.flag('allowzero');
  const given = node.version < 5 ? node.attributes.ints('shape', []) : node.dimsIfKnown(1);
  if (given === null) {
    const sizes = node.value(1);
    const rank = node.axesIn(1);
    if (keepsZero || rank === 0) return node.like(0, ops.reshape(x, sizes));
    // The operand's size for 0 is known for its own axes only.
    const own = sizesOf(node, x, Math.min(rank, from.length));
    const padded = rank > from.length ? ops.pad(own, [[0, rank - from.length]]) : own;
    return node.like(0, ops.reshape(x, ops.where(ops.equal(sizes, 0), padded, sizes)));
  }
  const shape = given.map((size, axis) => {
    if (size !== 0 || keepsZero) return size;
    if (axis >= from.length) throw node.refuse('0 stands for an axis that the operand lacks');
    return from[axis];
  });
  return node.like(0, ops.reshape(x, shape));
}

/** The leading sizes of an array, as int64. */
function sizesOf(node: ImportedNode, x: Value, count: number): Value {
  const { shape } = x.type;
  if (shape.slice(0, count).every(isStatic)) {
    return node.region.constant(integers(shape.slice(0, count) as readonly number[]));
  }
  return ops.slice(ops.shapeOf(x), [0, count]);
}

function flattened(x: Value, node: ImportedNode): Value {
  const { shape } = x.type;
  const given = node.attributes.int('axis', 1);
  // The axis may be the rank itself; negative ones count from the rank.
  const axis = given === shape.length ? given : node.axis(given, shape.length);
  return ops.reshape(x, [elementCount(shape.slice(0, axis)), elementCount(shape.slice(axis))]);
}

function transposed(x: Value, node: ImportedNode): Value {
  const rank = x.type.shape.length;
  const axes =
    node.attributes.ints('perm', null) ?? Array.from({ length: rank }, (_, i) => rank - 1 - i);
  return ops.transpose(x, axes);
}

function squeezed(x: Value, node: ImportedNode): Value {
  const axes = node.intsFrom('axes', 1, null);
  return axes === null ? ops.squeeze(x) : ops.squeeze(x, axes);
}

function unsqueezed(x: Value, node: ImportedNode): Value {
  const axes = node.intsFrom('axes', 1, null);
  if (axes === null) throw node.refuse('no axes are given');
  return ops.expandDims(x, axes);
}

/** Bidirectional broadcast of the operand and a requested shape. */
function expanded(x: Value, node: ImportedNode): Value {
  const { shape } = x.type;
  const target = bothWays(shape, node.sizes(1));
  const own = [...Array.from({ length: target.length - shape.length }, () => 1), ...shape];
  if (own.every((dim, axis) => dim === 1 || sameDim(dim, target[axis])))
    return ops.broadcastTo(x, target);
  return ops.stretchTo(ops.reshape(x, own), target, broadcastRefusal('Expand', [own, target]));
}

/** Broadcast of two shapes. */
function bothWays(a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis): Dim => {
    const [x, y] = [a[axis - rank + a.length] ?? 1, b[axis - rank + b.length] ?? 1];
    return broadcastDim(x, y);
  });
}

function tiled(x: Value, node: ImportedNode): Value {
  node.expectRank(1, 1);
  const repeats = node.dimsIfKnown(1);
  if (repeats !== null && repeats.every(isStatic)) return ops.tile(x, repeats);
  // Each axis gets a new axis before it, which is broadcast.
  const { shape } = x.type;
  const counts = node.value(1);
  if (shape.length === 0) return x;
  const pairs = ops.reshape(ops.stack([counts, sizesOf(node, x, shape.length)], 1), [
    2 * shape.length,
  ]);
  const apart = ops.reshape(
    x,
    shape.flatMap((dim): Dim[] => [1, dim]),
  );
  const spread = ops.broadcastTo(apart, pairs);
  return ops.reshape(spread, ops.mul(counts, sizesOf(node, x, shape.length)));
}

/** DepthToSpace: blocks of channels become space; with `CRD` the channels are outside of the blocks. */
function depthToSpace(x: Value, node: ImportedNode): Value {
  node.expectRank(0, 4);
  const size = node.attributes.int('blocksize', 1);
  const [images, channels, height, width] = x.type.shape;
  if (!isStatic(channels) || size < 1) throw node.unsized('the number of channels is not known');
  const depth = channels / size ** 2;
  const isColumnsFirst = node.attributes.string('mode', 'DCR') === 'CRD';
  const blocks = isColumnsFirst
    ? ops.transpose(ops.reshape(x, [images, depth, size, size, height, width]), [0, 1, 4, 2, 5, 3])
    : ops.transpose(ops.reshape(x, [images, size, size, depth, height, width]), [0, 3, 4, 1, 5, 2]);
  return ops.reshape(blocks, [images, depth, times(height, size), times(width, size)]);
}

const times = (dim: Dim, factor: number): Dim => elementCount([dim, factor]);

function spaceToDepth(x: Value, node: ImportedNode): Value {
  node.expectRank(0, 4);
  const size = node.attributes.int('blocksize', 1);
  const [images, channels, height, width] = x.type.shape;
  if (!isStatic(height) || !isStatic(width) || size < 1) throw node.unsized('the sizes of the images are not known'); // prettier-ignore
  const [rows, columns] = [height / size, width / size];
  const blocks = ops.reshape(x, [images, channels, rows, size, columns, size]);
  return ops.reshape(ops.transpose(blocks, [0, 3, 5, 1, 2, 4]), [images, times(channels, size ** 2), rows, columns]); // prettier-ignore
}

function constant(node: ImportedNode): TensorOperand {
  const { attributes } = node;
  const tensor = attributes.tensor('value');
  if (tensor !== undefined) return node.importer.constantOf(tensor, `the value of ${node.place}`);
  const int = attributes.int('value_int', null);
  if (int !== null) return TensorOperand.constant(integers([int], []));
  const ints = attributes.ints('value_ints', null);
  if (ints !== null) return TensorOperand.constant(integers(ints));
  const float = attributes.float('value_float', null);
  const reals = float === null ? attributes.floats('value_floats', null) : [float];
  if (reals === null) {
    const kind = [...attributes.all.keys()].join(', ');
    throw node.unsupported('it holds neither numbers nor truth values', kind);
  }
  return TensorOperand.constant(floats(reals, float === null ? [reals.length] : []));
}

function constantOfShape(node: ImportedNode): TensorOperand {
  node.expectRank(0, 1);
  const value = node.attributes.tensor('value');
  const filled =
    value === undefined ? null : node.importer.constantOf(value, 'the value of ConstantOfShape');
  const one = filled?.valueIn(node.region) ?? node.scalar(0, 'float32');
  const known = node.dimsIfKnown(0);
  const shape = known ?? node.value(0);
  const scalar = ops.reshape(one, []);
  if (known?.some((size) => isStatic(size) && size < 0)) throw node.refuse('a size is negative');
  const isNone = known === null && node.axesIn(0) === 0;
  const made = isNone ? scalar : ops.broadcastTo(scalar, shape);
  return filled === null ? TensorOperand.of(made) : TensorOperand.of(made, filled.element);
}

/** EyeLike: ones on one diagonal, in the operand's shape. */
function eyeLike(node: ImportedNode): TensorOperand {
  const { shape } = node.operand(0).type;
  if (shape.length !== 2) throw node.refuse('the operand is no matrix');
  const code = node.attributes.int('dtype', null);
  const element = code === null ? node.element(0) : elementFor(code, node.title);
  const [rows, columns] = shape;
  const diagonal = ops.sub(node.iota(columns), ops.reshape(node.iota(rows), [rows, 1]));
  const isOne = ops.equal(diagonal, node.attributes.int('k', 0));
  return TensorOperand.of(ops.cast(isOne, element.carrier), element);
}

/** Trilu: one triangle of matrices; the diagonal may be dynamic. */
function triangle(x: Value, node: ImportedNode): Value {
  const { shape } = x.type;
  if (shape.length < 2) throw node.refuse('the operand holds no matrices');
  const isUpper = node.attributes.flag('upper', true);
  const [rows, columns] = shape.slice(-2);
  const diagonal = ops.sub(node.iota(columns), ops.reshape(node.iota(rows), [rows, 1]));
  const k = node.has(1) ? ops.reshape(node.value(1), []) : node.scalar(0, 'int64');
  const isKept = isUpper ? ops.greaterEqual(diagonal, k) : ops.lessEqual(diagonal, k);
  return ops.cast(ops.where(isKept, x, 0), x.type.dtype);
}

function range(node: ImportedNode): Value {
  const dtype = node.dtype(0);
  if ([0, 1, 2].every((index) => node.dataIfKnown(index) !== null)) {
    const [start, limit, delta] = [0, 1, 2].map((index) => node.number(index));
    if (delta === 0) throw node.refuse('the step is 0');
    return node.iota(Math.max(Math.ceil((limit - start) / delta), 0), dtype, start, delta);
  }
  const dims = [0, 1, 2].map((index) => node.operand(index).known?.[0] ?? null);
  if (dims[0] === 0 && dims[2] === 1 && dims[1] !== null) {
    return node.iota(maxDim(dims[1], 0), dtype);
  }
  const [start, limit, delta] = [0, 1, 2].map((index) => ops.reshape(node.value(index), []));
  const wide = (x: Value): Value => ops.cast(x, 'float64');
  const steps = ops.ceil(ops.div(wide(ops.sub(limit, start)), wide(delta)));
  const count = ops.cast(ops.maximum(steps, 0), 'int64');
  const ones = ops.broadcastTo(ops.cast(node.scalar(1, 'int64'), dtype), ops.reshape(count, [1]));
  const numbers = ops.sub(ops.cumsum(ones, 0), ops.onesLike(ones));
  return ops.cast(ops.add(ops.mul(numbers, delta), start), dtype);
}

export const shapes: ImportRules = {
  Identity: anyElement((node) => node.inputs[0] ?? node.operand(0)),
  Constant: anyElement(constant),
  ConstantOfShape: anyElement(constantOfShape),
  Shape: anyElement((node) => {
    const x = node.value(0);
    const start = node.attributes.int('start', 0);
    const end = node.attributes.int('end', null);
    return ops.slice(ops.shapeOf(x), [start, end ?? x.type.shape.length]);
  }),
  Size: anyElement((node) => {
    const x = node.value(0);
    return ops.dimLike(x, elementCount(x.type.shape), { dtype: 'int64' });
  }),
  Reshape: anyElement(reshaped),
  Flatten: moves(flattened),
  Transpose: moves(transposed),
  Squeeze: moves(squeezed),
  Unsqueeze: moves(unsqueezed),
  Expand: moves(expanded),
  Tile: moves(tiled),
  DepthToSpace: moves(depthToSpace),
  SpaceToDepth: moves(spaceToDepth),
  EyeLike: anyElement(eyeLike),
  Trilu: moves(triangle),
  Range: rule(range),
};
