import { elementCount, sameDim, subDim } from '../../../base/dim/index.js';
import type { Shape } from '../../../ir/types.js';
import { normalizeAxis } from '../../../ops/declare/infer.js';
import { scatter, scatterAdd } from '../../../ops/index.js';
import { isNarrowFloat } from '../../../base/dtype.js';
import type { HloCall } from '../lowering/call.js';
import { dimensionNumbers, gatheredFrom } from '../lowering/reads.js';
import { type HloValue, isEmpty, upTo } from '../language/types.js';
import type { HloWriter } from '../language/writer.js';
import { hloRule, type RuleEntry } from './rule.js';

interface Along {
  readonly axis: number;
}

export const scatterRules: readonly RuleEntry[] = [
  hloRule<Along>(scatterAdd, (call) => {
    const { hlo, inputs: [x, , updates], inputTypes: [{ dtype }] } = call; // prettier-ignore
    if (isEmpty(updates)) return x;
    const wide = isNarrowFloat(dtype) ? 'float32' : dtype;
    const places = placesOf(scatterAdd.declaration.name, call);
    const join = dtype === 'bool' ? 'or' : 'add';
    const sums = scattered(hlo, hlo.convert(x, wide), places, hlo.convert(updates, wide), join);
    return hlo.convert(sums, dtype);
  }),
  hloRule<Along>(scatter, (call) => {
    const { hlo, inputs: [x, , updates] } = call; // prettier-ignore
    if (isEmpty(updates)) return x;
    const places = placesOf(scatter.declaration.name, call);
    // Of colliding updates the last one wins, whatever order a device writes in: the greatest number stays, and
    // the others are sent outside, where updates are dropped.
    const { shape } = updates;
    const numbers = hlo.reshape(hlo.iota('int32', [elementCount(shape)], 0), shape);
    const nobody = hlo.splat('int32', -1, x.shape);
    const stayed = scattered(hlo, nobody, places, numbers, 'maximum');
    const winners = gatheredBack(hlo, stayed, places, shape);
    const outside = hlo.sizeSplat('int32', x.shape[places.axis], shape);
    const at = hlo.map(
      'select',
      [hlo.compare('EQ', winners, numbers), places.at, outside],
      'int32',
    );
    return scattered(hlo, x, { ...places, at }, updates, null);
  }),
];

/** Indices along an axis, int32, in the shape of the updates; other axes keep their index. */
interface Places {
  readonly axis: number;
  readonly at: HloValue;
}

function placesOf(op: string, { hlo, inputs: [x, indices], attributes }: HloCall<Along>): Places {
  const axis = normalizeAxis(op, attributes.axis, x.shape.length);
  const extent = x.shape[axis];
  // int8 and uint8 may not represent the extent, but their elements are within it.
  const wide = indices.dtype === 'int8' || indices.dtype === 'uint8';
  const index = wide ? hlo.convert(indices, 'int32') : indices;
  const counted = wide
    ? hlo.map('add', [index, hlo.sizeSplat('int32', extent, index.shape)])
    : hlo.map('add', [index, hlo.sizeSplat(indices.dtype, extent, indices.shape)]);
  const isNegative = hlo.compare('LT', index, hlo.splat(index.dtype, 0, index.shape));
  const from = hlo.map('select', [isNegative, counted, index], index.dtype);
  const bounds = [
    hlo.splat(from.dtype, 0, from.shape),
    hlo.sizeSplat(from.dtype, subDim(extent, 1), from.shape),
  ];
  return {
    axis,
    at: hlo.convert(hlo.map('clamp', [bounds[0], from, bounds[1]], from.dtype), 'int32'),
  };
}

/** Pairs the axes of an array and of indices: shared ones are batches, so that they stay divided. */
function pairing(
  hlo: HloWriter,
  x: HloValue,
  { axis, at }: Places,
): {
  readonly batch: readonly number[];
  readonly searched: readonly number[];
  readonly indices: HloValue;
} {
  const axes = upTo(x.shape.length);
  const batch = axes.filter((k) => k !== axis && sameDim(x.shape[k], at.shape[k]));
  const searched = axes.filter((k) => !batch.includes(k));
  const columns = searched.map((k) =>
    hlo.reshape(k === axis ? at : hlo.iota('int32', at.shape, k), [...at.shape, 1]),
  );
  return { batch, searched, indices: hlo.concat(columns, at.shape.length) };
}

/** `x` with updates joined to elements; without `join` they replace them. */
function scattered(
  hlo: HloWriter,
  x: HloValue,
  places: Places,
  updates: HloValue,
  join: string | null,
): HloValue {
  const { batch, searched, indices } = pairing(hlo, x, places);
  const scalar = { dtype: x.dtype, shape: [] };
  const region = hlo.region([scalar, scalar], 'isolated', ([old, update]) => [
    join === null ? update : hlo.map(join, [old, update]),
  ]);
  const numbers = dimensionNumbers('scatter', {
    inserted_window_dims: searched,
    input_batching_dims: batch,
    scatter_indices_batching_dims: batch,
    scatter_dims_to_operand_dims: searched,
    index_vector_dim: places.at.shape.length,
  });
  return hlo.ops(
    'stablehlo.scatter',
    [x, indices, updates],
    [x],
    { scatter_dimension_numbers: numbers, indices_are_sorted: 'false', unique_indices: 'false' },
    [region],
  )[0];
}

/** The elements of `x` at the places. */
function gatheredBack(hlo: HloWriter, x: HloValue, places: Places, shape: Shape): HloValue {
  const { batch, searched, indices } = pairing(hlo, x, places);
  const ones = x.shape.map(() => 1);
  const axes = { offsets: [], searched, batch, batchInIndices: batch };
  return gatheredFrom(hlo, x, indices, ones, shape, axes);
}
