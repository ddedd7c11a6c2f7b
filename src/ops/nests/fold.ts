import type { Dim } from '../../base/dim/index.js';
import type { Attributes } from '../../base/attributes/schema.js';
import type { Value } from '../../ir/program.js';
import * as e from '../../loop/language/build.js';
import type { Buffer, Expr, Scalar, Stmt, Var } from '../../loop/language/nodes.js';
import type { Access, ReduceContext, ReduceLowering, Sink } from '../declare/lowering.js';
import { flatIndex, inOrder, rowMajorStrides, zero } from './access.js';
import { indexOf, type NestLoop } from './nest.js';

/** Vectors of partial states or results in flight, to hide the latency of one step. */
export const copiesInFlight = 4;

/** One of the reductions of a nest. */
export interface FoldPart {
  readonly lowering: ReduceLowering<Attributes>;
  readonly context: ReduceContext<Attributes>;
  readonly element: Access;
  readonly outputs: readonly Value[];
  readonly initial: readonly Expr[];
  /** Offset of its state in the state of the nest. */
  readonly offset: number;
}

/** Additional work of a nest for every folded element. */
export interface PerElementWork {
  readonly sink: Sink;
  at(index: readonly Expr[]): Expr;
}

/**
 * A store beside the fold, over its domain: the sink's axes and those of `at` agree except for those of size
 * 1.
 */
export function sideStore(
  domain: readonly Dim[],
  sink: Sink,
  at: PerElementWork['at'],
): PerElementWork {
  const own = (index: readonly Expr[]): readonly Expr[] =>
    inOrder(
      sink.shape,
      index.filter((_, axis) => domain[axis] !== 1),
    );
  return {
    sink: { ...sink, store: (index, element) => sink.store(own(index), element) },
    at: (index) => at(own(index)),
  };
}

/** The loops over a domain of which some axes are folded. */
export interface FoldLoops {
  readonly rank: number;
  readonly loops: readonly NestLoop[];
  /** The loops over folded axes, and over kept ones. */
  readonly inner: readonly NestLoop[];
  readonly outer: readonly NestLoop[];
  /** The folded elements of one of several invocations, which its one folded loop counts. Default: all of them. */
  readonly part?: FoldPortion;
}

/** A part of the elements that are folded into one result. */
export interface FoldPortion {
  /** The number of an element among all folded ones. */
  position(at: Expr): Expr;
  /** Its indices in the loops over folded axes. */
  foldedAt(at: Expr): readonly Expr[];
}

/** One pass over the folded elements. */
export interface FoldStage extends FoldLoops {
  readonly parts: readonly FoldPart[];
  readonly beside: readonly PerElementWork[];
  /** The neutral states of all parts. */
  readonly initial: readonly Expr[];
  readonly lanes: number;
}

/** Description of a nest of reductions, shared by all strategies of folding. */
export interface Fold extends FoldStage {
  /** Memory for states, for the duration of the kernel. */
  scratch(name: string, scalar: Scalar, length: Expr): Buffer;
  /** Lanes for elements and states alone, where each result is stored by itself. */
  readonly foldedLanes: number;
  storeResults(state: readonly Expr[], index: readonly Expr[]): Stmt;
}

/** Locals that hold a state, one for each component, and the statements that reset it to its neutral value. */
export function declareState(
  name: string,
  initial: readonly Expr[],
  lanes: number,
): { readonly state: readonly Var[]; readonly declarations: readonly Stmt[] } {
  const state = initial.map((value, k) => e.variable(`${name}_${k}`, value.type.scalar, lanes));
  return {
    state,
    declarations: state.map((part, k) => e.declare(part, e.broadcast(initial[k], lanes))),
  };
}

/**
 * Folds one more element into a state with value `before`: the new state is complete before any part of the
 * old is replaced.
 */
export function step(
  fold: FoldStage,
  keptAt: readonly Expr[],
  foldedAt: readonly Expr[],
  state: readonly Var[],
  before: readonly Expr[] = state,
): Stmt {
  const index = place(fold, keptAt, foldedAt);
  const position =
    fold.part?.position(foldedAt[0]) ??
    flatIndex(foldedAt, rowMajorStrides(fold.inner.map(({ extent }) => extent)));
  const lanes = state[0]?.type.lanes ?? 1;
  const next = fold.parts.flatMap(({ lowering, context, element, initial, offset }) =>
    lowering.step(
      before.slice(offset, offset + initial.length),
      e.broadcast(element.at(index), lanes),
      e.broadcast(position, lanes),
      context,
    ),
  );
  if (fold.beside.length === 0) return assignState(state, next);
  // A result may overwrite an operand of the state, so it is stored last.
  const locals: Stmt[] = [];
  const stores = fold.beside.map(({ sink, at }, k) => {
    const element = at(index);
    const local = e.variable(`beside${k}`, element.type.scalar, element.type.lanes);
    locals.push(e.declare(local, element));
    return sink.store(index, local);
  });
  return e.block(...locals, assignState(state, next), ...stores);
}

/** Combines two partial states of all parts. */
export function combine(fold: FoldStage, a: readonly Expr[], b: readonly Expr[]): readonly Expr[] {
  return fold.parts.flatMap(({ lowering, context, initial, offset }) => {
    const end = offset + initial.length;
    return lowering.combine(a.slice(offset, end), b.slice(offset, end), context);
  });
}

/** Replaces a state by one derived from it. */
export function assignState(state: readonly Var[], next: readonly Expr[]): Stmt {
  if (state.length === 1) return e.assign(state[0], e.broadcast(next[0], state[0].type.lanes));
  const fresh = state.map(({ name, type }) => e.variable(`next_${name}`, type.scalar, type.lanes));
  return e.block(
    ...fresh.map((local, k) => e.declare(local, e.broadcast(next[k], local.type.lanes))),
    ...fresh.map((local, k) => e.assign(state[k], local)),
  );
}

/** The index into the input at the current iteration of kept and folded loops. */
export function place(
  { rank, loops, inner, outer, part }: FoldLoops,
  keptAt: readonly Expr[],
  foldedAt: readonly Expr[],
): Expr[] {
  const isPart = part !== undefined && foldedAt.length > 0;
  const folded = isPart ? part.foldedAt(foldedAt[0]) : foldedAt;
  const at = loops.map((loop) => {
    const kept = outer.indexOf(loop);
    return kept >= 0 ? keptAt[kept] : (folded[inner.indexOf(loop)] ?? zero);
  });
  return indexOf(rank, loops, at);
}

/** Bytes of a state. */
export function bytesOfState(initial: readonly Expr[]): number {
  return initial.reduce((bytes, { type }) => bytes + e.scalarBytes(type.scalar), 0);
}
