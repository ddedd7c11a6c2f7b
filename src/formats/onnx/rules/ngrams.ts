import { isStatic } from '../../../base/dim/index.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';
import { floats, integers } from '../operand.js';
import { rule, type ImportRules } from './rule.js';

/** Limit of skip distances, which are compared one after the other. */
const mostDistances = 256;
/** Size limit of the matrix that maps counts to outputs. */
const largest = 2 ** 24;

/** The n-grams of one length. */
interface Level {
  readonly length: number;
  readonly patterns: readonly (readonly number[])[];
}

/** The pool split by n-gram length, at the offsets of `ngram_counts`. */
function levelsOf(node: ImportedNode): readonly Level[] {
  const pool = node.attributes.ints('pool_int64s', null);
  if (pool === null) throw node.unsupported('a pool of strings');
  const starts = node.attributes.ints('ngram_counts', []);
  return starts.map((start, k): Level => {
    const [end, length] = [starts[k + 1] ?? pool.length, k + 1];
    if (!(start >= 0 && start <= end && end <= pool.length) || (end - start) % length !== 0)
      throw node.refuse('ngram_counts does not fit the pool');
    const count = (end - start) / length;
    const patterns = Array.from({ length: count }, (_, i) => pool.slice(start + i * length, start + (i + 1) * length)); // prettier-ignore
    return { length, patterns };
  });
}

/** Occurrences of each n-gram with a fixed distance between its elements. */
function occurrences(
  node: ImportedNode,
  x: Value,
  { length, patterns }: Level,
  step: number,
): Value {
  const extent = x.type.shape.at(-1) as number;
  const places = extent - (length - 1) * step;
  const elements = Array.from({ length }, (_, k) => ops.slice(x, '...', [k * step, k * step + places])); // prettier-ignore
  const found = ops.expandDims(ops.stack(elements, -1), -2);
  const wanted = node.region.constant(integers(patterns.flat(), [patterns.length, length]));
  return ops.sum(ops.cast(ops.all(ops.equal(found, wanted), -1), 'float32'), -2);
}

/**
 * TfIdfVectorizer: counts n-grams of a pool in the rows of an operand, with up to `max_skip_count` elements
 * skipped between neighbors, the same number each time.
 */
function counted(node: ImportedNode): Value {
  const x = ops.cast(node.value(0), 'int64');
  const extent = x.type.shape.at(-1);
  if (extent === undefined || x.type.shape.length > 2) throw node.refuse('the operand is no row or rows'); // prettier-ignore
  if (!isStatic(extent)) throw node.unsized('the length of the rows is not known');
  const levels = levelsOf(node);
  const [least, most, skips] = ['min_gram_length', 'max_gram_length', 'max_skip_count'].map((name) => node.attributes.int(name, 0)); // prettier-ignore
  const parts = levels.map((level): Value => {
    const { length, patterns } = level;
    const reach = Math.floor((extent - 1) / Math.max(length - 1, 1));
    const steps = length === 1 ? Math.min(extent, 1) : Math.min(skips + 1, reach);
    if (steps > mostDistances) throw node.unsupported(`more than ${mostDistances} distances`, String(steps)); // prettier-ignore
    const none = node.filled([...x.type.shape.slice(0, -1), patterns.length], 0, 'float32');
    if (length < least || length > most || patterns.length === 0) return none;
    const each = Array.from({ length: Math.max(steps, 0) }, (_, k) => occurrences(node, x, level, k + 1)); // prettier-ignore
    return each.reduce((a, b) => ops.add(a, b), none);
  });
  if (parts.length === 0) throw node.refuse('ngram_counts is empty');
  return placed(node, ops.concat(parts, -1));
}

/** Places counts at the outputs of `ngram_indexes`, with their weights. */
function placed(node: ImportedNode, counts: Value): Value {
  const places = node.attributes.ints('ngram_indexes', []);
  const weights = node.attributes.floats('weights', null);
  const total = counts.type.shape.at(-1);
  const width = 1 + places.reduce((a, b) => Math.max(a, b), -1);
  if (places.length !== total || places.some((place) => place < 0)) throw node.refuse('ngram_indexes does not fit the pool'); // prettier-ignore
  if (width * total > largest) throw node.unsupported('a result as long', String(width));
  const data = new Float32Array(total * width);
  places.forEach((place, k) => (data[k * width + place] = 1));
  const matrix = node.region.constant(floats(data, [total, width]));
  const found = ops.matmul(counts, matrix);
  const mode = node.attributes.string('mode', '');
  if (mode !== 'TF' && mode !== 'IDF' && mode !== 'TFIDF') throw node.refuse('no such mode', 'TF, IDF or TFIDF', mode); // prettier-ignore
  const frequency = mode === 'IDF' ? ops.cast(ops.greater(found, 0), 'float32') : found;
  if (mode === 'TF' || weights === null) return frequency;
  // The standard indexes weights by the pool, the reference implementation by outputs.
  if (!places.every((place, k) => place === k)) throw node.unsupported('weights of sequences whose places are not in the order of the pool'); // prettier-ignore
  if (weights.length !== total) throw node.refuse('there is not one weight for each sequence');
  return ops.mul(frequency, node.region.constant(floats(weights)));
}

export const ngrams: ImportRules = {
  TfIdfVectorizer: rule(counted),
};
