import { InternalError } from '../../base/errors.js';
import type { Attributes } from '../../base/schema.js';
import type { NodeId } from '../../graph/graph.js';
import type { CallNode, Value } from '../../ir/program.js';
import * as e from '../../loop/build.js';
import type { Expr, Stmt, Var } from '../../loop/nodes.js';
import { visitExprs } from '../../loop/visit.js';
import type { Access, ReduceContext, ReduceLowering, Sink } from '../../ops/lowering.js';
import { declarationOf } from '../facets.js';
import { flatIndex, mulIndex, one, rowMajorStrides, zero } from './access.js';
import type { Epilogue } from './epilogue.js';
import { indexOf, type Loop, nest, planLoops, type Probe } from './nest.js';
import type { Scope } from './scope.js';
import { cut, type Stage, stageLoop } from './stages.js';

/** How many vectors of partial states are in flight, to hide the latency of one step. */
const copiesInFlight = 4;

/** One of the reductions of a nest. */
interface Part {
  readonly lowering: ReduceLowering<Attributes>;
  readonly context: ReduceContext<Attributes>;
  readonly element: Access;
  readonly outputs: readonly Value[];
  readonly initial: readonly Expr[];
  /** Where its state begins in the state of the nest. */
  readonly offset: number;
}

/** What a nest does once for every element that is folded, besides folding it. */
export interface Beside {
  readonly sink: Sink;
  at(index: readonly Expr[]): Expr;
}

/**
 * The nest of reductions that fold inputs of one shape over the same axes. Where the innermost axis is
 * folded, lanes and copies hold partial states that are combined at the end of a row; otherwise they
 * are neighbouring results.
 */
export function reduceNest(
  scope: Scope,
  anchors: readonly NodeId[],
  beside: readonly Beside[],
  epilogue: Epilogue,
  vectorBytes: number,
): Stmt {
  const { program } = scope;
  const [input] = program.operands(anchors[0]);
  const first = program.node(anchors[0]) as CallNode;
  const rank = input.type.shape.length;
  const folded = new Set(reductionOf(first).axes(first.attributes, rank));
  if (input.type.shape.some((dim, axis) => dim === 0 && !folded.has(axis))) return e.block();
  const shape = scope.shape(input.type.shape);
  const count = shape
    .filter((_, axis) => folded.has(axis))
    .reduce((product, extent) => mulIndex(product, extent), one);
  const parts = partsOf(scope, anchors, count);
  const results = parts.flatMap(({ outputs }) => outputs);
  const written = epilogue.written(results);
  const storeResults = (state: readonly Expr[], index: readonly Expr[]): Stmt => {
    const elements = parts.flatMap(({ lowering, context, initial, offset }) =>
      lowering.finish(state.slice(offset, offset + initial.length), context),
    );
    const values = new Map(results.map((result, k) => [result, elements[k]]));
    const kept = index.filter((_, axis) => !folded.has(axis));
    const full = index.map((part, axis) => (folded.has(axis) ? zero : part));
    return epilogue.store(values, written, ({ type }) =>
      type.shape.length === rank ? full : kept,
    );
  };
  const initial = parts.flatMap((part) => part.initial);
  const probe = (index: readonly Expr[]): Probe =>
    probeOf(
      [...parts.map(({ element }) => element.at(index)), ...beside.map(({ at }) => at(index))],
      e.block(
        storeResults(initial, index),
        ...beside.map(({ sink, at }) => sink.store(index, at(index))),
      ),
    );
  const loops = planLoops(
    scope.builder.extents,
    input.type.shape,
    probe,
    (outer, inner) => folded.has(outer) === folded.has(inner),
  );
  const fold: Fold = {
    parts,
    beside,
    initial,
    rank,
    loops,
    storeResults,
    inner: loops.filter((loop) => folded.has(loop.axes[0])),
    outer: loops.filter((loop) => !folded.has(loop.axes[0])),
    lanes: lanesOf(parts, probe(shape.map(() => zero)), vectorBytes),
  };
  const last = loops[loops.length - 1];
  return last !== undefined && folded.has(last.axes[0])
    ? foldRows(fold, last)
    : foldColumns(fold, last);
}

interface Fold {
  readonly parts: readonly Part[];
  readonly beside: readonly Beside[];
  /** The neutral states of all parts. */
  readonly initial: readonly Expr[];
  readonly rank: number;
  readonly loops: readonly Loop[];
  /** The loops over folded axes, and over kept ones. */
  readonly inner: readonly Loop[];
  readonly outer: readonly Loop[];
  readonly lanes: number;
  storeResults(state: readonly Expr[], index: readonly Expr[]): Stmt;
}

