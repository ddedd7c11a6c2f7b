import * as e from '../../loop/language/build.js';
import type { Buffer, Expr, Stmt } from '../../loop/language/nodes.js';
import { isOne } from '../contraction/unravel.js';
import { type Access, computeScalar, type KernelContext, type Sink } from '../declare/lowering.js';
import { boundedExponential } from '../elementwise/expressions/exponential.js';
import { greaterNumber } from '../reduction/best.js';
import { overAll, wideDType } from '../loops.js';
import { sumOver } from '../sums.js';

/* Attention and its gradient as written: one query after the other. */

export interface AttentionAttributes {
  readonly causal: boolean;
  readonly scale: number | null;
}

/** The scalar in which attention computes. */
export function attentionScalar({ dtype }: Access): 'f32' | 'f64' {
  return computeScalar(dtype) === 'f64' ? 'f64' : 'f32';
}

/** The factor of the scores. */
export function scoreScale(scalar: 'f32' | 'f64', given: number | null, size: Expr): Expr {
  if (given !== null) return e.constant(scalar, given);
  const root = e.sqrt(e.max(e.cast('f64', size), 1));
  return e.cast(scalar, e.div(e.constant('f64', 1), root));
}

/** A score, which is -Infinity where the query does not see the key; `masked` is the element of the mask there. */
export function maskedScore(
  score: Expr,
  mask: Access | undefined,
  masked: () => Expr,
  isSeen: Expr | null,
): Expr {
  const { scalar } = score.type;
  const hidden = e.constant(scalar, -Infinity);
  let value = score;
  if (mask !== undefined) {
    const element = masked();
    value =
      mask.dtype === 'bool'
        ? e.select(element, score, hidden)
        : e.add(score, e.cast(scalar, element));
  }
  return isSeen === null ? value : e.select(isSeen, value, hidden);
}

/** `softmax(q k^T * scale + mask) v`. */
export function attentionNest(context: KernelContext<AttentionAttributes>): Stmt {
  const [, , v] = context.inputs;
  const [out] = context.outputs;
  const rows = new WeightRows(context, context.inputs[3]);
  const weights = context.scratch('weights', rows.dtype, rows.keys);
  return overAll(
    out.shape.slice(0, -1),
    (index) => {
      const [head, query] = [index.slice(0, -1), index.at(-1)!];
      return e.block(
        rows.fill(head, query, weights, e.i32(0)),
        overAll(
          out.shape.slice(-1),
          ([channel]) =>
            sumOver(
              rows.scalar,
              [rows.keys],
              ([key], add) => add(e.mul(e.load(weights, key), rows.read(v, head, key, channel))),
              (sum) => rows.store(out, head, query, channel, sum),
            ),
          'serial',
        ),
      );
    },
    'serial',
    context,
  );
}

/** The gradients of queries, keys and values, head by head. */
export function attentionGradientNest(context: KernelContext<AttentionAttributes>): Stmt {
  const [q, k, v, g] = context.inputs;
  const [toQ, toK, toV] = context.outputs;
  const rows = new WeightRows(context, context.inputs[4]);
  const { scalar, dtype, keys, scale } = rows;
  const queries = q.shape.at(-2)!;
  const [size, channels] = [q.shape.at(-1)!, v.shape.at(-1)!];
  const table = (name: string): Buffer => context.scratch(name, dtype, e.mul(queries, keys));
  const weights = table('weights');
  const slopes = table('slopes');
  const at = (buffer: Buffer, query: Expr, key: Expr): Expr =>
    e.load(buffer, e.add(e.mul(query, keys), key));
  const slopesOf = (head: readonly Expr[], query: Expr): Stmt => {
    const start = e.mul(query, keys);
    return e.block(
      rows.fill(head, query, weights, start),
      e.forLoop('key', 0, keys, (key) =>
        sumOver(
          scalar,
          [channels],
          ([c], add) => add(e.mul(rows.read(g, head, query, c), rows.read(v, head, key, c))),
          (sum) => e.store(slopes, e.add(start, key), sum),
        ),
      ),
      sumOver(
        scalar,
        [keys],
        ([key], add) => add(e.mul(at(weights, query, key), at(slopes, query, key))),
        (mean) =>
          e.forLoop('key', 0, keys, (key) =>
            e.store(
              slopes,
              e.add(start, key),
              e.mul(at(weights, query, key), e.sub(at(slopes, query, key), mean)),
            ),
          ),
      ),
    );
  };
  /** `to[row, column]` as the sum over `inner` of a factor and an element of an operand, times `factor`. */
  const product = (
    head: readonly Expr[],
    [to, height, width]: readonly [Sink, Expr, Expr],
    inner: Expr,
    term: (row: Expr, at: Expr, column: Expr) => Expr,
    factor: Expr | null,
  ): Stmt =>
    overAll(
      [height, width],
      ([row, column]) =>
        sumOver(
          scalar,
          [inner],
          ([i], add) => add(term(row, i, column)),
          (sum) => rows.store(to, head, row, column, factor === null ? sum : e.mul(sum, factor)),
        ),
      'serial',
    );
  return overAll(
    g.shape.slice(0, -2),
    (head) =>
      e.block(
        e.forLoop('query', 0, queries, (query) => slopesOf(head, query)),
        product(head, [toQ, queries, size], keys, (query, key, d) =>
          e.mul(at(slopes, query, key), rows.read(k, head, key, d)), scale), // prettier-ignore
        product(head, [toK, keys, size], queries, (key, query, d) =>
          e.mul(at(slopes, query, key), rows.read(q, head, query, d)), scale), // prettier-ignore
        product(head, [toV, keys, channels], queries, (key, query, c) =>
          e.mul(at(weights, query, key), rows.read(g, head, query, c)), null), // prettier-ignore
      ),
    'serial',
    context,
  );
}

