import { sameShape, elementCount } from '../../../base/dim/index.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import { elementFor } from '../tensor.js';
import type { ImportedNode, Results } from '../node.js';
import { rule, type ImportRules } from './rule.js';

/** The dtype of statistics: an attribute, by default float32. */
function computing(node: ImportedNode, x: Value): Value {
  const code = node.attributes.int('stash_type', 1);
  const { carrier } = elementFor(code, node.title);
  return x.type.dtype === 'float64' ? x : ops.cast(x, carrier);
}

/** Common part of layer norms: the operand, the operand in the dtype of statistics, and the last axes. */
function overLastAxes(node: ImportedNode): {
  readonly given: Value;
  readonly x: Value;
  readonly axes: readonly number[];
  readonly epsilon: number;
} {
  const given = node.value(0);
  const rank = given.type.shape.length;
  const first = node.axis(node.attributes.int('axis', -1), rank);
  return {
    given,
    x: computing(node, given),
    axes: Array.from({ length: rank - first }, (_, k) => first + k),
    epsilon: node.attributes.float('epsilon', 1e-5),
  };
}

function layer(node: ImportedNode): Results {
  const { given, x, axes, epsilon } = overLastAxes(node);
  const isPlain = !node.wants(1) && !node.wants(2) && x.type.dtype === given.type.dtype;
  if (isPlain && [1, 2].every((index) => coversAxes(node, index, axes))) {
    return ops.layerNorm(x, node.value(1), node.optional(2), { axes, epsilon });
  }
  const mean = ops.mean(x, axes, { keepdims: true });
  const centered = ops.sub(x, mean);
  const variance = ops.mean(ops.square(centered), axes, { keepdims: true });
  const inverse = ops.reciprocal(ops.sqrt(ops.add(variance, epsilon)));
  const normal = ops.cast(ops.mul(centered, inverse), given.type.dtype);
  const scaled = ops.mul(normal, node.value(1));
  const shift = node.optional(2);
  const y = shift === null ? scaled : ops.add(scaled, shift);
  return [y, mean, inverse];
}

/** True when a scale or shift is absent or has the extents of the normalized axes. */
function coversAxes(node: ImportedNode, index: number, axes: readonly number[]): boolean {
  if (!node.has(index)) return true;
  return sameShape(node.shape(index), axes.map((axis) => node.shape(0)[axis])); // prettier-ignore
}

function rootMeanSquare(node: ImportedNode): Value {
  const { given, x, axes, epsilon } = overLastAxes(node);
  if (x.type.dtype === given.type.dtype && coversAxes(node, 1, axes)) {
    return ops.rmsNorm(x, node.value(1), { axes, epsilon });
  }
  const mean = ops.mean(ops.square(x), axes, { keepdims: true });
  const root = ops.sqrt(ops.add(mean, epsilon));
  return ops.mul(ops.cast(ops.div(x, root), given.type.dtype), node.value(1));
}

/** BatchNormalization with given statistics, or in training with those of the batch, which are returned. */
function batch(node: ImportedNode): Results {
  const [x, gamma, beta, mean, variance] = [0, 1, 2, 3, 4].map((index) => node.value(index));
  const epsilon = node.attributes.float('epsilon', 1e-5);
  const isTraining = node.version >= 14 && node.attributes.flag('training_mode');
  if (!isTraining) {
    if (node.version < 9 && !node.attributes.flag('spatial', true)) throw node.unsupported('statistics for each place'); // prettier-ignore
    return [ops.cast(ops.batchNorm(x, mean, variance, gamma, beta, { epsilon }), x.type.dtype)];
  }
  const momentum = node.attributes.float('momentum', 0.9);
  const axes = x.type.shape.flatMap((_, axis) => (axis === 1 ? [] : [axis]));
  const ownMean = ops.mean(x, axes);
  const along = x.type.shape.map((dim, axis) => (axis === 1 ? dim : 1));
  const ownVariance = ops.mean(ops.square(ops.sub(x, ops.reshape(ownMean, along))), axes);
  const running = (before: Value, own: Value): Value =>
    ops.add(ops.mul(before, momentum), ops.mul(own, 1 - momentum));
  const y = ops.batchNorm(x, ownMean, ownVariance, gamma, beta, { epsilon });
  return [ops.cast(y, x.type.dtype), running(mean, ownMean), running(variance, ownVariance)];
}