function reductionOf(call: CallNode): ReduceLowering<Attributes> {
  const { lowering } = declarationOf(call.op);
  if (lowering.kind !== 'reduce') throw new InternalError(`${call.op.name} is not a reduction`);
  return lowering;
}

function partsOf(scope: Scope, anchors: readonly NodeId[], count: Expr): readonly Part[] {
  let offset = 0;
  return anchors.map((id) => {
    const call = scope.program.node(id) as CallNode;
    const lowering = reductionOf(call);
    const [input] = scope.program.operands(id);
    const context: ReduceContext<Attributes> = {
      attributes: call.attributes,
      inputDType: input.type.dtype,
      outputDTypes: call.types.map(({ dtype }) => dtype),
      count,
    };
    const initial = lowering.initial(context);
    const outputs = scope.program.results(id);
    const part = { lowering, context, element: scope.access(input), outputs, initial, offset };
    offset += initial.length;
    return part;
  });
}

/** As many lanes as a vector register has for the widest scalar that the nest handles. */
function lanesOf(parts: readonly Part[], { values }: Probe, vectorBytes: number): number {
  let widest = 4;
  const steps = parts.flatMap(({ lowering, context, initial, element }) =>
    lowering.step(initial, element.at(element.shape.map(() => zero)), zero, context),
  );
  visitExprs([...values, ...steps], ({ type }) => {
    widest = Math.max(widest, e.scalarBytes(type.scalar));
  });
  return vectorBytes / widest;
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
  const index = place(fold, keptAt, foldedAt);
  const position = flatIndex(foldedAt, rowMajorStrides(fold.inner.map(({ extent }) => extent)));
  const { lanes } = state[0].type;
  const next = fold.parts.flatMap(({ lowering, context, element, initial, offset }) =>
    lowering.step(
      state.slice(offset, offset + initial.length),
      e.broadcast(element.at(index), lanes),
      e.broadcast(position, lanes),
      context,
    ),
  );
  if (fold.beside.length === 0) return replace(state, next);
  // A result may take the place of what the state is made from, so it is stored last.
  const locals: Stmt[] = [];
  const stores = fold.beside.map(({ sink, at }, k) => {
    const element = at(index);
    const local = e.variable(`beside${k}`, element.type.scalar, element.type.lanes);
    locals.push(e.declare(local, element));
    return sink.store(index, local);
  });
  return e.block(...locals, replace(state, next), ...stores);
}

function combine(fold: Fold, a: readonly Expr[], b: readonly Expr[]): readonly Expr[] {
  return fold.parts.flatMap(({ lowering, context, initial, offset }) => {
    const end = offset + initial.length;
    return lowering.combine(a.slice(offset, end), b.slice(offset, end), context);
  });
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
  const statements: Stmt[] = [];
  for (let distance = 1; distance < states.length; distance *= 2) {
    for (let copy = 0; copy + distance < states.length; copy += 2 * distance) {
      const joined = combine(fold, states[copy], states[copy + distance]);
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
  let parts: (readonly Expr[])[] = Array.from({ length: fold.lanes }, (_, lane) =>
    state.map((part) => e.extract(part, lane)),
  );
  while (parts.length > 1) {
    const half = parts.length / 2;
    const upper = parts.slice(half);
    parts = upper.map((part, i) => combine(fold, parts[i], part));
  }
  return [replace(total, combine(fold, parts[0], total))];
}

/** The index into the input at which kept and folded loops stand. */
function place(fold: Fold, keptAt: readonly Expr[], foldedAt: readonly Expr[]): Expr[] {
  const { loops, inner, outer } = fold;
  const at = loops.map((loop) => {
    const kept = outer.indexOf(loop);
    return kept >= 0 ? keptAt[kept] : (foldedAt[inner.indexOf(loop)] ?? zero);
  });
  return indexOf(fold.rank, loops, at);
}

/** What the nest evaluates: the elements, and all that the stores of a statement without loops need. */
function probeOf(elements: readonly Expr[], stores: Stmt): Probe {
  const values = [...elements];
  const addresses: Expr[] = [];
  const visit = (stmt: Stmt): void => {
    if (stmt.kind === 'block') stmt.body.forEach(visit);
    else if (stmt.kind === 'declare') values.push(stmt.value);
    else if (stmt.kind === 'store') {
      values.push(stmt.value);
      addresses.push(stmt.index);
    }
  };
  visit(stores);
  return { values, addresses };
}
