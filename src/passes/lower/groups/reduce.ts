import { InternalError } from '../../../base/errors.js';
import type { Attributes } from '../../../base/attributes/schema.js';
import type { NodeId } from '../../../graph/graph.js';
import type { CallNode, Program } from '../../../ir/program.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import type { Target } from '../../../loop/language/target.js';
import { visitExprs } from '../../../loop/language/visit.js';
import type { DeviceTarget } from '../../../ops/declare/kernels.js';
import type { ReduceContext, ReduceLowering } from '../../../ops/declare/lowering.js';
import { declarationOf } from '../../../ops/declare/facets.js';
import { scalarDTypes } from '../../../ops/elements.js';
import { inOrder, mulIndex, one, zero } from '../../../ops/nests/access.js';
import type { Epilogue } from '../nests/epilogue.js';
import { type PerElementWork, type Fold, type FoldPart } from '../../../ops/nests/fold.js';
import { planLoops, type Probe } from '../../../ops/nests/nest.js';
import type { KernelScope } from '../nests/scope.js';

/** The nest of reductions that fold inputs of one shape over the same axes. */
export function reduceNest(
  scope: KernelScope,
  anchors: readonly NodeId[],
  beside: readonly PerElementWork[],
  epilogue: Epilogue,
  target: DeviceTarget,
  isDivided: boolean,
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
  const storeResults = (state: readonly Expr[], index: readonly Expr[]): Stmt => {
    const elements = parts.flatMap(({ lowering, context, initial, offset }) =>
      lowering.finish(state.slice(offset, offset + initial.length), context),
    );
    const values = new Map(results.map((result, k) => [result, elements[k]]));
    const at = index.filter((_, axis) => !folded.has(axis) && input.type.shape[axis] !== 1);
    return epilogue.store(values, ({ type }) => inOrder(scope.shape(type.shape), at));
  };
  const initial = parts.flatMap((part) => part.initial);
  const valuesOf = (index: readonly Expr[]): readonly Expr[] => [
    ...parts.map(({ element }) => element.at(index)),
    ...beside.map(({ at }) => at(index)),
  ];
  const probe = (index: readonly Expr[]): Probe =>
    probeOf(
      valuesOf(index),
      e.block(
        storeResults(initial, index),
        ...beside.map(({ sink, at }) => sink.store(index, at(index))),
      ),
    );
  const { loops } = planLoops(scope.builder.extents, input.type.shape, probe, folded);
  const fold: Fold = {
    scratch: (name, scalar, length) => scope.builder.scratch(name, scalarDTypes[scalar], length),
    parts,
    beside,
    initial,
    rank,
    loops,
    storeResults,
    inner: loops.filter((loop) => !loop.isIndependent),
    outer: loops.filter((loop) => loop.isIndependent),
    lanes: lanesOf(parts, probe(shape.map(() => zero)).values, target),
    foldedLanes: lanesOf(parts, valuesOf(shape.map(() => zero)), target),
  };
  return target.nests.folds(fold, isDivided);
}

function reductionOf(call: CallNode): ReduceLowering<Attributes> {
  const { lowering } = declarationOf(call.op);
  if (lowering.kind !== 'reduce') throw new InternalError(`${call.op.name} is not a reduction`);
  return lowering;
}

/** A reduction, and its neutral state. */
export function reductionIn(
  program: Program,
  id: NodeId,
  count: Expr,
): Pick<FoldPart, 'lowering' | 'context' | 'initial'> {
  const call = program.node(id) as CallNode;
  const lowering = reductionOf(call);
  const context: ReduceContext<Attributes> = {
    attributes: call.attributes,
    inputDType: program.operands(id)[0].type.dtype,
    outputDTypes: call.types.map(({ dtype }) => dtype),
    count,
  };
  return { lowering, context, initial: lowering.initial(context) };
}

export function partsOf(
  scope: KernelScope,
  anchors: readonly NodeId[],
  count: Expr,
): readonly FoldPart[] {
  let offset = 0;
  return anchors.map((id) => {
    const [input] = scope.program.operands(id);
    const { lowering, context, initial } = reductionIn(scope.program, id, count);
    const outputs = scope.program.results(id);
    const part = { lowering, context, element: scope.access(input), outputs, initial, offset };
    offset += initial.length;
    return part;
  });
}

/** Lanes of a vector register for the widest scalar of the nest; 1 where registers are no wider than that. */
export function lanesOf(
  parts: readonly FoldPart[],
  values: Probe['values'],
  { vectorBytes }: Target,
): number {
  let widest = 4;
  const steps = parts.flatMap(({ lowering, context, initial, element }) =>
    lowering.step(initial, element.at(element.shape.map(() => zero)), zero, context),
  );
  visitExprs([...values, ...steps], ({ type }) => {
    widest = Math.max(widest, e.scalarBytes(type.scalar));
  });
  return Math.max(vectorBytes / widest, 1);
}

/**
 * Expressions that the nest evaluates: the elements, and the operands of stores in a statement without loops.
 */
export function probeOf(elements: readonly Expr[], stores: Stmt): Probe {
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
