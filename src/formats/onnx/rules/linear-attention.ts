import { isStatic, elementCount } from '../../../base/dim/index.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';
import { byHeads, shared } from './attention.js';
import { foreachRow } from './loops.js';
import { rule, type ImportRules } from './rule.js';

/**
 * Linear attention: a state that keys and values update and queries read, step by step, with decay and delta
 * rule.
 */
function linear(node: ImportedNode): readonly Value[] {
  for (const index of [0, 1, 2, 4, 5]) node.expectRank(index, 3);
  const queryHeads = node.attributes.int('q_num_heads', 0);
  const heads = node.attributes.int('kv_num_heads', 0);
  const kind = node.attributes.string('update_rule', 'gated_delta');
  if (queryHeads < 1 || heads < 1) throw node.refuse('the numbers of heads are not given');
  if (!['linear', 'gated', 'delta', 'gated_delta'].includes(kind)) throw node.unsupported('no such rule', kind); // prettier-ignore
  const { dtype } = node.value(0).type;
  const wide = (x: Value): Value => ops.cast(x, 'float32');
  // Time first, so that each step is a row: [T, N, heads, size].
  const steps = (x: Value, count: number): Value =>
    ops.transpose(byHeads(wide(x), count), [2, 0, 1, 3]);
  const q = steps(node.value(0), queryHeads);
  const k = steps(node.value(1), heads);
  const v = steps(node.value(2), heads);
  const [length, images, , size] = k.type.shape;
  const width = v.type.shape[3];
  const decay = kind.startsWith('gated') ? steps(node.value(4), heads) : null;
  const beta = kind.endsWith('delta') ? node.value(5) : null;
  const betaHeads = beta?.type.shape[2] ?? 1;
  if (!isStatic(betaHeads) || !isStatic(size)) throw node.unsized('the size of the heads is not known'); // prettier-ignore
  const scale = node.attributes.float('scale', 0) || 1 / Math.sqrt(size);
  const past = node.optional(3);
  const start =
    past === null ? node.filled([images, heads, size, width], 0, 'float32') : wide(past);
  const { rows, states } = foreachRow(
    node,
    {
      data: [
        q,
        k,
        v,
        ...(decay === null ? [] : [decay]),
        ...(beta === null ? [] : [steps(beta, betaHeads)]),
      ],
      states: [start],
    },
    ({ rows: [query, key, value, ...others], states: [state] }) => {
      const faded = decay === null ? state : ops.mul(state, ops.expandDims(ops.exp(others[0]), -1));
      const column = ops.expandDims(key, -1);
      const kept = ops.sum(ops.mul(faded, column), -2);
      const written = beta === null ? value : ops.mul(others.at(-1)!, ops.sub(value, kept));
      const next = ops.add(faded, ops.mul(column, ops.expandDims(written, -2)));
      const read = ops.matmul(ops.expandDims(query, -2), shared(next, queryHeads));
      return { rows: [ops.mul(ops.squeeze(read, -2), scale)], states: [next] };
    },
  );
  const y = ops.reshape(ops.transpose(rows[0], [1, 0, 2, 3]), [
    images,
    length,
    elementCount([queryHeads, width]),
  ]);
  return [ops.cast(y, dtype), ops.cast(states[0], past?.type.dtype ?? dtype)];
}

export const linearAttention: ImportRules = { LinearAttention: rule(linear) };
