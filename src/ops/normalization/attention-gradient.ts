import * as attr from '../../base/attributes/attribute.js';
import { sameShape } from '../../base/dim/index.js';
import { ShapeError } from '../../base/errors.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Buffer, Expr, Stmt } from '../../loop/language/nodes.js';
import { shareOf } from '../../loop/language/team.js';
import { matmul } from '../contraction/matmul.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { add, mul, sub } from '../elementwise/arithmetic.js';
import { shapeToString } from '../declare/infer.js';
import type { KernelContext } from '../declare/lowering.js';
import { swapaxes } from '../movement/transpose.js';
import { broadcastTo, sum, sumTo } from '../reduction/sum.js';
import { type AttentionAttributes, Heads, overTable } from './attention-loops.js';
import { overRow, RowSum, SumTable } from './attention-sums.js';
import { attentionDTypes, attentionShape } from './attention-types.js';
import { scaleOf, weightsOf } from './attention-weights.js';

export interface AttentionGradients<T> {
  readonly q: T;
  readonly k: T;
  readonly v: T;
}

/**
 * @internal The gradients of queries, keys and values for the gradient `g` of `attention`, each with all the leading
 * axes of `g`. The weights are computed again, by blocks of queries like those of attention.
 */
export const attentionGradient: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    q: Input<T>,
    k: Input<T>,
    v: Input<T>,
    g: Input<T>,
    mask: Input<T> | null,
    options: AttentionAttributes,
  ) => AttentionGradients<T>,
  false
> = operator({
  name: 'attentionGradient',
  options: { at: 5, names: ['causal', 'scale'] },
  family: 'normalization',
  attributes: { causal: attr.bool, scale: attr.optional(attr.number) },
  results: ['q', 'k', 'v'],
  method: false,
  operands: ([q, k, v, g, ...masks]) => attentionDTypes([q, k, v, g], masks),
  call: (q, k, v, g, mask, { causal, scale }) => ({
    inputs: mask === null ? [q, k, v, g] : [q, k, v, g, mask],
    attributes: { causal, scale },
  }),
  infer: ({ inputs: [q, k, v, g, mask], require }) => {
    const op = 'attentionGradient';
    const result = attentionShape(op, q, k, v, mask, require);
    if (!sameShape(g.shape, result)) {
      throw new ShapeError('the gradient is not that of the result', {
        op,
        expected: shapeToString(result),
        actual: shapeToString(g.shape),
      });
    }
    return [q, k, v].map(({ dtype, shape }) => ({
      dtype,
      shape: [...g.shape.slice(0, -2), ...shape.slice(-2)],
    }));
  },
  gradient: ({ inputs: [q, k, v, g, mask], grads, needs, attributes: options }) => {
    const scale = scaleOf(q, options.scale);
    const turned = <T extends Tensor>(x: T): T => swapaxes(x, -1, -2);
    const total = (like: typeof q, ...parts: readonly (typeof q | null)[]): typeof q | null => {
      const there = parts.filter((part) => part !== null);
      return there.length === 0 ? null : sumTo(there.reduce(add), like.type.shape);
    };
    const [ofQ, ofK, ofV] = grads;
    const weights = weightsOf(q, k, mask, options);
    // The gradients of q and k are products with that of the scores, which is the weights times how far
    // those of the weights are from their mean. Differences from means come first, and are weighed before
    // they meet: where all the weight is on one key they are zero, however large what they are made of.
    const centered = (x: typeof q): typeof q => sub(x, alongRows(x, weights));
    const ofWeights = centered(matmul(g, turned(v)));
    const ofScores = mul(weights, ofWeights);
    const terms = [
      ofQ === null ? null : matmul(ofQ, turned(k)),
      ofK === null ? null : matmul(q, turned(ofK)),
    ].filter((term) => term !== null);
    const toScores =
      terms.length === 0 ? null : mul(weights, centered(mul(terms.reduce(add), scale)));
    const both = toScores === null ? null : mul(toScores, ofWeights);
    const again = [
      ofV === null ? null : mul(weights, centered(matmul(g, turned(ofV)))),
      both === null ? null : sub(both, mul(weights, sum(both, -1, { keepdims: true }))),
    ]
      .filter((part) => part !== null)
      .reduce(add);
    return [
      needs[0]
        ? total(q, mul(matmul(again, k), scale), ofK && mul(matmul(ofScores, ofK), scale))
        : null,
      needs[1]
        ? total(
            k,
            mul(matmul(turned(again), q), scale),
            ofQ && mul(matmul(turned(ofScores), ofQ), scale),
          )
        : null,
      needs[2] ? total(v, toScores && matmul(turned(toScores), g)) : null,
      needs[3] ? total(g, ofV && matmul(weights, ofV), toScores && matmul(toScores, v)) : null,
      ...(mask === undefined
        ? []
        : [needs[4] && mask.type.dtype !== 'bool' ? total(mask, again) : null]),
    ];
  },
  precision: 'float32',
  lowering: { kind: 'kernel', kernel: gradientLoops, readsAnyOrder: true, divides: true },
  onnx: {
    composed: ({ inputs: [q, k, v, g, mask], outputTypes, attributes }) => {
      const weights = weightsOf(q, k, mask, attributes);
      const upstream = matmul(g, swapaxes(v, -1, -2));
      const scores = mul(weights, sub(upstream, alongRows(upstream, weights)));
      const scaled = mul(scores, scaleOf(q, attributes.scale));
      const grads = [
        matmul(scaled, k),
        matmul(swapaxes(scaled, -1, -2), q),
        matmul(swapaxes(weights, -1, -2), g),
      ];
      return grads.map((grad, i) => broadcastTo(grad, outputTypes[i].shape));
    },
  },
  samples: [
    {
      args: [
        tensor(['q', 4]),
        tensor(['k', 4]),
        tensor(['k', 3]),
        tensor(['q', 3]),
        null,
        { causal: false, scale: null },
      ],
    },
    {
      args: [
        tensor(['b', 2, 'q', 4]),
        tensor(['b', 1, 'k', 4]),
        tensor([2, 'k', 'c']),
        tensor(['b', 2, 'q', 'c']),
        null,
        { causal: true, scale: 0.7 },
      ],
    },
    {
      args: [
        tensor([2, 'q', 'd']),
        tensor([2, 'k', 'd']),
        tensor([2, 'k', 3]),
        tensor([2, 'q', 3]),
        tensor(['q', 'k']),
        { causal: false, scale: null },
      ],
    },
  ],
});

function alongRows<T extends Tensor>(x: T, weights: T): T {
  return sum(mul(x, weights), -1, { keepdims: true });
}

/** Head by head, so that the sums over all queries of one stay in the cache. */
function gradientLoops(context: KernelContext<AttentionAttributes>): Stmt {
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
   * Weights of a row divided by their total, and the gradient of their scores. What its last vector holds
   * of keys that the query does not see is neither, whatever came of their products.
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

  const { begin, end } = shareOf(context.team, e.i32(0), heads.count, 1);
  return e.forLoop('head', begin, end, (head) =>
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
    ),
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
