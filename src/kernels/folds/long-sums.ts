import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import type { FoldPart } from '../../ops/nests/fold.js';
import type { LoopStage } from './stages.js';

/*
 * Sums of any length that keep their digits (decision 45). Terms are added up in blocks (`sumBlocks.ts`); the sum of
 * a block goes to a total, together with what the addition before rounded away (`sumTotals.ts`), and a fresh sum
 * begins. No term of a sum is rounded more than `mostRoundings` times, a division behind the sum included, so a sum is
 * off by at most as many roundings `u` of the sum of the magnitudes of its terms: 16 * 2^-24 < 1e-6 in float32.
 */
const mostRoundings = 16;

/**
 * Roundings of each term besides those of its block: in the compensation, in the total, in the read of the
 * total, and in a division.
 */
const roundingsBehind = 4;

/**
 * Number of block sums that are added without compensation, which rounds them no more than compensation does.
 */
export const mostPlainBlocks: number = roundingsBehind;

/** Terms that are added pairwise before they are added to others, where there are many. */
export const termsTogether = 4;

/**
 * Most steps of a block of a row: its terms are summed in so many states of `lanes`, which are joined
 * pairwise, plus a scalar remainder. Each step adds the sum of `together` terms.
 */
export function mostStepsOfRows(
  { lanes, together }: Pick<LoopStage, 'lanes' | 'together'>,
  states: number,
  hasRest: boolean,
): number {
  const joined = Math.log2(together) + Math.log2(states) + Math.log2(lanes) + Number(hasRest);
  return mostRoundings - roundingsBehind - joined + 1;
}

/** Most steps of a block of columns, each of which adds the sum of `termsTogether` terms. */
export const mostStepsOfColumns: number =
  mostRoundings - roundingsBehind - Math.log2(termsTogether) + 1;

/** Most terms of a block that one scalar sums, which is joined to the vectors of its row. */
export const mostScalarSteps: number = mostRoundings - roundingsBehind - 1 + 1;

/** Most steps of a block of one invocation of a workgroup, where so many are joined pairwise. */
export function mostStepsOfPartials(partials: number): number {
  return mostRoundings - roundingsBehind - Math.log2(partials) + 1;
}

/**
 * Components of the state of all parts that are sums of floats. Other folds are exact in any order, or, like
 * products, no better in another one.
 */
export function sumsIn(parts: readonly FoldPart[]): readonly number[] {
  return parts.flatMap(({ lowering, context, initial, offset }) => {
    const [a, b] = ['a', 'b'].map((name) =>
      initial.map(({ type }, k) => e.variable(`${name}${k}`, type.scalar)),
    );
    return lowering.combine(a, b, context).flatMap((joined, k) => {
      const { scalar } = initial[k].type;
      const isSum =
        (scalar === 'f32' || scalar === 'f64') &&
        joined.kind === 'binary' &&
        joined.op === 'add' &&
        joined.a === a[k] &&
        joined.b === b[k];
      return isSum ? [offset + k] : [];
    });
  });
}

/** An empty sum to which terms are added unchanged: +0 would turn -0 into +0. */
export function emptySum({ type: { scalar } }: Expr, lanes: number): Expr {
  return e.constant(scalar, -0, lanes);
}
