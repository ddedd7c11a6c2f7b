import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import type { Access, KernelContext } from '../../../ops/declare/lowering.js';
import { boundedExponential } from '../../../ops/elementwise/expressions/exponential.js';
import { greaterNumber } from '../../../ops/reduction/best.js';
import type { AttentionAttributes } from '../../../ops/normalization/attention-nests.js';
import {
  AttentionTile,
  type HeadWidths,
  type TileRows,
  RunningSum,
  type TileMemory,
  type TileSide,
} from './tiles.js';

/*
 * The gradients of attention by workgroups, in three dispatches, none of which adds what another workgroup has: of each
 * query what its weights are made of, gradients of queries by tiles of queries, and those of keys and values by tiles of
 * keys. The weights are computed again in each.
 */

/** Memory of the largest of the three kernels. */
export const gradientMemory: TileMemory = { sizes: 1, channels: 1, tables: 2 };

/** Numbers of a query: what is subtracted from its scores, the sum of their powers, and the mean of the slopes. */
export const statisticsOfQuery = 3;

type Context = KernelContext<AttentionAttributes>;

/** Inputs q, k, v, g, and a mask if there is one: `[..., queries, statisticsOfQuery]`. */
export function statisticsNest(context: Context, widths: HeadWidths, side: TileSide): Stmt {
  const [q, k, v, g, mask] = context.inputs;
  const [out] = context.outputs;
  const tile = new AttentionTile(context, g.shape, mask, widths, side);
  const [queries, keys] = [q.shape.at(-2)!, k.shape.at(-2)!];
  const rows = new QueryRows(tile, q, g);
  const [tops, sums] = ['tops', 'sums'].map((name) => tile.table(name));
  const { scalar } = tile;
  return tile.over(queries, (first) => {
    const { row, column } = tile;
    const query = e.variable('query', 'i32');
    const [top, next, offset, factor, power, score] = ['top', 'next', 'offset', 'factor', 'power', 'score'].map((name) => e.variable(name, scalar)); // prettier-ignore
    const [total, slope] = ['total', 'slope'].map((name) => new RunningSum(name, scalar, keys));
    const zeroed = (x: Expr): Expr => e.select(e.eq(x, -Infinity), e.constant(scalar, 0), x);
    const read = (table: TileRows, other: Expr): Expr =>
      e.load(table.buffer, e.add(e.mul(row, table.stride), other));
    /** The sum over the invocations of the row of what they have summed, in order. */
    const joined = (
      name: string,
      sum: RunningSum,
    ): { readonly value: Var; readonly statements: readonly Stmt[] } => {
      // prettier-ignore
      const value = e.variable(name, scalar);
      const loop = e.forLoop('other', 0, side, (other) =>
        e.assign(value, e.add(value, read(sums, other))),
      );
      const own = e.mul(sum.result, boundedExponential(e.sub(top, offset)));
      return {
        value,
        statements: [
          tile.put(sums, own),
          e.workgroupBarrier,
          e.declare(value, e.constant(scalar, 0)),
          loop,
          e.workgroupBarrier,
        ],
      };
    };
    const [all, mean] = [joined('all', total), joined('mean', slope)];
    const divisor = e.select(e.eq(all.value, 0), e.constant(scalar, 1), all.value);
    const results = [offset, divisor, e.div(mean.value, divisor)];
    return e.block(
      e.declare(query, e.add(first, row)),
      e.declare(top, e.constant(scalar, -Infinity)),
      ...total.begin,
      ...slope.begin,
      rows.fill(first),
      rows.overKeys(context, first, k, v, (key, product, upward) =>
        e.block(
          e.declare(score, tile.score(product, lastOf(query, queries), e.add(key, column))),
          // NaN is not a maximum, but its exponential is NaN, and so is the total.
          e.declare(next, greaterNumber(top, score)),
          e.declare(factor, boundedExponential(e.sub(top, zeroed(next)))),
          e.declare(power, boundedExponential(e.sub(score, zeroed(next)))),
          e.assign(top, next),
          ...total.scale(factor),
          ...slope.scale(factor),
          total.add(power),
          slope.add(e.mul(power, upward)),
          e.workgroupBarrier,
        ),
      ),
      tile.put(tops, top),
      e.workgroupBarrier,
      e.declare(offset, e.constant(scalar, -Infinity)),
      e.forLoop('other', 0, side, (other) => {
        const each = e.variable('each', scalar);
        return e.block(
          e.declare(each, read(tops, other)),
          e.assign(offset, e.select(e.lt(offset, each), each, offset)),
        );
      }),
      e.assign(offset, zeroed(offset)),
      ...all.statements,
      ...mean.statements,
      e.ifThen(
        e.and(e.eq(column, 0), e.lt(query, queries)),
        e.block(...results.map((result, k) => tile.store(out, query, e.i32(k), result))),
      ),
    );
  });
}

