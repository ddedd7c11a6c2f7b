import * as e from '../../../loop/build.js';
import type { Expr, Stmt, Var } from '../../../loop/nodes.js';
import { indices } from './sizes.js';
import type { Contraction } from './spec.js';

/**
 * Inner products, with lanes along `k`: for few rows times columns that lie along `k` in memory, such
 * as one example times a weight matrix of `[units, inputs]`. Several columns at a time, so that enough
 * sums are in flight to hide the latency of an addition.
 */
export function contractDot(spec: Contraction, columnsAtOnce: number): Stmt {
  return e.forLoop(
    'batch',
    0,
    spec.batch,
    (batch) =>
      e.forLoop('i', 0, spec.m, (i) => {
        const whole = e.sub(spec.n, e.rem(spec.n, columnsAtOnce));
        const group = (j: Expr, columns: number): Stmt =>
          products(spec, batch, i, indices(j, columns));
        return e.block(
          e.forLoop('j', 0, whole, (j) => group(j, columnsAtOnce), { step: columnsAtOnce }),
          e.forLoop('j', whole, spec.n, (j) => group(j, 1)),
        );
      }),
    { mode: 'parallel' },
  );
}

/** One row times a few columns; a lone column gets several partial sums instead. */
function products(spec: Contraction, batch: Expr, i: Expr, columns: readonly Expr[]): Stmt {
  const { scalar, k, context } = spec;
  const lanes = context.vectorBytes / e.scalarBytes(scalar);
  const copies = columns.length === 1 ? 4 : 1;
  const step = copies * lanes;
  const whole = e.sub(k, e.rem(k, step));
  const partials = columns.map(() =>
    Array.from({ length: copies }, () => e.variable('partial', scalar, lanes)),
  );
  const totals = columns.map(() => e.variable('total', scalar));
  const accumulate = (sum: Var, product: Expr): Stmt => e.assign(sum, e.add(sum, product));
  const zero = (sum: Var): Stmt => e.declare(sum, e.constant(scalar, 0, sum.type.lanes));
  return e.block(
    ...partials.flat().map(zero),
    e.forLoop(
      'k',
      0,
      whole,
      (start) =>
        e.block(
          ...indices(start, copies, lanes).flatMap((from, copy) => {
            const at = lanes === 1 ? from : e.ramp(from, 1, lanes);
            const left = e.variable('a', scalar, lanes);
            return [
              e.declare(left, e.broadcast(spec.a(batch, i, at), lanes)),
              ...columns.map((j, c) =>
                accumulate(partials[c][copy], e.mul(left, spec.b(batch, at, j))),
              ),
            ];
          }),
        ),
      { step },
    ),
    ...totals.map((total, c) => e.declare(total, sumOfLanes(partials[c]))),
    e.forLoop('k', whole, k, (at) =>
      e.block(
        ...columns.map((j, c) =>
          accumulate(totals[c], e.mul(spec.a(batch, i, at), spec.b(batch, at, j))),
        ),
      ),
    ),
    ...columns.map((j, c) => spec.store(batch, i, j, totals[c])),
  );
}

/** Pairwise over the vectors, then over their lanes. */
function sumOfLanes(vectors: readonly Expr[]): Expr {
  const sum = pairwise(vectors);
  return pairwise(Array.from({ length: sum.type.lanes }, (_, lane) => e.extract(sum, lane)));
}

function pairwise(terms: readonly Expr[]): Expr {
  if (terms.length === 1) return terms[0];
  const half = terms.length >> 1;
  return e.add(pairwise(terms.slice(0, half)), pairwise(terms.slice(half)));
}
