import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';
import type { Access, KernelContext } from '../../../ops/declare/lowering.js';
import { greaterNumber } from '../../../ops/reduction/best.js';
import type { AttentionAttributes } from '../../../ops/normalization/attention-nests.js';
import { divisorOf, offsetOf, nothing, power } from './attention.js';
import { type AttentionGroup, overLanes, overTiles, packed } from './group.js';
import { GroupResults, RunningSums, sumOverColumns } from './sums.js';
import { heightOf, type HeadWidths, type ScoreTile, type TileWork } from './tile.js';

/*
 * The gradients of attention by workgroups, in three dispatches, none of which adds what another workgroup has: of each
 * query what its weights are made of, gradients of queries by tiles of queries, and those of keys and values by tiles of
 * keys. The weights are computed again in each.
 */

/** Numbers of a query: what is subtracted from its scores, the sum of their powers, and the mean of the slopes. */
export const statisticsOfQuery = 3;

type Context = KernelContext<AttentionAttributes>;

/** Loops of a dispatch for tiles of its rows. */
export interface GradientStepNest {
  /** Its products: of queries and keys, and of gradients and values, first. */
  readonly work: (widths: HeadWidths) => TileWork;
  /** True where its rows are keys. */
  readonly isOfKeys: boolean;
  nest(context: Context, work: TileWork, tile: ScoreTile): Stmt;
}

/** Inputs q, k, v, g, and a mask if there is one: `[..., queries, statisticsOfQuery]`. */
export const statisticsStep: GradientStepNest = {
  work: ({ size, channels }) => ({ scores: [size, channels], results: [] }),
  isOfKeys: false,
  nest(context, work, tile) {
    const [q, k, , g, mask] = context.inputs;
    const [out] = context.outputs;
    const { causal } = context.attributes;
    const [queries, keys] = [q, k].map(({ shape }) => shape.at(-2)!);
    return overTiles(context, g.shape, queries, { tile, work, mask, isReversed: causal }, (group) => {
      const [top, next, factor] = ['top', 'next', 'factor'].map((name) => e.variable(name, 'f32', lanes));
      const [scores, powers] = ['score', 'power'].map((name) => group.locals(name, lanes));
      const [total, slope] = ['total', 'slope'].map((name) => new RunningSums(name, keys));
      const sumOf = (vectors: readonly Expr[]): Expr => packed(vectors.map((vector) => overLanes(vector, e.add)));
      const body = (from: Expr): Stmt => {
        const { product, upward, statements } = productsOf(context, group, work, from, false);
        const score = (row: number): Expr => group.score(product[row], group.row(row), group.columns(from));
        return e.block(
          ...statements,
          ...scores.map((local, row) => e.declare(local, score(row))),
          // NaN is not a maximum, but its exponential is NaN, and so is the total.
          e.declare(next, greaterNumber(top, packed(scores.map((local) => overLanes(local, greaterNumber))))),
          e.declare(factor, power(top, offsetOf(next))),
          e.assign(top, next),
          ...powers.map((local, row) => e.declare(local, power(scores[row], offsetOf(e.extract(next, row))))),
          ...total.scale(factor),
          ...slope.scale(factor),
          total.add(sumOf(powers)),
          slope.add(sumOf(powers.map((local, row) => e.mul(local, upward[row])))),
        );
      };
      const all = group.joinRows('all', top, greaterNumber);
      const own = (sum: RunningSums): Expr => e.mul(sum.result, power(top, all.joined));
      const divisor = group.joinRows('divisor', own(total), e.add);
      const mean = group.joinRows('mean', own(slope), e.add);
      return e.block(
        e.declare(top, nothing),
        ...total.begin,
        ...slope.begin,
        group.overColumns(e.i32(0), endOf(context, group), body),
        ...all.statements,
        e.assign(all.joined, offsetOf(all.joined)),
        ...divisor.statements,
        e.assign(divisor.joined, divisorOf(divisor.joined)),
        ...mean.statements,
        e.assign(mean.joined, e.div(mean.joined, divisor.joined)),
        ...group.perRow((row) => {
          const numbers = [all, divisor, mean].map(({ joined }) => e.extract(joined, row));
          const stores = numbers.map((number, i) => group.store(out, group.row(row), e.i32(i), number));
          return e.ifThen(e.and(e.eq(group.x, 0), group.hasRow(row)), e.block(...stores));
        }),
      );
    });
  }, // prettier-ignore
};

