import * as e from '../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../loop/language/nodes.js';
import { combine, type FoldStage, step } from '../../ops/nests/fold.js';
import { emptySum } from './long-sums.js';

/** A state after some statements. */
export interface Folded {
  readonly statements: readonly Stmt[];
  readonly state: readonly Expr[];
}

/**
 * Folds neighboring elements into a state with value `before`. Components that are sums add the elements
 * pairwise first, and the state takes them as one: so each is rounded less often than in sequence. Other
 * components take one after the other.
 */
export function foldTogether(
  fold: FoldStage,
  keptAt: readonly Expr[],
  foldedAt: readonly (readonly Expr[])[],
  before: readonly Expr[],
  sums: ReadonlySet<number>,
): Folded {
  const { statements, state } = foldTree(fold, keptAt, foldedAt, before, sums, 'state');
  if (sums.size === 0) return { statements, state };
  const joined = combine(fold, before, state);
  return { statements, state: state.map((part, k) => (sums.has(k) ? joined[k] : part)) };
}

/** The sums of a few elements alone, and the other components including the previous state. */
function foldTree(
  fold: FoldStage,
  keptAt: readonly Expr[],
  foldedAt: readonly (readonly Expr[])[],
  before: readonly Expr[],
  sums: ReadonlySet<number>,
  name: string,
): Folded {
  if (sums.size === 0 || foldedAt.length <= 2) {
    return foldInTurn(fold, keptAt, foldedAt, before, sums, name);
  }
  const half = foldedAt.length >> 1;
  const left = foldTree(fold, keptAt, foldedAt.slice(0, half), before, sums, `${name}0`);
  const right = foldTree(fold, keptAt, foldedAt.slice(half), left.state, sums, `${name}1`);
  const joined = combine(fold, left.state, right.state);
  return {
    statements: [...left.statements, ...right.statements],
    state: right.state.map((part, k) => (sums.has(k) ? joined[k] : part)),
  };
}

function foldInTurn(
  fold: FoldStage,
  keptAt: readonly Expr[],
  [first, ...others]: readonly (readonly Expr[])[],
  before: readonly Expr[],
  sums: ReadonlySet<number>,
  name: string,
): Folded {
  const state = before.map(({ type: { scalar, lanes } }, k): Var =>
    e.variable(`${name}_${k}`, scalar, lanes),
  );
  const initial = before.map((part, k) => (sums.has(k) ? emptySum(part, part.type.lanes) : part));
  const statements = [
    ...state.map((part, k) => e.declare(part, initial[k])),
    step(
      fold,
      keptAt,
      first,
      state,
      state.map((part, k) => (sums.has(k) ? initial[k] : part)),
    ),
    ...others.map((folded) => step(fold, keptAt, folded, state)),
  ];
  return { statements, state };
}
