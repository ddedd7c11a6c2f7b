import type { DType } from '../../../base/dtype.js';
import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Stmt } from '../../../loop/language/nodes.js';
import { overRange } from '../../../loop/language/team.js';
import { contract, type Contraction } from '../product/contract.js';
import { unravel, volume } from '../../../ops/contraction/unravel.js';
import { boundedExponential } from '../../../ops/elementwise/expressions/exponential.js';
import { wideDType } from '../../../ops/loops.js';
import {
  type Access,
  computeScalar,
  type KernelContext,
  type Sink,
} from '../../../ops/declare/lowering.js';
import {
  type AttentionAttributes,
  attentionScalar,
  headIndex,
  maskedScore,
  scoreScale,
} from '../../../ops/normalization/attention-nests.js';
import { greaterNumber } from '../../../ops/reduction/best.js';
import { lanesIn, overRow, RowSum } from './sums.js';

/*
 * Attention by blocks of queries: their scores against all keys lie in memory of one block, become weights
 * there, and are used at once, so that the matrix of all scores exists nowhere (after Dao et al.,
 * FlashAttention, 2022). A block of scores fits the cache of one core, so weights need no running maximum.
 */

/** Limits of the queries whose scores are computed together. */
const leastRows = 16;
const mostRows = 128;
/** As many scores as the cache of a core holds. */
const mostScores = 2 ** 17;
/** Keys that a causal block skips together. */
const blockKeys = 64;

/** The operands of attention, one head (an entry of the batch) at a time. */
export class Heads {
  readonly context: KernelContext<AttentionAttributes>;
  readonly scalar: 'f32' | 'f64';
  readonly dtype: DType;
  /** Number of heads. */
  readonly count: Expr;
  readonly queries: Expr;
  readonly keys: Expr;
  readonly size: Expr;
  readonly channels: Expr;
  /** Rows of a block. */
  readonly rows: number;
  /** Number of blocks of a head. */
  readonly blocks: Expr;
  /** The distance of two rows of scores: whole vectors. */
  readonly stride: Expr;
  readonly lanes: number;
  readonly #outer: readonly Expr[];
  readonly #mask: Access | undefined;

