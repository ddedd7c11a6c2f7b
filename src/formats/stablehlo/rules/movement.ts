import { normalizeAxis } from '../../../ops/declare/infer.js';
import { barrier, concat, dynamicSlice, pad, shard, updateSlice } from '../../../ops/index.js';
import type { PadMode } from '../../../ops/movement/pad.js';
import type { HloCall } from '../lowering/call.js';
import { countOf, type HloValue, upTo } from '../language/types.js';
import { type HloWriter, integerList } from '../language/writer.js';
import { dimensionNumbers } from '../lowering/reads.js';
import { hloRule, type RuleEntry } from './rule.js';

interface Placed {
  readonly axes: readonly number[];
}

interface PadAttributes {
  readonly widths: readonly (readonly number[])[];
  readonly mode: PadMode;
  readonly value: number;
}

export const movementRules: readonly RuleEntry[] = [
  hloRule<{ readonly axis: number }>(
    concat,
    ({ hlo, inputs, outputTypes: [{ shape }], attributes }) => {
      const axis = normalizeAxis(concat.declaration.name, attributes.axis, shape.length);
      return hlo.concat(inputs.filter((x) => countOf(x.shape) > 0), axis); // prettier-ignore
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
          return taken(hlo, inner, axis, sources(shape[axis], before, after, mode));
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
    if (countOf(update.shape) === 0) return x;
    return hlo.updateSlice(x, update, starts(updateSlice.declaration.name, call, 2));
  }),
  hloRule<{ readonly axes: readonly (string | null)[] }>(
    shard,
    ({ hlo, inputs: [x], attributes: { axes } }) => {
      if (axes.every((axis) => axis === null)) return x;
      // The player knows the mesh, and writes the constraint in its place.
      return hlo.op('stablehlo.custom_call', [x], x, {
        call_target_name: '"kaon.shard"',
        backend_config: `"${axes.map((axis) => axis ?? '?').join(',')}"`,
        has_side_effect: 'false',
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
    const counted = hlo.map('add', [start, hlo.splat(start.dtype, extent)]);
    const isNegative = hlo.compare('LT', start, hlo.splat(start.dtype, 0));
    return hlo.map('select', [isNegative, counted, start], start.dtype);
  });
}

/** The elements of `x` at known indices along an axis. */
function taken(hlo: HloWriter, x: HloValue, axis: number, at: readonly number[]): HloValue {
  const offsets = upTo(x.shape.length).filter((k) => k !== axis);
  return hlo.op(
    'stablehlo.gather',
    [x, hlo.reshape(hlo.vector(at), [at.length, 1])],
    { dtype: x.dtype, shape: x.shape.with(axis, at.length) },
    {
      dimension_numbers: dimensionNumbers('gather', {
        offset_dims: offsets,
        collapsed_slice_dims: [axis],
        start_index_map: [axis],
        index_vector_dim: 1,
      }),
      slice_sizes: integerList(x.shape.with(axis, 1)),
      indices_are_sorted: 'false',
    },
  );
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
