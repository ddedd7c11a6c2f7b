import type { Expr, Stmt } from '../../loop/language/nodes.js';
import { zero } from '../../ops/nests/access.js';
import { mostPlainBlocks } from './long-sums.js';
import { type NestLoop, nest } from '../../ops/nests/nest.js';
import { type BlockEnds, loopInBlocks, type LoopStage, width } from './stages.js';

/** Boundaries of blocks of terms. Both null: all terms form one block. */
export interface BlockBoundaries {
  /**
   * Boundaries in each stage of the innermost loop; null for stages that are part of a block. The very last
   * block is not added to the totals separately.
   */
  readonly within: readonly (BlockEnds | null)[];
  /** A boundary after so many iterations of a loop around the innermost one. */
  readonly around: { readonly loop: NestLoop; readonly trips: number } | null;
  /** Most additions of blocks to one total. */
  readonly additions: number;
}

/** True when totals are compensated. */
export function isCompensated({ additions }: BlockBoundaries): boolean {
  return additions >= mostPlainBlocks;
}

/** Boundaries where all terms form one block. */
export function oneBlock(stages: readonly LoopStage[]): BlockBoundaries {
  return { within: stages.map(() => null), around: null, additions: 0 };
}

/**
 * Block boundaries such that no block has more steps than `most` for each stage. `stages` are those of the
 * innermost of the folded loops; those with equal `chains` add to the same sums.
 */
export function blocksOf(
  inner: readonly NestLoop[],
  stages: readonly LoopStage[],
  most: readonly number[],
  chains: readonly number[],
): BlockBoundaries {
  const isOneLoop = inner.length === 1;
  const within: (BlockEnds | null)[] = stages.map(() => null);
  // Steps after the last boundary, by chain.
  const left = new Map<number, number>();
  let additions = 0;
  // Backwards: the first stage, which may have many steps, gets whatever the others leave.
  for (let k = stages.length - 1; k >= 0; k--) {
    const [own, behind] = [mostStepsOf(stages, k), left.get(chains[k]) ?? 0];
    if (own + behind <= most[k]) {
      left.set(chains[k], own + behind);
      continue;
    }
    const steps = evenly(own + behind, most[k]);
    const inLast = own % steps || steps;
    const endsChain = stages.every((_, at) => chains[at] !== chains[k] || within[at] === null);
    const isLast = isOneLoop && endsChain && inLast + behind <= most[k];
    within[k] = { steps, isLast };
    left.set(chains[k], behind);
    additions += isOneLoop ? Math.ceil(own / steps) - Number(isLast) : Infinity;
  }
  // Fraction of a block that one iteration of a loop takes.
  let share = Math.max(0, ...stages.map((_, k) => (left.get(chains[k]) ?? 0) / most[k]));
  for (const loop of share === 0 ? [] : inner.slice(0, -1).reverse()) {
    const { extent } = loop;
    const trips = extent.kind === 'const' ? Number(extent.value) : Infinity;
    if (share * trips > 1) {
      const around = { loop, trips: Math.max(1, Math.floor(1 / share)) };
      return { within, around, additions: Infinity };
    }
    share *= trips;
  }
  return { within, around: null, additions };
}

/** Length of a block: as few blocks of at most `most` steps as possible, of about equal length. */
function evenly(steps: number, most: number): number {
  return steps === Infinity ? most : Math.ceil(steps / Math.ceil(steps / most));
}

/** Most steps of a stage; all but the first only take remainders. */
export function mostStepsOf(stages: readonly LoopStage[], k: number): number {
  const { begin, end } = stages[k];
  if (begin.kind === 'const' && end.kind === 'const') {
    return Math.ceil((Number(end.value) - Number(begin.value)) / width(stages[k]));
  }
  return k === 0 ? Infinity : Math.ceil(width(stages[k - 1]) / width(stages[k])) - 1;
}

/** Nested loops around a body that receives their variables, with statements after every block. */
export function nestInBlocks(
  loops: readonly NestLoop[],
  { around }: BlockBoundaries,
  body: (at: readonly Expr[]) => Stmt,
  behind: () => Stmt,
): Stmt {
  const blocked = around === null ? -1 : loops.indexOf(around.loop);
  if (around === null || blocked < 0) return nest(loops, body);
  const { axes, extent } = around.loop;
  const range = { begin: zero, end: extent, step: 1 };
  return nest(loops.slice(0, blocked), (outer) =>
    loopInBlocks(
      `i${axes.join('')}`,
      range,
      { steps: around.trips, isLast: false },
      (index) => nest(loops.slice(blocked + 1), (rest) => body([...outer, index, ...rest])),
      behind,
    ),
  );
}
