import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import {
  addBlock, addToLast, type BlockSums, blockSums, blockTerms, overDepthBlocks, pairwise, putBlock,
} from './blocks.js'; // prettier-ignore
import { remainders, tiled } from './cover.js';
import { dividedOf, overKind } from './region.js';
import { registerLanes } from './shape.js';
import { indices } from '../../contraction/sizes.js';
import { isLong } from '../../contraction/long-sums.js';
import type { Contraction } from '../../contraction/spec.js';

/** Number of inner products that run in parallel. */
export interface DotShape {
  readonly rows: number;
  readonly columns: number;
}

/**
 * Inner products, with lanes along `k`: for few rows times columns that are contiguous along `k`, such as a
 * few examples times a weight matrix of `[units, inputs]`.
 */
export function contractDot(spec: Contraction, { rows, columns }: DotShape): Stmt {
  const divided = dividedOf(spec, rows, columns);
  const sums = Math.max(sumsInFlight, rows * columns);
  const memory = isLong(spec) ? blockSums(spec, e.i32(sums * registerLanes(spec))) : null;
  const eachRow = (body: (i: Expr, height: number) => Stmt): Stmt =>
    overKind(spec, divided, 'rows', rows, (down) =>
      tiled('i', down, [rows, ...remainders(spec.m, rows)], body),
    );
  const eachColumn = (body: (j: Expr, width: number) => Stmt): Stmt =>
    overKind(spec, divided, 'columns', columns, (across) => tiled('j', across, [columns, 1], body));
  return overKind(spec, divided, 'batch', 1, ({ begin, end }) =>
    e.forLoop('batch', begin, end, (batch) =>
      eachRow((i, height) =>
        eachColumn((j, width) =>
          products(spec, memory, batch, indices(i, height), indices(j, width)),
        ),
      ),
    ),
  );
}

/** Vectors in flight that hide the latency of an addition. */
const sumsInFlight = 4;

/** A few rows times a few columns; where those are very few, each has several partial sums. */
function products(
  spec: Contraction,
  memory: BlockSums | null,
  batch: Expr,
  rows: readonly Expr[],
  columns: readonly Expr[],
): Stmt {
  const { scalar, k } = spec;
  const lanes = registerLanes(spec);
  const copies = Math.max(1, Math.floor(sumsInFlight / (rows.length * columns.length)));
  const step = copies * lanes;
  const whole = e.sub(k, e.rem(k, step));
  const pairs = rows.flatMap((i) => columns.map((j) => ({ i, j })));
  const partials = pairs.map(() =>
    Array.from({ length: copies }, () => e.variable('partial', scalar, lanes)),
  );
  const totals = pairs.map(() => e.variable('total', scalar));
  const zero = (sum: Var): Stmt => e.declare(sum, e.constant(scalar, 0, sum.type.lanes));
  const vectors = (start: Expr, copy: number): Stmt[] => {
    const at = lanes === 1 ? start : e.ramp(start, 1, lanes);
    return accumulate(spec, batch, rows, columns, at, partials.map((sums) => sums[copy])); // prettier-ignore
  };
  const accumulateWhole = (begin: Expr | number, end: Expr): Stmt =>
    e.forLoop(
      'k',
      begin,
      end,
      (start) => e.block(...indices(start, copies, lanes).flatMap(vectors)),
      { step },
    );
  const accumulateRest = e.forLoop('k', whole, k, (at) =>
    e.block(...accumulate(spec, batch, rows, columns, at, totals)),
  );
  const sumOfPair = (pair: number): Expr => sumOfLanes(partials[pair]);
  const store = (value: (pair: number) => Expr): Stmt[] =>
    pairs.map(({ i, j }, pair) => spec.store(batch, i, j, value(pair)));
  const zeros = partials.flat().map(zero);
  if (memory === null)
    return e.block(
      ...zeros,
      accumulateWhole(0, whole),
      ...totals.map((total, pair) => e.declare(total, sumOfPair(pair))),
      accumulateRest,
      ...store((pair) => totals[pair]),
    );
  // Terms of the remainder are small beside a long sum, which would lose a digit with each of them.
  const finish = e.block(
    ...totals.map(zero),
    accumulateRest,
    ...store((pair) => e.add(sumOfPair(pair), totals[pair])),
  );
  const each = (visit: (memory: BlockSums, place: Expr, sum: Var) => Stmt): Stmt =>
    e.block(...partials.flat().map((sum, at) => visit(memory, placeOf(at, lanes), sum)));
  return overDepthBlocks(k, { begin: e.i32(0), end: whole }, blockTerms * step, (from, to) =>
    e.block(
      ...zeros,
      accumulateWhole(from, to),
      e.ifThen(
        e.ge(to, whole),
        e.block(e.ifThen(e.gt(from, 0), each(addToLast)), finish),
        e.ifThen(e.gt(from, 0), each(addBlock), each(putBlock)),
      ),
    ),
  );
}

function placeOf(vector: number, lanes: number): Expr {
  const start = e.i32(vector * lanes);
  return lanes === 1 ? start : e.ramp(start, 1, lanes);
}

/** Adds the products at one index of `k`; the sums are in row-major order. */
function accumulate(
  spec: Contraction,
  batch: Expr,
  rows: readonly Expr[],
  columns: readonly Expr[],
  at: Expr,
  sums: readonly Var[],
): Stmt[] {
  const { lanes } = at.type;
  const right = columns.map(() => e.variable('b', spec.scalar, lanes));
  return [
    ...columns.map((j, c) => e.declare(right[c], e.broadcast(spec.b(batch, at, j), lanes))),
    ...rows.flatMap((i, r) => {
      const left = e.variable('a', spec.scalar, lanes);
      return [
        e.declare(left, e.broadcast(spec.a(batch, i, at), lanes)),
        ...right.map((value, c) => {
          const sum = sums[r * columns.length + c];
          return e.assign(sum, e.add(sum, e.mul(left, value)));
        }),
      ];
    }),
  ];
}

/** Pairwise over the vectors, then over their lanes. */
function sumOfLanes(vectors: readonly Expr[]): Expr {
  const sum = pairwise(vectors);
  return pairwise(Array.from({ length: sum.type.lanes }, (_, lane) => e.extract(sum, lane)));
}