/** Inputs q, k, v, g, the statistics, and a mask if there is one. */
export const queryGradientStep: GradientStepNest = {
  work: ({ size, channels }) => ({ scores: [size, channels], results: [size] }),
  isOfKeys: false,
  nest(context, work, tile) {
    const [q, k, , g, statistics, mask] = context.inputs;
    const [out] = context.outputs;
    const { causal } = context.attributes;
    const [queries, keys] = [q, k].map(({ shape }) => shape.at(-2)!);
    return overTiles(context, g.shape, queries, { tile, work, mask, isReversed: causal }, (group) => {
      const results = new GroupResults(group, 'sum', k, work.scores[0]);
      const own = group.perRow((row) => new QueryWeights(group, `${row}`, statistics, group.rowThere(row)));
      const body = (from: Expr): Stmt => {
        const { product, upward, statements } = productsOf(context, group, work, from, false);
        const slope = (row: number): Expr => {
          const score = group.score(product[row], group.row(row), group.columns(from));
          return own[row].slope(own[row].weight(score), upward[row]);
        };
        return e.block(...statements, ...group.perRow((row) => group.put(row, slope(row))), results.add(from));
      };
      const range = { begin: e.i32(0), end: endOf(context, group), extent: keys };
      return e.block(
        ...own.flatMap(({ begin }) => begin),
        ...sumOverColumns(group, [results], range, body),
        results.store(out, (sum) => e.mul(sum, group.scale)),
      );
    });
  }, // prettier-ignore
};

/** Inputs q, k, v, g, the statistics, and a mask if there is one. Results: the gradients of keys and of values. */
export const keyGradientStep: GradientStepNest = {
  work: ({ size, channels }) => ({ scores: [size, channels], results: [size, channels] }),
  isOfKeys: true,
  nest(context, work, tile) {
    const [q, k, , g, statistics, mask] = context.inputs;
    const [toKeys, toValues] = context.outputs;
    const { causal } = context.attributes;
    const [queries, keys] = [q, k].map(({ shape }) => shape.at(-2)!);
    const [size, channels] = work.results;
    return overTiles(context, g.shape, keys, { tile, work, mask, isReversed: false }, (group) => {
      const ofKeys = new GroupResults(group, 'key', q, size);
      const ofValues = new GroupResults(group, 'value', g, channels);
      const weights = group.locals('weight', lanes);
      const body = (from: Expr): Stmt => {
        const { product, upward, statements } = productsOf(context, group, work, from, true);
        const query = group.columns(from);
        const own = new QueryWeights(group, '', statistics, e.min(query, e.sub(queries, 1)));
        const weight = (row: number): Expr => {
          const value = own.weight(group.score(product[row], query, group.row(row)));
          return e.select(e.lt(query, queries), value, e.constant('f32', 0));
        };
        return e.block(
          ...statements,
          ...own.begin,
          ...weights.map((local, row) => e.declare(local, weight(row))),
          ...weights.map((local, row) => group.put(row, local)),
          ofValues.add(from),
          ...weights.map((local, row) => group.put(row, own.slope(local, upward[row]))),
          ofKeys.add(from),
        );
      };
      // Queries before a key do not see it.
      const range = { begin: causal ? group.first : e.i32(0), end: queries, extent: queries };
      return e.block(
        ...sumOverColumns(group, [ofKeys, ofValues], range, body),
        ofKeys.store(toKeys, (sum) => e.mul(sum, group.scale)),
        ofValues.store(toValues),
      );
    });
  },
};

/** The end of the keys that a tile of queries sees. */
function endOf({ attributes, inputs }: Context, group: AttentionGroup): Expr {
  const keys = inputs[1].shape.at(-2)!;
  return attributes.causal ? e.min(keys, e.add(group.first, heightOf(group.tile))) : keys;
}

/** Products of queries and keys, and of gradients and values, of which one side are the rows of the workgroup. */
function productsOf(
  { inputs: [q, k, v, g] }: Context,
  group: AttentionGroup,
  { scores: [size, channels] }: TileWork,
  from: Expr,
  isOfKeys: boolean,
): {
  readonly product: readonly Var[];
  readonly upward: readonly Var[];
  readonly statements: readonly Stmt[];
} {
  const of = (
    name: string,
    left: Access,
    right: Access,
    width: number,
  ): ReturnType<typeof group.products> =>
    isOfKeys
      ? group.products(name, right, left, width, from)
      : group.products(name, left, right, width, from);
  const [product, upward] = [of('product', q, k, size), of('upward', g, v, channels)];
  return {
    product: product.values,
    upward: upward.values,
    statements: [...product.statements, ...upward.statements],
  };
}

/** The weights of the keys of queries, a query or a vector of them, from what is known of these. */
class QueryWeights {
  readonly begin: readonly Stmt[];
  readonly #offset: Var;
  readonly #total: Var;
  readonly #mean: Var;

  constructor(group: AttentionGroup, name: string, statistics: Access, query: Expr) {
    const locals = ['offset', 'total', 'mean'].map((each) =>
      e.variable(`${each}${name}`, 'f32', query.type.lanes),
    );
    [this.#offset, this.#total, this.#mean] = locals;
    this.begin = locals.map((local, k) => {
      const numbers = group.read(statistics, query, e.i32(k));
      return e.declare(local, e.broadcast(numbers, query.type.lanes));
    });
  }

  weight(score: Expr): Expr {
    return e.div(power(score, this.#offset), this.#total);
  }

  /** The gradient of a score of some weight. */
  slope(weight: Expr, upward: Expr): Expr {
    return e.mul(weight, e.sub(upward, this.#mean));
  }
}