/** Inputs q, k, v, g, the statistics, and a mask if there is one. */
export function queryGradientNest(context: Context, widths: HeadWidths, side: TileSide): Stmt {
  const [q, k, v, g, statistics, mask] = context.inputs;
  const [out] = context.outputs;
  const tile = new AttentionTile(context, g.shape, mask, widths, side);
  const [queries, keys] = [q.shape.at(-2)!, k.shape.at(-2)!];
  const rows = new QueryRows(tile, q, g);
  const slopes = tile.table('slopes');
  const sums = tile.sums('sum', widths.size, keys);
  return tile.over(queries, (first) => {
    const query = e.variable('query', 'i32');
    const seen = lastOf(query, queries);
    const own = new QueryWeights(tile, statistics, seen);
    return e.block(
      e.declare(query, e.add(first, tile.row)),
      ...own.begin,
      ...sums.begin,
      rows.fill(first),
      rows.overKeys(context, first, k, v, (key, product, upward) => {
        const score = tile.score(product, seen, e.add(key, tile.column));
        return e.block(
          tile.put(slopes, e.mul(own.weight(score), e.sub(upward, own.mean))),
          e.workgroupBarrier,
          sums.addProduct(slopes, rows.panel),
          e.workgroupBarrier,
        );
      }),
      sums.store(out, query, queries, (sum) => e.mul(sum, tile.scale)),
    );
  });
}

/** Inputs q, k, v, g, the statistics, and a mask if there is one. Results: the gradients of keys and of values. */
export function keyGradientNest(context: Context, widths: HeadWidths, side: TileSide): Stmt {
  const [q, k, v, g, statistics, mask] = context.inputs;
  const [toKeys, toValues] = context.outputs;
  const { size, channels } = widths;
  const tile = new AttentionTile(context, g.shape, mask, widths, side);
  const [queries, keys] = [q.shape.at(-2)!, k.shape.at(-2)!];
  const [ownKeys, ownValues] = [tile.rows('keys', size), tile.rows('values', channels)];
  const panel = tile.rows('panel', Math.max(size, channels), true);
  const [weights, slopes] = ['weights', 'slopes'].map((name) => tile.table(name));
  const keySums = tile.sums('key', size, queries);
  const valueSums = tile.sums('value', channels, queries);
  return tile.over(keys, (first) => {
    const { row, column, scalar } = tile;
    const [query, weight] = [e.variable('query', 'i32'), e.variable('weight', scalar)];
    const key = e.add(first, row);
    const seen = lastOf(query, queries);
    const own = new QueryWeights(tile, statistics, seen);
    const product = tile.dot('product', ownKeys, panel, size);
    const upward = tile.dot('upward', ownValues, panel, channels);
    const zero = e.constant(scalar, 0);
    // Queries before a key do not see it.
    const begin = context.attributes.causal ? first : e.i32(0);
    return e.block(
      ...keySums.begin,
      ...valueSums.begin,
      tile.fill(ownKeys, k, first, size),
      tile.fill(ownValues, v, first, channels),
      e.forLoop(
        'from',
        begin,
        queries,
        (from) =>
          e.block(
            e.declare(query, e.add(from, column)),
            ...own.begin,
            tile.fill(panel, q, from, size),
            e.workgroupBarrier,
            ...product.statements,
            e.declare(weight, own.weight(tile.score(product.value, seen, key))),
            e.assign(weight, e.select(e.lt(query, queries), weight, zero)),
            tile.put(weights, weight),
            e.workgroupBarrier,
            tile.fill(panel, g, from, channels),
            e.workgroupBarrier,
            ...upward.statements,
            tile.put(slopes, e.mul(weight, e.sub(upward.value, own.mean))),
            valueSums.addProduct(weights, panel),
            e.workgroupBarrier,
            tile.fill(panel, q, from, size),
            e.workgroupBarrier,
            keySums.addProduct(slopes, panel),
            e.workgroupBarrier,
          ),
        { step: side },
      ),
      keySums.store(toKeys, key, keys, (sum) => e.mul(sum, tile.scale)),
      valueSums.store(toValues, key, keys, (sum) => sum),
    );
  });
}

