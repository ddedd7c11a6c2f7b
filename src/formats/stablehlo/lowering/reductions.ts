import { elementCount } from '../../../base/dim/index.js';
import type { Attributes } from '../../../base/attributes/schema.js';
import * as e from '../../../loop/language/build.js';
import type { BinaryExpr, Expr } from '../../../loop/language/nodes.js';
import { computeScalar, type ReduceContext, type ReduceLowering } from '../../../ops/declare/lowering.js'; // prettier-ignore
import type { HloCall } from './call.js';
import { scalarDTypes } from '../../../ops/elements.js';
import { HloExpressions, type HloSpread } from './expressions.js';
import { SizeVariables } from './size-variables.js';
import { type HloType, type HloValue, upTo } from '../language/types.js';
import type { HloRegion } from '../language/builder.js';
import { integerList } from '../language/sizes.js';
import type { HloWriter } from '../language/writer.js';

/**
 * Writes a reduction: every element becomes a state of its own, states are joined by a variadic `reduce`, and the
 * results are expressions of the last state.
 */
export function writeReduction(
  call: HloCall,
  lowering: ReduceLowering<Attributes>,
): readonly HloValue[] {
  const { hlo, inputTypes: [type], outputTypes, attributes } = call; // prettier-ignore
  const axes = lowering.axes(attributes, type.shape.length);
  const folded = axes.map((axis) => type.shape[axis]);
  const extents = new SizeVariables(hlo);
  const context: ReduceContext<Attributes> = {
    attributes,
    inputDType: type.dtype,
    outputDTypes: outputTypes.map(({ dtype }) => dtype),
    count: extents.of(elementCount(folded)),
  };
  const initial = lowering.initial(context);
  const neutral = initial.map(
    (part) =>
      new HloExpressions(hlo, [], (variable) => extents.meaning(variable) ?? noVariable()).write(
        part,
      ).value,
  );
  const mapped = mappedStates(call, lowering, context, extents, initial, axes);
  const region = joining(hlo, extents, initial, (a, b) => lowering.combine(a, b, context));
  const rest = type.shape.filter((_, axis) => !axes.includes(axis));
  const stateTypes = neutral.map(({ dtype }): HloType => ({ dtype, shape: rest }));
  const states =
    axes.length === 0
      ? mapped
      : hlo.ops('stablehlo.reduce', [...mapped, ...neutral], stateTypes, { dimensions: integerList(axes) }, [region]); // prettier-ignore
  const variables = initial.map(({ type: { scalar } }) => e.variable('state', scalar));
  const finish = new HloExpressions(hlo, rest, (variable) => {
    const size = extents.meaning(variable);
    if (size !== null) return size;
    const state = states[variables.indexOf(variable as (typeof variables)[number])];
    return { value: state, axes: upTo(rest.length) };
  });
  return lowering.finish(variables, context).map((result, k) => {
    const value = hlo.convert(finish.whole(result), outputTypes[k].dtype);
    return hlo.reshape(value, outputTypes[k].shape);
  });

  function noVariable(): HloSpread {
    return call.hlo.unsupported('its neutral state is not constant');
  }
}

/** The state of each element alone. */
function mappedStates(
  { hlo, inputs: [x], inputTypes: [type] }: HloCall,
  lowering: ReduceLowering<Attributes>,
  context: ReduceContext<Attributes>,
  extents: SizeVariables,
  initial: readonly Expr[],
  axes: readonly number[],
): readonly HloValue[] {
  const { shape } = type;
  const all = upTo(shape.length);
  const scalar = computeScalar(type.dtype);
  const element = e.variable('element', scalar);
  const index = axes.map((axis) => ({ axis, variable: e.variable('index', 'i32') }));
  const position = index.reduce<Expr>(
    (sum, { axis, variable }, k) =>
      k === 0 ? variable : e.add(e.mul(sum, extents.of(shape[axis])), variable),
    e.i32(0),
  );
  const before = initial.map((part) => e.variable('state', part.type.scalar));
  const expressions = new HloExpressions(hlo, shape, (variable) => {
    if (variable === element) return { value: hlo.convert(x, scalarDTypes[scalar]), axes: all };
    const size = extents.meaning(variable);
    if (size !== null) return size;
    const axis = index.find((each) => each.variable === variable)?.axis;
    if (axis === undefined) return hlo.unsupported('its state is read apart from its initial value'); // prettier-ignore
    return { value: hlo.iota('int32', [shape[axis]], 0, axis), axes: [axis] };
  });
  const plain = termOf(lowering, context, before, element, position);
  if (plain !== null) return [expressions.whole(plain)];
  return lowering.step(initial, element, position, context).map((part) => expressions.whole(part));
}

/** The term of a reduction such as `state + term`, joined by the same operation; null when it is another one. */
function termOf(
  lowering: ReduceLowering<Attributes>,
  context: ReduceContext<Attributes>,
  before: readonly Expr[],
  element: Expr,
  position: Expr,
): Expr | null {
  if (before.length !== 1) return null;
  const [next] = lowering.step(before, element, position, context);
  const [other] = before.map(({ type: { scalar } }) => e.variable('other', scalar));
  const [joined] = lowering.combine(before, [other], context);
  const isOn = (expr: Expr, a: Expr): expr is BinaryExpr => expr.kind === 'binary' && expr.a === a;
  if (!isOn(next, before[0]) || !isOn(joined, before[0]) || joined.b !== other) return null;
  return next.op === joined.op && !reads(next.b, before[0]) ? next.b : null;
}

function reads(expr: Expr, variable: Expr): boolean {
  if (expr === variable) return true;
  switch (expr.kind) {
    case 'unary':
    case 'cast':
    case 'bitcast':
      return reads(expr.x, variable);
    case 'binary':
      return reads(expr.a, variable) || reads(expr.b, variable);
    case 'select':
      return [expr.condition, expr.a, expr.b].some((part) => reads(part, variable));
    default:
      return false;
  }
}

/** The region that joins two states: of a `reduce` or a scan. */
function joining(
  hlo: HloWriter,
  extents: SizeVariables,
  state: readonly Expr[],
  combine: (a: readonly Expr[], b: readonly Expr[]) => readonly Expr[],
): HloRegion {
  const [a, b] = [0, 1].map(() => state.map(({ type: { scalar } }) => e.variable('state', scalar)));
  const variables: readonly Expr[] = [...a, ...b];
  const types = variables.map(({ type: { scalar } }): HloType => ({ dtype: scalarDTypes[scalar], shape: [] })); // prettier-ignore
  return hlo.region(types, 'isolated', (args) => {
    const expressions = new HloExpressions(
      hlo,
      [],
      (variable) =>
        extents.meaning(variable) ?? { value: args[variables.indexOf(variable)], axes: [] },
    );
    return combine(a, b).map((part) => expressions.write(part).value);
  });
}
