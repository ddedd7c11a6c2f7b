import type { CallNode, Value } from '../../ir/program.js';
import type { Attributes } from '../../base/schema.js';
import * as e from '../../loop/build.js';
import type { Expr, Stmt, Var } from '../../loop/nodes.js';
import type { Access, ReduceContext, ReduceLowering, Sink } from '../../ops/lowering.js';
import { flatIndex, rowMajorStrides, zero } from './access.js';
import { indexOf, type Loop, nest, planLoops, type Probe } from './nest.js';
import type { Scope } from './scope.js';
import { cut, type Stage, stageLoop } from './stages.js';

/** How many vectors of partial states are in flight, to hide the latency of one step. */
const copiesInFlight = 4;

/** What one reduction folds: which input, over which axes, into which sinks. */
export interface Reduction {
  readonly call: CallNode;
  readonly lowering: ReduceLowering<Attributes>;
  readonly input: Value;
  readonly element: Access;
  readonly outputs: readonly Value[];
  readonly sinks: readonly Sink[];
}

/**
 * The nest of a reduction. Where the innermost axis is folded, lanes and copies hold partial states
 * that are combined at the end of a row; otherwise they are neighbouring results.
 */
export function reduceNest(scope: Scope, reduction: Reduction, vectorBytes: number): Stmt {
  const { call, lowering, input, outputs } = reduction;
  const rank = input.type.shape.length;
  const folded = new Set(lowering.axes(call.attributes, rank));
  const kept = input.type.shape.filter((_, axis) => !folded.has(axis));
  if (kept.includes(0)) return e.block();
  const shape = scope.shape(input.type.shape);
  const keepsAxes = outputs[0].type.shape.length === rank;
  const resultIndex = (index: readonly Expr[]): Expr[] =>
    keepsAxes
      ? index.map((part, axis) => (folded.has(axis) ? zero : part))
      : index.filter((_, axis) => !folded.has(axis));
  const foldedLoops = shape.filter((_, axis) => folded.has(axis));
  const context: ReduceContext<Attributes> = {
    attributes: call.attributes,
    inputDType: input.type.dtype,
    outputDTypes: outputs.map((output) => output.type.dtype),
    count: foldedLoops.reduce<Expr>((count, extent) => e.mul(count, extent), e.i32(1)),
  };
  const initial = lowering.initial(context);
  const storeResults = (state: readonly Expr[], index: readonly Expr[]): Stmt => {
    const results = lowering.finish(state, context);
    return e.block(...reduction.sinks.map((sink, k) => sink.store(resultIndex(index), results[k])));
  };
  const loops = planLoops(
    scope.builder.extents,
    input.type.shape,
    (index) => probe(reduction.element.at(index), storeResults(initial, index)),
    (outer, inner) => folded.has(outer) === folded.has(inner),
  );
  const fold: Fold = {
    reduction,
    context,
    initial,
    loops,
    storeResults,
    inner: loops.filter((loop) => folded.has(loop.axes[0])),
    outer: loops.filter((loop) => !folded.has(loop.axes[0])),
    lanes: lanesOf(reduction.element, initial, vectorBytes),
  };
  const last = loops[loops.length - 1];
  return last !== undefined && folded.has(last.axes[0])
    ? foldRows(fold, last)
    : foldColumns(fold, last);
}

interface Fold {
  readonly reduction: Reduction;
  readonly context: ReduceContext<Attributes>;
  readonly initial: readonly Expr[];
  readonly loops: readonly Loop[];
  /** The loops over folded axes, and over kept ones. */
  readonly inner: readonly Loop[];
  readonly outer: readonly Loop[];
  readonly lanes: number;
  storeResults(state: readonly Expr[], index: readonly Expr[]): Stmt;
}

/** Vectors need scalars of one width; with mixed widths partial states are scalars. */
function lanesOf(element: Access, initial: readonly Expr[], vectorBytes: number): number {
  const probe = element.at(element.shape.map(() => zero));
  const widths = new Set([probe, ...initial].map(({ type }) => e.scalarBytes(type.scalar)));
  return widths.size === 1 ? vectorBytes / [...widths][0] : 1;
}

function foldRows(fold: Fold, row: Loop): Stmt {
  const stages = cut(row.extent, fold.lanes, copiesInFlight);
  const total = declareState('total', fold.initial, 1);
  return nest(fold.outer, (keptAt) => {
    const partial = partialStates(fold, stages);
    const body = nest(fold.inner.slice(0, -1), (foldedAt) =>
      e.block(
        ...stages.map((stage) => {
          const states = stage.lanes * stage.copies === 1 ? [total.state] : partial.states;
          return stageLoop('i', stage, (indices) =>
            stepAll(
              fold,
              keptAt,
              indices.map((index) => [...foldedAt, index]),
              states,
            ),
          );
        }),
      ),
    );
    return e.block(
      ...total.declarations,
      ...partial.declarations,
      body,
      ...joinCopies(fold, partial.states),
      ...joinLanes(fold, partial.states[0], total.state),
      fold.storeResults(total.state, place(fold, keptAt, [])),
    );
  });
}

