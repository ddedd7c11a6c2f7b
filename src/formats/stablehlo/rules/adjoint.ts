import { addDim, type Dim, elementCount, mulDim, subDim } from '../../../base/dim/index.js';
import { isNarrowFloat } from '../../../base/dtype.js';
import type { Shape } from '../../../ir/types.js';
import * as e from '../../../loop/language/build.js';
import type { SizedWindows } from '../../../ops/contraction/window.js';
import { normalizeAxis } from '../../../ops/declare/infer.js';
import { computeScalar } from '../../../ops/declare/lowering.js';
import { sliceAdjoint, slidingWindowsAdjoint, takeAdjoint } from '../../../ops/index.js';
import { type IndexMode, positionAt } from '../../../ops/indexing/position.js';
import { resolveIndices, type SliceEntry } from '../../../ops/movement/range.js';
import type { HloCall } from '../lowering/call.js';
import { scalarDTypes } from '../../../ops/elements.js';
import { HloExpressions } from '../lowering/expressions.js';
import { SizeVariables } from '../lowering/size-variables.js';
import { dimensionNumbers } from '../lowering/reads.js';
import { countOf, type HloValue, isEmpty, upTo } from '../language/types.js';
import { type HloWriter, spreadSize } from '../language/writer.js';
import { hloRule, type RuleEntry } from './rule.js';

/*
 * Adjoints of operators that move elements. Axes stay axes: the general way, which numbers all elements and adds them
 * up by their numbers, would gather arrays that are divided over devices.
 */

/** Up to this many elements of a window, its adjoint is a sum of shifted arrays. */
const mostShifts = 64;

export const adjointRules: readonly RuleEntry[] = [
  hloRule<{ readonly shape: Shape; readonly indices: readonly SliceEntry[] }>(
    sliceAdjoint,
    (call) => {
      const { hlo, inputs: [g], outputTypes: [{ dtype, shape }], attributes } = call; // prettier-ignore
      if (isEmpty(g)) return hlo.splat(dtype, 0, shape);
      const { ranges } = resolveIndices(sliceAdjoint.declaration.name, attributes.shape, attributes.indices); // prettier-ignore
      const block = hlo.reshape(g, ranges.map(({ length }) => length)); // prettier-ignore
      const backwards = upTo(ranges.length).filter((axis) => ranges[axis].step < 0);
      const low = ranges.map(({ start, step, length }) => step < 0 ? addDim(start, mulDim(step, subDim(length, 1))) : start); // prettier-ignore
      const steps = ranges.map(({ step }) => Math.abs(step));
      return spread(hlo, hlo.reverse(block, backwards), low, steps, shape);
    },
  ),
  hloRule<SizedWindows & { readonly size: readonly Dim[] }>(slidingWindowsAdjoint, (call) => {
    const { hlo, inputs: [g], outputTypes: [{ dtype, shape }], attributes } = call; // prettier-ignore
    const { kernel, strides, padding, dilation } = attributes;
    if (isEmpty(g)) return hlo.splat(dtype, 0, shape);
    if (countOf(kernel) > mostShifts) return null;
    const lead = shape.length - kernel.length;
    const wide = isNarrowFloat(dtype) ? 'float32' : dtype;
    const from = hlo.convert(g, wide);
    const count = g.shape.slice(lead + kernel.length);
    const parts = places(kernel).map((at) => {
      const start = [...upTo(lead).map(() => 0), ...at, ...count.map(() => 0)];
      const stop: Shape = [...shape.slice(0, lead), ...at.map((k) => k + 1), ...count];
      const part = hlo.reshape(hlo.slice(from, start, stop), [...shape.slice(0, lead), ...count]);
      const low = at.map((k, axis) => subDim(k * dilation[axis], padding[axis][0]));
      const zeros = upTo(lead).map(() => 0);
      return spread(hlo, part, [...zeros, ...low], [...zeros.map(() => 1), ...strides], shape);
    });
    return hlo.convert(parts.reduce((a, b) => hlo.map('add', [a, b])), dtype); // prettier-ignore
  }),
  hloRule<Taken>(takeAdjoint, writeTakeAdjoint),
];

/** An array with its elements `steps` apart, from `low` on, in zeros; elements outside are dropped. */
function spread(
  hlo: HloWriter,
  x: HloValue,
  low: Shape,
  steps: readonly number[],
  shape: Shape,
): HloValue {
  const high = shape.map((extent, axis) => {
    const used = spreadSize(x.shape[axis], steps[axis]);
    return subDim(subDim(extent, low[axis]), used);
  });
  return hlo.pad(x, hlo.splat(x.dtype, 0), low, high, steps.map((step) => step - 1)); // prettier-ignore
}

/** Every index of a shape. */
function places(shape: readonly number[]): readonly (readonly number[])[] {
  return shape.reduce<readonly (readonly number[])[]>(
    (indices, extent) => indices.flatMap((index) => upTo(extent).map((k) => [...index, k])),
    [[]],
  );
}

interface Taken {
  readonly shape: Shape;
  readonly axis: number | null;
  readonly mode: IndexMode;
}

/** One scatter of sub-arrays along the axis that they were taken from. */
function writeTakeAdjoint({
  hlo,
  inputs: [g, indices],
  outputTypes: [type],
  attributes,
}: HloCall<Taken>): HloValue {
  // prettier-ignore
  const { dtype, shape } = type;
  if (isEmpty(g)) return hlo.splat(dtype, 0, shape);
  const flat = attributes.axis === null;
  const target = flat ? [elementCount(shape)] : shape;
  const axis = flat ? 0 : normalizeAxis(takeAdjoint.declaration.name, attributes.axis!, shape.length); // prettier-ignore
  const raw = e.variable('index', computeScalar(indices.dtype));
  const extents = new SizeVariables(hlo);
  const expressions = new HloExpressions(
    hlo,
    indices.shape,
    (variable) =>
      extents.meaning(variable) ?? {
        value: hlo.convert(indices, scalarDTypes[raw.type.scalar]),
        axes: upTo(indices.shape.length),
      },
  );
  const at = expressions.whole(positionAt(raw, extents.of(target[axis]), attributes.mode));
  const rank = indices.shape.length;
  const windows = [...upTo(axis), ...upTo(target.length - axis - 1).map((k) => axis + rank + k)];
  const wide = isNarrowFloat(dtype) ? 'float32' : dtype;
  const scalar = { dtype: wide, shape: [] };
  const region = hlo.region([scalar, scalar], 'isolated', ([sum, term]) => [
    hlo.map(dtype === 'bool' ? 'or' : 'add', [sum, term]),
  ]);
  const numbers = dimensionNumbers('scatter', {
    update_window_dims: windows,
    inserted_window_dims: [axis],
    scatter_dims_to_operand_dims: [axis],
    index_vector_dim: rank,
  });
  const [sums] = hlo.ops(
    'stablehlo.scatter',
    [hlo.splat(wide, 0, target), at, hlo.convert(g, wide)],
    [{ dtype: wide, shape: target }],
    { scatter_dimension_numbers: numbers, indices_are_sorted: 'false', unique_indices: 'false' },
    [region],
  );
  return hlo.reshape(hlo.convert(sums, dtype), shape);
}
