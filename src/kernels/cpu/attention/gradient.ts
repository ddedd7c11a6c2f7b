import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Stmt } from '../../../loop/language/nodes.js';
import { overRange } from '../../../loop/language/team.js';
import type { KernelContext } from '../../../ops/declare/lowering.js';
import type { AttentionAttributes } from '../../../ops/normalization/attention-nests.js';
import { Heads, overTable } from './heads.js';
import { overRow, RowSum, SumTable } from './sums.js';

/** Head by head, so that the sums over all queries of one stay in the cache. */
export function attentionGradientLoops(context: KernelContext<AttentionAttributes>): Stmt {
  const [q, k, v, g, mask] = context.inputs;
  const [toQ, toK, toV] = context.outputs;
  const heads = new Heads(context, g.shape, mask, 2);
  const { rows, stride, queries, keys, size, channels, scale, lanes, scalar } = heads;
  const weights = heads.scratch('weights', rows, stride);
  const slopes = heads.scratch('slopes', rows, stride);
  const sumsQ = context.attributes.causal
    ? new SumTable(heads, 'sumsQ', e.i32(rows), size, keys)
    : null;
  const sumsK = new SumTable(heads, 'sumsK', keys, size, queries);
  const sumsV = new SumTable(heads, 'sumsV', keys, channels, queries);
  const place = (i: Expr, column: Expr): Expr => e.add(e.mul(i, stride), column);

  const toQueries = (head: Expr, begin: Expr, i: Expr, d: Expr, value: Expr): Stmt =>
    heads.store(toQ, head, e.add(begin, i), d, e.mul(value, scale));

  const throughBlock = (head: Expr, begin: Expr, height: Expr): Stmt =>
    e.block(
      heads.overKeys(begin, height, (key, width) =>
        heads.product({
          m: height,
          n: width,
          k: channels,
          a: (i, c) => heads.read(g, head, e.add(begin, i), c),
          b: (c, j) => heads.read(v, head, e.add(key, j), c),
          store: (i, j, value) => e.store(slopes, place(i, e.add(key, j)), value),
        }),
      ),
      heads.weights(head, begin, height, weights, (row, total, seen, end) =>
        throughWeights(row, total, seen, end, heads.seen(begin, height)),
      ),
      sumsQ === null ? e.block() : sumsQ.clear(height),
      heads.overKeys(begin, height, (key, width) =>
        e.block(
          heads.product({
            m: height,
            n: size,
            k: width,
            a: (i, j) => e.load(slopes, place(i, e.add(key, j))),
            b: (j, d) => heads.read(k, head, e.add(key, j), d),
            store: (i, d, value) =>
              sumsQ === null ? toQueries(head, begin, i, d, value) : sumsQ.add(i, d, value),
          }),
          heads.product({
            m: width,
            n: size,
            k: height,
            a: (j, i) => e.load(slopes, place(i, e.add(key, j))),
            b: (i, d) => heads.read(q, head, e.add(begin, i), d),
            store: (j, d, value) => sumsK.add(e.add(key, j), d, value),
          }),
          heads.product({
            m: width,
            n: channels,
            k: height,
            a: (j, i) => e.load(weights, place(i, e.add(key, j))),
            b: (i, c) => heads.read(g, head, e.add(begin, i), c),
            store: (j, c, value) => sumsV.add(e.add(key, j), c, value),
          }),
        ),
      ),
      sumsQ === null
        ? e.block()
        : flushed(height, size, sumsQ, (i, d, value) => toQueries(head, begin, i, d, value)),
    );

  /**
   * Weights of a row divided by their total, and the gradient of their scores. Elements of its last vector
   * for masked keys are neither, regardless of their products.
   */
  const throughWeights = (row: Expr, total: Expr, seen: Expr, end: Expr, reach: Expr): Stmt => {
    const start = e.variable('begin', 'i32');
    const sum = new RowSum(scalar, lanes, keys);
    const mean = e.variable('mean', scalar);
    const divisor = e.variable('divisor', scalar);
    const clear = (table: Buffer, to: Expr): Stmt =>
      e.forLoop('tail', seen, to, (at) => e.store(table, e.add(start, at), e.constant(scalar, 0)));
    return e.block(
      e.declare(start, e.mul(row, stride)),
      e.declare(divisor, total),
      ...sum.begin,
      clear(slopes, end),
      sum.over(start, end, (at, add) => {
        const weight = e.variable('weight', scalar, lanes);
        return e.block(
          e.declare(weight, e.div(e.load(weights, at), divisor)),
          e.store(weights, at, weight),
          add(e.mul(weight, e.load(slopes, at))),
        );
      }),
      ...sum.finish,
      e.declare(mean, sum.total),
      overRow(start, end, lanes, (at) =>
        e.store(slopes, at, e.mul(e.load(weights, at), e.sub(e.load(slopes, at), mean))),
      ),
      clear(weights, end),
      clear(slopes, reach),
    );
  };

  const ofHead = (head: Expr): Stmt =>
    e.block(
      sumsK.clear(keys),
      sumsV.clear(keys),
      e.forLoop(
        'first',
        0,
        queries,
        (first) => heads.stretchOf(first, (height) => throughBlock(head, first, height)),
        { step: rows },
      ),
      flushed(keys, size, sumsK, (j, d, value) =>
        heads.store(toK, head, j, d, e.mul(value, scale)),
      ),
      flushed(keys, channels, sumsV, (j, c, value) => heads.store(toV, head, j, c, value)),
    );
  return overRange(context.isDivided, { begin: e.i32(0), end: heads.count }, 1, ({ begin, end }) =>
    e.forLoop('head', begin, end, ofHead),
  );
}

function flushed(
  rows: Expr,
  columns: Expr,
  from: SumTable,
  store: (row: Expr, column: Expr, value: Expr) => Stmt,
): Stmt {
  return overTable(rows, columns, (row, column) => store(row, column, from.at(row, column)));
}