function foldColumns(fold: Fold, column: Loop | undefined): Stmt {
  const bodyAt = (keptAt: readonly (readonly Expr[])[], lanes: number): Stmt => {
    const states = keptAt.map((_, copy) => declareState(`state${copy}`, fold.initial, lanes));
    return e.block(
      ...states.flatMap(({ declarations }) => declarations),
      nest(fold.inner, (foldedAt) =>
        e.block(...keptAt.map((at, copy) => step(fold, at, foldedAt, states[copy].state))),
      ),
      ...keptAt.map((at, copy) => fold.storeResults(states[copy].state, place(fold, at, []))),
    );
  };
  if (column === undefined) return bodyAt([[]], 1);
  return nest(fold.outer.slice(0, -1), (outerAt) =>
    e.block(
      ...cut(column.extent, fold.lanes, copiesInFlight).map((stage) =>
        stageLoop('j', stage, (indices) =>
          bodyAt(
            indices.map((index) => [...outerAt, index]),
            stage.lanes,
          ),
        ),
      ),
    ),
  );
}

function declareState(
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

function partialStates(
  fold: Fold,
  stages: readonly Stage[],
): { readonly states: readonly (readonly Var[])[]; readonly declarations: readonly Stmt[] } {
  const wide = stages.filter((stage) => stage.lanes * stage.copies > 1);
  const copies = Math.max(0, ...wide.map((stage) => stage.copies));
  const states = Array.from({ length: copies }, (_, copy) =>
    declareState(`partial${copy}`, fold.initial, fold.lanes),
  );
  return {
    states: states.map(({ state }) => state),
    declarations: states.flatMap(({ declarations }) => declarations),
  };
}

function stepAll(
  fold: Fold,
  keptAt: readonly Expr[],
  foldedAt: readonly (readonly Expr[])[],
  states: readonly (readonly Var[])[],
): Stmt {
  return e.block(...foldedAt.map((at, copy) => step(fold, keptAt, at, states[copy])));
}

/** One more element into a state: the new state is complete before any part of the old is replaced. */
function step(
  fold: Fold,
  keptAt: readonly Expr[],
  foldedAt: readonly Expr[],
  state: readonly Var[],
): Stmt {
  const { reduction, context, inner } = fold;
  const element = reduction.element.at(place(fold, keptAt, foldedAt));
  const position = flatIndex(foldedAt, rowMajorStrides(inner.map(({ extent }) => extent)));
  const lanes = state[0].type.lanes;
  const next = reduction.lowering.step(
    state,
    e.broadcast(element, lanes),
    e.broadcast(position, lanes),
    context,
  );
  return replace(state, next);
}

function replace(state: readonly Var[], next: readonly Expr[]): Stmt {
  if (state.length === 1) return e.assign(state[0], e.broadcast(next[0], state[0].type.lanes));
  const fresh = state.map(({ name, type }) => e.variable(`next_${name}`, type.scalar, type.lanes));
  return e.block(
    ...fresh.map((local, k) => e.declare(local, e.broadcast(next[k], local.type.lanes))),
    ...fresh.map((local, k) => e.assign(state[k], local)),
  );
}

function joinCopies(fold: Fold, states: readonly (readonly Var[])[]): readonly Stmt[] {
  const { reduction, context } = fold;
  const statements: Stmt[] = [];
  for (let distance = 1; distance < states.length; distance *= 2) {
    for (let copy = 0; copy + distance < states.length; copy += 2 * distance) {
      const joined = reduction.lowering.combine(states[copy], states[copy + distance], context);
      statements.push(replace(states[copy], joined));
    }
  }
  return statements;
}

function joinLanes(
  fold: Fold,
  state: readonly Var[] | undefined,
  total: readonly Var[],
): readonly Stmt[] {
  if (state === undefined) return [];
  const { reduction, context } = fold;
  let parts: (readonly Expr[])[] = Array.from({ length: fold.lanes }, (_, lane) =>
    state.map((part) => e.extract(part, lane)),
  );
  while (parts.length > 1) {
    const half = parts.length / 2;
    const upper = parts.slice(half);
    parts = upper.map((part, i) => reduction.lowering.combine(parts[i], part, context));
  }
  return [replace(total, reduction.lowering.combine(parts[0], total, context))];
}

/** The index into the input at which kept and folded loops stand. */
function place(fold: Fold, keptAt: readonly Expr[], foldedAt: readonly Expr[]): Expr[] {
  const { loops, inner, outer, reduction } = fold;
  const at = loops.map((loop) => {
    const kept = outer.indexOf(loop);
    return kept >= 0 ? keptAt[kept] : (foldedAt[inner.indexOf(loop)] ?? zero);
  });
  return indexOf(reduction.element.shape.length, loops, at);
}

function probe(element: Expr, results: Stmt): Probe {
  const values = [element];
  const addresses: Expr[] = [];
  const visit = (stmt: Stmt): void => {
    if (stmt.kind === 'block') stmt.body.forEach(visit);
    else if (stmt.kind === 'store') {
      values.push(stmt.value);
      addresses.push(stmt.index);
    }
  };
  visit(results);
  return { values, addresses };
}
