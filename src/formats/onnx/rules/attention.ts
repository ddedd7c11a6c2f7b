import { type Dim, floorDivDim, isStatic, elementCount } from '../../../base/dim/index.js';
import type { DType } from '../../../base/dtype.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';
import { TensorOperand } from '../operand.js';
import { elementFor } from '../tensor.js';
import { rule, type ImportRules } from './rule.js';

/** `[N, T, heads * size]` as `[N, heads, T, size]`. */
export function byHeads(x: Value, heads: number): Value {
  const [images, length, width] = x.type.shape;
  return ops.transpose(
    ops.reshape(x, [images, length, heads, floorDivDim(width, heads)]),
    [0, 2, 1, 3],
  );
}

/** Repeats the heads of keys and values for the query heads that share them. */
export function shared(x: Value, queryHeads: Dim): Value {
  const [images, heads, ...rest] = x.type.shape;
  if (heads === queryHeads || !isStatic(heads) || !isStatic(queryHeads)) return x;
  const each = queryHeads / heads;
  const spread = ops.broadcastTo(ops.expandDims(x, 2), [images, heads, each, ...rest]);
  return ops.reshape(spread, [images, queryHeads, ...rest]);
}

/** Mask of the keys that each query attends to, [queries, keys] or [N, 1, queries, keys]; null for all. */
function visible(
  node: ImportedNode,
  queries: Dim,
  keys: Dim,
  past: Dim,
  lengths: Value | null,
): Value | null {
  const left = node.attributes.int('left_window_size', -1);
  const right = node.attributes.int('right_window_size', -1);
  const isCausal = node.attributes.flag('is_causal');
  const rows = ops.reshape(node.iota(queries), [queries, 1]);
  const columns = node.iota(keys);
  // The first query comes after the contents of the cache.
  const start =
    lengths === null
      ? ops.dimLike(rows, past)
      : ops.sub(ops.reshape(lengths, [lengths.type.shape[0], 1, 1, 1]), ops.dimLike(rows, queries));
  const ahead = ops.sub(columns, ops.add(rows, start));
  const conditions: Value[] = [];
  if (isCausal) conditions.push(ops.lessEqual(ahead, 0));
  if (left >= 0) conditions.push(ops.greaterEqual(ahead, -left));
  if (right >= 0) conditions.push(ops.lessEqual(ahead, right));
  if (lengths !== null) {
    conditions.push(ops.less(columns, ops.reshape(lengths, [lengths.type.shape[0], 1, 1, 1])));
  }
  return conditions.length === 0 ? null : conditions.reduce((a, b) => ops.logicalAnd(a, b));
}

/** Pads a mask that covers fewer keys; the others are hidden. */
function widened(mask: Value, keys: Dim): Value {
  const own = mask.type.shape.at(-1)!;
  if (!isStatic(own) || !isStatic(keys) || own >= keys) return mask;
  const widths = mask.type.shape.map((_, k) => [
    0,
    k === mask.type.shape.length - 1 ? keys - own : 0,
  ]);
  return mask.type.dtype === 'bool'
    ? ops.pad(mask, widths)
    : ops.pad(mask, widths, { value: -Infinity });
}

/** Softmax over the last axis; fully masked rows are zero. */
function weights(scores: Value): Value {
  const greatest = ops.max(scores, -1, { keepdims: true });
  const isHidden = ops.equal(greatest, -Infinity);
  const powers = ops.exp(ops.sub(scores, ops.where(isHidden, 0, greatest)));
  const total = ops.sum(powers, -1, { keepdims: true });
  return ops.div(powers, ops.where(isHidden, 1, total));
}

/** Attention of opset 23 and later: [N, heads, T, size], or heads concatenated in the last axis. */
function attended(node: ImportedNode): readonly Value[] {
  const is3d = node.rank(0) === 3;
  for (const index of [0, 1, 2]) node.expectRank(index, is3d ? 3 : 4);
  for (const index of [4, 5]) node.expectRank(index, 4);
  node.expectRank(6, 1);
  const queryHeads = node.attributes.int('q_num_heads', 0);
  const keyHeads = node.attributes.int('kv_num_heads', 0);
  if (is3d && (queryHeads < 1 || keyHeads < 1))
    throw node.refuse('the numbers of heads are not given');
  const q = is3d ? byHeads(node.value(0), queryHeads) : node.value(0);
  const [newKeys, newValues] = [1, 2].map((index) => is3d ? byHeads(node.value(index), keyHeads) : node.value(index)); // prettier-ignore
  const [pastKeys, pastValues] = [node.optional(4), node.optional(5)];
  const k = pastKeys === null ? newKeys : ops.concat([pastKeys, newKeys], 2);
  const v = pastValues === null ? newValues : ops.concat([pastValues, newValues], 2);
  const [images, heads, queries, size] = q.type.shape;
  const keys = k.type.shape[2];
  if (!isStatic(size)) throw node.unsized('the size of the heads is not known');
  const { dtype } = q.type;
  const scale = Math.sqrt(node.attributes.float('scale', 1 / Math.sqrt(size)));
  const lengths = node.optional(6);
  const left = ops.mul(q, scale);
  const right = ops.mul(shared(k, heads), scale);
  const raw = ops.matmul(left, ops.swapaxes(right, -1, -2));
  const cap = node.attributes.float('softcap', 0);
  const capped = cap > 0 ? ops.mul(ops.tanh(ops.div(raw, cap)), cap) : raw;
  let biased = capped;
  const mask = node.has(3) ? widened(node.value(3), keys) : null;
  if (mask !== null) {
    biased =
      mask.type.dtype === 'bool' ? ops.where(mask, biased, -Infinity) : ops.add(biased, mask);
  }
  const seen = visible(node, queries, keys, pastKeys?.type.shape[2] ?? 0, lengths);
  if (seen !== null) biased = ops.where(seen, biased, -Infinity);
  const precision = node.attributes.int('softmax_precision', null);
  const wide: DType = precision === null ? dtype : elementFor(precision, node.title).carrier;
  const probabilities = ops.cast(weights(ops.cast(biased, wide)), dtype);
  const y = ops.matmul(probabilities, shared(v, heads));
  const mode = node.attributes.int('qk_matmul_output_mode', 0);
  const shown = [raw, capped, biased, probabilities][mode];
  if (shown === undefined)
    throw node.unsupported('no such output', `qk_matmul_output_mode ${mode}`);
  const flat = is3d
    ? ops.reshape(ops.transpose(y, [0, 2, 1, 3]), [
        images,
        queries,
        elementCount([heads, y.type.shape[3]]),
      ])
    : y;
  return [flat, k, v, ops.cast(shown, dtype)];
}