/** A row, or the last one there is. */
function lastOf(row: Expr, extent: Expr): Expr {
  return e.min(row, e.sub(extent, 1));
}

/** A tile of queries and of the gradients of their results, and a panel for keys and values. */
class QueryRows {
  readonly panel: TileRows;
  readonly #tile: AttentionTile;
  readonly #q: Access;
  readonly #g: Access;
  readonly #queries: TileRows;
  readonly #gradients: TileRows;

  constructor(tile: AttentionTile, q: Access, g: Access) {
    const { size, channels } = tile.widths;
    this.#tile = tile;
    this.#q = q;
    this.#g = g;
    this.#queries = tile.rows('queries', size);
    this.#gradients = tile.rows('gradients', channels);
    this.panel = tile.rows('panel', Math.max(size, channels), true);
  }

  fill(first: Expr): Stmt {
    const { size, channels } = this.#tile.widths;
    return e.block(
      this.#tile.fill(this.#queries, this.#q, first, size),
      this.#tile.fill(this.#gradients, this.#g, first, channels),
    );
  }

  /**
   * Every tile of keys that a tile of queries sees: `body` gets the first key, the product of query and key, and that
   * of gradient and value, and ends with a barrier. The keys are in the panel.
   */
  overKeys(
    { attributes: { causal } }: Context,
    first: Expr,
    k: Access,
    v: Access,
    body: (key: Expr, product: Expr, upward: Expr) => Stmt,
  ): Stmt {
    const tile = this.#tile;
    const { size, channels } = tile.widths;
    const keys = k.shape.at(-2)!;
    const upward = tile.dot('upward', this.#gradients, this.panel, channels);
    const product = tile.dot('product', this.#queries, this.panel, size);
    const end = causal ? e.min(keys, e.add(first, tile.side)) : keys;
    return e.forLoop(
      'key',
      0,
      end,
      (key) =>
        e.block(
          tile.fill(this.panel, v, key, channels),
          e.workgroupBarrier,
          ...upward.statements,
          e.workgroupBarrier,
          tile.fill(this.panel, k, key, size),
          e.workgroupBarrier,
          ...product.statements,
          body(key, product.value, upward.value),
        ),
      { step: tile.side },
    );
  }
}

/** The weights of the keys of a query, from what is known of it. */
class QueryWeights {
  readonly begin: readonly Stmt[];
  readonly mean: Var;
  readonly #offset: Var;
  readonly #total: Var;

  constructor(tile: AttentionTile, statistics: Access, query: Expr) {
    const locals = ['offset', 'total', 'mean'].map((name) => e.variable(name, tile.scalar));
    [this.#offset, this.#total, this.mean] = locals;
    this.begin = locals.map((local, k) => e.declare(local, tile.read(statistics, query, e.i32(k))));
  }

  weight(score: Expr): Expr {
    return e.div(boundedExponential(e.sub(score, this.#offset)), this.#total);
  }
}
