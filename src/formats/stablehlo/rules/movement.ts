import { addDim, type Dim, isStatic } from '../../../base/dim/index.js';
import { normalizeAxis } from '../../../ops/declare/infer.js';
import { barrier, concat, dynamicSlice, pad, shard, updateSlice } from '../../../ops/index.js';
import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import type { PadMode } from '../../../ops/movement/pad.js';
import type { HloCall } from '../lowering/call.js';
import { type HloValue, isEmpty, upTo } from '../language/types.js';
import type { HloWriter } from '../language/writer.js';
import { HloExpressions } from '../lowering/expressions.js';
import { SizeVariables } from '../lowering/size-variables.js';
import { gatheredFrom } from '../lowering/reads.js';
import { hloRule, type RuleEntry } from './rule.js';

interface Placed {
  readonly axes: readonly number[];
}

interface PadAttributes {
  readonly widths: readonly (readonly Dim[])[];
  readonly mode: PadMode;
  readonly value: number;
}

export const movementRules: readonly RuleEntry[] = [
  hloRule<{ readonly axis: number }>(
    concat,
    ({ hlo, inputs, outputTypes: [{ shape }], attributes }) => {
      const axis = normalizeAxis(concat.declaration.name, attributes.axis, shape.length);
      return hlo.concat(inputs.filter((x) => !isEmpty(x)), axis); // prettier-ignore
    },
  ),
  hloRule<PadAttributes>(
    pad,
    ({ hlo, inputs: [x], inputTypes: [{ dtype, shape }], attributes }) => {
      const { widths, mode, value } = attributes;
      const ends = shape.map((_, axis) => (widths.length === 1 ? widths[0] : widths[axis]));
      if (mode !== 'constant') {
        return ends.reduce((inner, [before, after], axis) => {
          if (before === 0 && after === 0) return inner;
          const extent = shape[axis];
          const total = addDim(extent, addDim(before, after));
          const isKnown = isStatic(extent) && isStatic(before) && isStatic(after);
          const at = isKnown
            ? hlo.vector(sources(extent, before, after, mode))
            : computedSources(hlo, extent, total, before, mode);
          return taken(hlo, inner, axis, at);
        }, x);
      }
      const [low, high] = [0, 1].map((end) => ends.map((pair) => pair[end]));
      const isInteger = dtype !== 'bool' && !dtype.includes('float');
      return hlo.pad(x, hlo.splat(dtype, isInteger ? Math.trunc(value) : value), low, high);
    },
  ),
  hloRule<Placed>(dynamicSlice, (call) => {
    const { hlo, inputs: [x], outputTypes: [{ shape }] } = call; // prettier-ignore
    return hlo.dynamicSlice(x, starts(dynamicSlice.declaration.name, call, 1), shape);
  }),
  hloRule<Placed>(updateSlice, (call) => {
    const { hlo, inputs: [x, update] } = call; // prettier-ignore
    if (isEmpty(update)) return x;
    return hlo.updateSlice(x, update, starts(updateSlice.declaration.name, call, 2));
  }),
  hloRule<{ readonly axes: readonly (string | null)[] }>(
    shard,
    ({ hlo, inputs: [x], attributes: { axes } }) => {
      if (axes.every((axis) => axis === null)) return x;
      // The player knows the mesh, and writes the constraint in its place.
      const isKnown = x.shape.every(isStatic);
      return hlo.op('stablehlo.custom_call', isKnown ? [x] : [x, hlo.sizes(x.shape)], x, {
        call_target_name: '"kaon.shard"',
        backend_config: `"${axes.map((axis) => axis ?? '?').join(',')}"`,
        has_side_effect: 'false',
        ...(!isKnown && { indices_of_shape_operands: 'dense<1> : tensor<1xi64>' }),
      });
    },
  ),
  hloRule(barrier, ({ hlo, inputs: [x] }) => hlo.op('stablehlo.optimization_barrier', [x], x)),
];

/** The start of a block along each axis; negative ones count from the end. StableHLO clamps them. */
function starts(
  op: string,
  { hlo, inputs, inputTypes: [{ shape }], attributes: { axes } }: HloCall<Placed>,
  operand: number,
): readonly HloValue[] {
  const given = inputs[operand];
  const along = axes.map((axis) => normalizeAxis(op, axis, shape.length));
  return shape.map((extent, axis) => {
    const k = along.indexOf(axis);
    if (k < 0) return hlo.splat(given.dtype, 0);
    const start = hlo.reshape(
      given.shape.length === 0 ? given : hlo.slice(given, [k], [k + 1]),
      [],
    );
    const counted = hlo.map('add', [start, hlo.sizeSplat(start.dtype, extent)]);
    const isNegative = hlo.compare('LT', start, hlo.splat(start.dtype, 0));
    return hlo.map('select', [isNegative, counted, start], start.dtype);
  });
}

/** The elements of `x` along an axis at the indices of a vector. */
function taken(hlo: HloWriter, x: HloValue, axis: number, at: HloValue): HloValue {
  const offsets = upTo(x.shape.length).filter((k) => k !== axis);
  const [count] = at.shape;
  const indices = hlo.reshape(at, [count, 1]);
  const [sizes, shape] = [x.shape.with(axis, 1), x.shape.with(axis, count)];
  const axes = { offsets, searched: [axis], batch: [], batchInIndices: [] };
  return gatheredFrom(hlo, x, indices, sizes, shape, axes);
}

/** The index in an axis of each element of the padded axis. */
function sources(extent: number, before: number, after: number, mode: PadMode): readonly number[] {
  const last = extent - 1;
  const modulo = (at: number, period: number): number => ((at % period) + period) % period;
  return upTo(before + extent + after).map((i) => {
    const at = i - before;
    if (mode === 'edge') return Math.min(Math.max(at, 0), last);
    if (mode === 'wrap') return modulo(at, extent);
    const phase = modulo(at, Math.max(2 * last, 1));
    return Math.min(phase, Math.abs(2 * last - phase));
  });
}

/** `sources` of an axis whose extent is symbolic. */
function computedSources(
  hlo: HloWriter,
  extent: Dim,
  total: Dim,
  before: Dim,
  mode: PadMode,
): HloValue {
  const extents = new SizeVariables(hlo);
  const place = e.variable('place', 'i32');
  const expressions = new HloExpressions(hlo, [total], (variable) =>
    variable === place
      ? { value: hlo.iota('int32', [total], 0), axes: [0] }
      : extents.meaning(variable)!,
  );
  const size = extents.of(extent);
  const at = e.sub(place, extents.of(before));
  const last = e.sub(size, 1);
  const modulo = (x: Expr, period: Expr): Expr => e.rem(e.add(e.rem(x, period), period), period);
  if (mode === 'edge') return expressions.whole(e.min(e.max(at, 0), last));
  if (mode === 'wrap') return expressions.whole(modulo(at, size));
  const phase = modulo(at, e.max(e.mul(last, 2), 1));
  return expressions.whole(e.min(phase, e.abs(e.sub(e.mul(last, 2), phase))));
}