/** The weights of single queries. */
class WeightRows {
  readonly scalar: 'f32' | 'f64';
  readonly dtype: 'float32' | 'float64';
  readonly keys: Expr;
  readonly scale: Expr;
  readonly #context: KernelContext<AttentionAttributes>;
  readonly #mask: Access | undefined;

  constructor(context: KernelContext<AttentionAttributes>, mask: Access | undefined) {
    const [q, k] = context.inputs;
    this.scalar = attentionScalar(q);
    this.dtype = wideDType(q.dtype) === 'float64' ? 'float64' : 'float32';
    this.keys = k.shape.at(-2)!;
    this.scale = scoreScale(this.scalar, context.attributes.scale, q.shape.at(-1)!);
    this.#context = context;
    this.#mask = mask;
  }

  read(from: Access, head: readonly Expr[], row: Expr, column: Expr): Expr {
    return e.cast(this.scalar, from.at(headIndex(from.shape, head, row, column)));
  }

  store(to: Sink, head: readonly Expr[], row: Expr, column: Expr, value: Expr): Stmt {
    const element = e.cast(computeScalar(to.dtype), value);
    return to.store(headIndex(to.shape, head, row, column), element);
  }

  /** Stores the weights of all keys from `start` on. */
  fill(head: readonly Expr[], query: Expr, weights: Buffer, start: Expr): Stmt {
    const { scalar, keys } = this;
    const [q, k] = this.#context.inputs;
    const mask = this.#mask;
    const greatest = e.variable('greatest', scalar);
    const score = e.variable('score', scalar);
    const offset = e.variable('offset', scalar);
    const power = e.variable('power', scalar);
    const total = e.variable('total', scalar);
    const isSeen = (key: Expr): Expr | null =>
      this.#context.attributes.causal ? e.le(key, query) : null;
    const weight = (key: Expr): Expr => e.load(weights, e.add(start, key));
    const put = (key: Expr, value: Expr): Stmt => e.store(weights, e.add(start, key), value);
    return e.block(
      e.declare(greatest, e.constant(scalar, -Infinity)),
      e.forLoop('key', 0, keys, (key) =>
        sumOver(
          scalar,
          [q.shape.at(-1)!],
          ([d], add) => add(e.mul(this.read(q, head, query, d), this.read(k, head, key, d))),
          (sum) =>
            e.block(
              e.declare(
                score,
                maskedScore(
                  e.mul(sum, this.scale),
                  mask,
                  () => mask!.at(headIndex(mask!.shape, head, query, key)),
                  isSeen(key),
                ),
              ),
              put(key, score),
              // NaN is not a maximum, but its exponential is NaN, and so is the total.
              e.assign(greatest, greaterNumber(greatest, score)),
            ),
        ),
      ),
      e.declare(offset, e.select(e.eq(greatest, -Infinity), 0, greatest)),
      e.declare(total, e.constant(scalar, 0)),
      e.forLoop('key', 0, keys, (key) =>
        e.block(
          e.declare(power, boundedExponential(e.sub(weight(key), offset))),
          e.assign(total, e.add(total, power)),
          put(key, power),
        ),
      ),
      // A query that sees nothing gives nothing.
      e.assign(total, e.select(e.eq(total, 0), 1, total)),
      e.forLoop('key', 0, keys, (key) => put(key, e.div(weight(key), total))),
    );
  }
}

/** An index into an operand of rank 2 and more, whose leading axes broadcast. */
export function headIndex(
  shape: readonly Expr[],
  head: readonly Expr[],
  row: Expr,
  column: Expr,
): readonly Expr[] {
  const at = [...head, row, column];
  const own = at.slice(at.length - shape.length);
  return shape.map((extent, axis) => (isOne(extent) ? e.i32(0) : own[axis]));
}
