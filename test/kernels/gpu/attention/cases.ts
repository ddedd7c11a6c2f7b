import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { sizeOf } from '../../../support/arrays.js';
import { floats, operand } from '../../../support/programs.js';
import { generator } from '../../../support/samples.js';

/* Attention of a few heads, and its weights by the formula in double precision. */

const random = generator(14);

export interface AttentionCase {
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
  readonly size: number;
  readonly channels: number;
  readonly causal?: boolean;
  readonly mask?: 'bool' | 'float32';
}

export function uniform(shape: readonly number[], scale: number = 1): Operand {
  return floats(
    shape,
    Array.from({ length: sizeOf(shape) }, () => (random() * 2 - 1) * scale),
  );
}

/** Queries, keys, values, and a mask that hides all keys from the first query if there is one of bool. */
export function operandsOf({
  heads,
  queries,
  keys,
  size,
  channels,
  mask,
}: AttentionCase): readonly Operand[] {
  // prettier-ignore
  const qkv = [uniform([heads, queries, size], 2), uniform([heads, keys, size], 2), uniform([heads, keys, channels])]; // prettier-ignore
  if (mask === undefined) return qkv;
  if (mask === 'float32') return [...qkv, uniform([queries, keys], 3)];
  const seen = Array.from({ length: queries * keys }, (_, at) => at >= keys && random() < 0.6);
  return [...qkv, operand('bool', [queries, keys], seen)];
}

/** The weights of the keys of a query: 0 where it sees none. */
export function weightsOf(
  { queries, keys, size, causal = false, mask: kind }: AttentionCase,
  [q, k, , mask]: readonly (readonly number[])[],
  head: number,
  query: number,
): number[] {
  const scores = Array.from({ length: keys }, (_, key) => {
    let score = 0;
    for (let d = 0; d < size; d++) {
      score += q[(head * queries + query) * size + d] * k[(head * keys + key) * size + d];
    }
    score /= Math.sqrt(size);
    const element = kind === undefined ? 0 : mask[query * keys + key];
    const isHidden = (causal && key > query) || (kind === 'bool' && element === 0);
    return isHidden ? -Infinity : kind === 'float32' ? score + element : score;
  });
  const most = Math.max(...scores);
  const powers = scores.map((score) => (most === -Infinity ? 0 : Math.exp(score - most)));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => (total === 0 ? 0 : power / total));
}