function instance(node: ImportedNode): Value {
  const epsilon = node.attributes.float('epsilon', 1e-5);
  return ops.instanceNorm(node.value(0), node.value(1), node.value(2), { epsilon });
}

/** GroupNormalization: scale and shift are per group in opset 18, and per channel since 21. */
function group(node: ImportedNode): Value {
  const x = node.value(0);
  for (const index of [1, 2]) node.expectRank(index, 1);
  const groups = node.attributes.int('num_groups', 1);
  const [, channels, ...spatial] = x.type.shape;
  const epsilon = node.attributes.float('epsilon', 1e-5);
  const normal = ops.groupNorm(x, groups, null, null, { epsilon });
  const spread = (parameter: Value): Value => {
    const each =
      parameter.type.shape[0] === channels
        ? parameter
        : ops.reshape(
            ops.broadcastTo(ops.expandDims(parameter, 1), [groups, Number(channels) / groups]),
            [channels],
          );
    return ops.reshape(each, [channels, ...spatial.map(() => 1)]);
  };
  return ops.add(ops.mul(normal, spread(node.value(1))), spread(node.value(2)));
}

/** LRN: divides by a power of the mean of squares over neighboring channels. */
function localResponse(node: ImportedNode): Value {
  const x = node.value(0);
  if (x.type.shape.length < 3) throw node.refuse('the operand has no spatial axes');
  const size = node.attributes.int('size', 1);
  const alpha = node.attributes.float('alpha', 0.0001);
  const beta = node.attributes.float('beta', 0.75);
  const bias = node.attributes.float('bias', 1);
  const [images, channels, ...spatial] = x.type.shape;
  const flat = ops.reshape(ops.square(x), [images, 1, channels, elementCount(spatial)]);
  const before = Math.floor((size - 1) / 2);
  const windows = ops.slidingWindows(flat, [size, 1], {
    padding: [
      [before, size - 1 - before],
      [0, 0],
    ],
  });
  const total = ops.reshape(ops.sum(windows, [2, 3]), x.type.shape);
  return ops.div(x, ops.pow(ops.add(ops.mul(total, alpha / size), bias), beta));
}

function norm(node: ImportedNode): Value {
  const x = node.value(0);
  const axis = node.attributes.int('axis', -1);
  const p = node.attributes.int('p', 2);
  const size =
    p === 1
      ? ops.sum(ops.abs(x), axis, { keepdims: true })
      : ops.sqrt(ops.sum(ops.square(x), axis, { keepdims: true }));
  // All zeros give zero.
  return ops.where(ops.equal(size, 0), ops.zerosLike(x), ops.div(x, size));
}

function meanVariance(node: ImportedNode): Value {
  const x = node.value(0);
  const axes = node.attributes.ints('axes', [0, 2, 3]);
  const centered = ops.sub(x, ops.mean(x, axes, { keepdims: true }));
  const variance = ops.mean(ops.square(centered), axes, { keepdims: true });
  return ops.div(centered, ops.add(ops.sqrt(variance), 1e-9));
}

export const normalizations: ImportRules = {
  LayerNormalization: rule(layer),
  RMSNormalization: rule(rootMeanSquare),
  BatchNormalization: rule(batch),
  InstanceNormalization: rule(instance),
  GroupNormalization: rule(group),
  LRN: rule(localResponse),
  LpNormalization: rule(norm),
  MeanVarianceNormalization: rule(meanVariance),
};