  /**
   * `mask` is the mask operand, if there is one; `rows` the shape of an array with all of the batch; `tables`
   * the number of arrays of the size of a block's scores.
   */
  constructor(
    context: KernelContext<AttentionAttributes>,
    rows: readonly Expr[],
    mask: Access | undefined,
    tables: number,
  ) {
    const [q, k, v] = context.inputs;
    this.context = context;
    this.dtype = wideDType(q.dtype);
    this.scalar = attentionScalar(q);
    this.#outer = rows.slice(0, -2);
    this.#mask = mask;
    this.count = volume(this.#outer);
    this.queries = q.shape.at(-2)!;
    this.size = q.shape.at(-1)!;
    this.keys = k.shape.at(-2)!;
    this.channels = v.shape.at(-1)!;
    this.rows = rowsOf(known(this.queries), known(this.keys), tables);
    this.blocks = e.div(e.add(this.queries, this.rows - 1), this.rows);
    this.lanes = context.target.vectorBytes / e.scalarBytes(this.scalar);
    this.stride = e.mul(e.div(e.add(this.keys, this.lanes - 1), this.lanes), this.lanes);
  }

  scratch(name: string, ...extents: readonly (Expr | number)[]): Buffer {
    const length = extents.reduce<Expr>((size, extent) => e.mul(size, extent), e.i32(1));
    return this.context.scratch(name, this.dtype, length);
  }

  /** An element of an operand in the type of sums. */
  read(from: Access, head: Expr, row: Expr, column: Expr): Expr {
    return e.cast(this.scalar, from.at(this.#index(from.shape, head, row, column)));
  }

  store(to: Sink, head: Expr, row: Expr, column: Expr, value: Expr): Stmt {
    return to.store(
      this.#index(to.shape, head, row, column),
      e.cast(computeScalar(to.dtype), value),
    );
  }

  #index(shape: readonly Expr[], head: Expr, row: Expr, column: Expr): readonly Expr[] {
    return headIndex(shape, unravel(head, this.#outer), row, column);
  }

  /** Products of one head. */
  product(
    spec: Omit<Contraction, 'context' | 'scalar' | 'batch' | 'a' | 'b' | 'store'> & Product,
  ): Stmt {
    const { target, scratch } = this.context;
    return contract({
      ...spec,
      context: { target, scratch, isDivided: false },
      scalar: this.scalar,
      batch: e.i32(1),
      a: (_, i, k) => spec.a(i, k),
      b: (_, k, j) => spec.b(k, j),
      store: (_, i, j, value) => spec.store(i, j, value),
    });
  }

  /** The scale of scores. */
  get scale(): Expr {
    return scoreScale(this.scalar, this.context.attributes.scale, this.size);
  }

  /** Every block of queries of all heads, divided among threads: `body` gets where it begins, and its height. */
  overBlocks(body: (head: Expr, begin: Expr, height: Expr) => Stmt): Stmt {
    const all = { begin: e.i32(0), end: e.mul(this.count, this.blocks) };
    return overRange(this.context.isDivided, all, 1, ({ begin, end }) =>
      e.forLoop('block', begin, end, (block) => {
        const head = e.div(block, e.max(this.blocks, 1));
        const first = e.mul(e.rem(block, e.max(this.blocks, 1)), this.rows);
        return this.stretchOf(first, (height) => body(head, first, height));
      }),
    );
  }

  /** Height of the block of queries at an index. */
  stretchOf(begin: Expr, body: (height: Expr) => Stmt): Stmt {
    return stretch(begin, this.rows, this.queries, body);
  }

  /** The keys that a block of queries may attend to, all at once or, when causal, in ranges. */
  overKeys(begin: Expr, height: Expr, body: (key: Expr, width: Expr) => Stmt): Stmt {
    if (!this.context.attributes.causal) return body(e.i32(0), this.keys);
    return e.forLoop(
      'key',
      0,
      e.min(this.keys, e.add(begin, height)),
      (key) => stretch(key, blockKeys, this.keys, (width) => body(key, width)),
      { step: blockKeys },
    );
  }

  /** End of the keys that `overKeys` visits, in whole vectors. */
  seen(begin: Expr, height: Expr): Expr {
    if (!this.context.attributes.causal) return this.stride;
    const end = e.mul(e.div(e.add(e.add(begin, height), blockKeys - 1), blockKeys), blockKeys);
    return e.min(end, this.stride);
  }

  /**
   * The weights of a block of queries, before they are divided by their totals: rows of `stride` elements,
   * zero beyond the keys. `finish` gets a row, its total (1 for a fully masked query), the number of its keys
   * unless a mask hides some, and these in whole vectors.
   */
  weights(
    head: Expr,
    begin: Expr,
    height: Expr,
    scores: Buffer,
    finish: (row: Expr, total: Expr, seen: Expr, end: Expr) => Stmt,
  ): Stmt {
    const [q, k] = this.context.inputs;
    const { scale } = this;
    return e.block(
      this.overKeys(begin, height, (key, width) =>
        this.product({
          m: height,
          n: width,
          k: this.size,
          a: (i, d) => this.read(q, head, e.add(begin, i), d),
          b: (d, j) => this.read(k, head, e.add(key, j), d),
          store: (i, j, value) => {
            const [row, column] = [e.add(begin, i), e.add(key, j)];
            const score = this.#masked(head, row, column, e.mul(value, scale));
            return e.store(scores, e.add(e.mul(i, this.stride), column), score);
          },
        }),
      ),
      e.forLoop('row', 0, height, (row) => this.#powers(begin, height, row, scores, finish)),
    );
  }

  #masked(head: Expr, row: Expr, column: Expr, score: Expr): Expr {
    const mask = this.#mask;
    return maskedScore(
      score,
      mask,
      () => mask!.at(this.#index(mask!.shape, head, row, column)),
      this.context.attributes.causal ? e.le(column, row) : null,
    );
  }

  /** Replaces one row of scores by exponentials, whose sum is the total. */
  #powers(
    begin: Expr,
    height: Expr,
    row: Expr,
    scores: Buffer,
    finish: (row: Expr, total: Expr, seen: Expr, end: Expr) => Stmt,
  ): Stmt {
    const { lanes, scalar, stride, keys } = this;
    const start = e.variable('start', 'i32');
    const end = e.variable('end', 'i32');
    const greatest = e.variable('greatest', scalar, lanes);
    const offset = e.variable('offset', scalar);
    const sum = new RowSum(scalar, lanes, keys);
    const total = e.variable('total', scalar);
    const seen = this.context.attributes.causal ? e.min(keys, e.add(e.add(begin, row), 1)) : keys;
    const fill = (from: Expr, to: Expr, value: number): Stmt =>
      e.forLoop('at', from, to, (at) =>
        e.store(scores, e.add(start, at), e.constant(scalar, value)),
      );
    // NaN is not a maximum, but its exponential is NaN, and so is the total.
    const most = lanesIn(greatest).reduce(greaterNumber);
    return e.block(
      e.declare(start, e.mul(row, stride)),
      e.declare(end, e.mul(e.div(e.add(seen, lanes - 1), lanes), lanes)),
      e.ifThen(e.gt(end, keys), fill(keys, end, -Infinity)),
      e.declare(greatest, e.constant(scalar, -Infinity, lanes)),
      overRow(start, end, lanes, (at) =>
        e.assign(greatest, greaterNumber(greatest, e.load(scores, at))),
      ),
      e.declare(offset, e.select(e.eq(most, -Infinity), 0, most)),
      ...sum.begin,
      sum.over(start, end, (at, add) => {
        const power = e.variable('power', scalar, lanes);
        return e.block(
          e.declare(power, boundedExponential(e.sub(e.load(scores, at), offset))),
          add(power),
          e.store(scores, at, power),
        );
      }),
      fill(end, this.seen(begin, height), 0),
      ...sum.finish,
      e.declare(total, sum.total),
      finish(row, e.select(e.eq(total, 0), 1, total), seen, end),
    );
  }
}

/** The elements of a product in one head. */
interface Product {
  a(i: Expr, k: Expr): Expr;
  b(k: Expr, j: Expr): Expr;
  store(i: Expr, j: Expr, value: Expr): Stmt;
}

/** `size` elements from `begin`, or as many as there are. */
function stretch(begin: Expr, size: number, extent: Expr, body: (width: Expr) => Stmt): Stmt {
  const length = known(extent);
  if (length !== null && length % size === 0) return body(e.i32(size));
  const rest = e.sub(extent, e.mul(e.div(extent, size), size));
  const last = length === null ? rest : e.i32(length % size);
  if (length !== null && length < size) return body(last);
  return e.ifThen(e.le(e.add(begin, size), extent), body(e.i32(size)), body(last));
}

/** Number of queries in a block; powers of two, unless all of them are fewer. */
function rowsOf(queries: number | null, keys: number | null, tables: number): number {
  let rows = mostRows;
  while (rows > leastRows && rows * (keys ?? 1024) * tables > mostScores) rows /= 2;
  return Math.max(1, Math.min(rows, queries ?? rows));
}

function known(size: Expr): number | null {
  return size.kind === 'const' ? Number(size.value) : null;
}

export function overTable(
  rows: Expr,
  columns: Expr,
  body: (row: Expr, column: Expr) => Stmt,
): Stmt {
  return e.forLoop('row', 0, rows, (row) =>
    e.forLoop('column', 0, columns, (column) => body(row, column), { mode: 'vector' }),
  );
}