/** Attention with custom graphs between its steps. */
function flexible(node: ImportedNode): Value {
  for (const index of [0, 1, 2]) node.expectRank(index, 4);
  const [q, k, v] = [0, 1, 2].map((index) => node.value(index));
  const [, heads, , size] = q.type.shape;
  if (!isStatic(size)) throw node.unsized('the size of the heads is not known');
  const { dtype } = q.type;
  const scale = Math.sqrt(node.attributes.float('scale', 1 / Math.sqrt(size)));
  const right = ops.swapaxes(ops.mul(shared(k, heads), scale), -1, -2);
  const scores = ops.matmul(ops.mul(q, scale), right);
  const precision = node.attributes.int('softmax_precision', null);
  const isNarrow = dtype === 'float16' || dtype === 'bfloat16';
  const wide: DType = precision === null ? (isNarrow ? 'float32' : dtype) : elementFor(precision, node.title).carrier; // prettier-ignore
  const changed = (name: string, value: Value): Value => {
    if (!node.attributes.has(name)) return value;
    const [made] = node.subgraph(node.attributes.graph(name), [TensorOperand.of(value)], 1);
    if (made.kind !== 'tensor') throw node.refuse(`${name} gives no tensor`);
    return ops.cast(made.valueIn(node.region), wide);
  };
  const modified = changed('score_mod', ops.cast(scores, wide));
  const probabilities = changed('prob_mod', ops.softmax(modified, -1));
  return ops.cast(ops.matmul(probabilities, ops.cast(shared(v, heads), wide)), v.type.dtype);
}

/** Rotary embedding: rotates pairs of elements by angles that grow with the position. */
function rotated(node: ImportedNode): Value {
  node.expectRank(0, 3, 4);
  const given = node.value(0);
  const is4d = given.type.shape.length === 4;
  const [images, length] = is4d ? [given.type.shape[0], given.type.shape[2]] : given.type.shape;
  const heads = node.attributes.int('num_heads', 0);
  if (!is4d && heads < 1) throw node.refuse('the number of heads is not given');
  const x = is4d
    ? ops.transpose(given, [0, 2, 1, 3])
    : ops.reshape(given, [images, length, heads, floorDivDim(given.type.shape[2], heads)]);
  const size = x.type.shape[3];
  if (!isStatic(size)) throw node.unsized('the size of the heads is not known');
  const width = node.attributes.int('rotary_embedding_dim', 0) || size;
  const positions = node.optional(3);
  const cache = (index: number): Value => {
    const all = node.value(index);
    return ops.expandDims(positions === null ? all : ops.take(all, positions, { axis: 0 }), 2);
  };
  const [cos, sin] = [cache(1), cache(2)];
  const rotating = ops.slice(x, '...', [0, width]);
  const isInterleaved = node.attributes.flag('interleaved');
  const [first, second] = isInterleaved
    ? [ops.slice(rotating, '...', [0, null, 2]), ops.slice(rotating, '...', [1, null, 2])]
    : ops.split(rotating, 2, -1);
  const real = ops.sub(ops.mul(cos, first), ops.mul(sin, second));
  const imaginary = ops.add(ops.mul(sin, first), ops.mul(cos, second));
  const joined = isInterleaved
    ? ops.reshape(ops.stack([real, imaginary], -1), rotating.type.shape)
    : ops.concat([real, imaginary], -1);
  const whole =
    width === size ? joined : ops.concat([joined, ops.slice(x, '...', [width, null])], -1);
  return is4d ? ops.transpose(whole, [0, 2, 1, 3]) : ops.reshape(whole, given.type.shape);
}

export const attentionRules: ImportRules = {
  Attention: rule(attended),
  FlexAttention: rule(flexible),
  RotaryEmbedding: rule(rotated),
};
