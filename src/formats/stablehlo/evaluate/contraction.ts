import { isFloat } from '../../../base/dtype.js';
import { upTo } from '../language/types.js';
import { dimensionsOf, integersOf } from './attributes.js';
import type { SizedOperation } from './sizes.js';
import { tensorElement, forEachIndex, type HloTensor, tabulate } from './tensor.js';

/** A sum of products: floats are summed in float64, integers exactly and then wrapped. */
function sumOf(x: HloTensor, add: (term: (a: number | bigint, b: number | bigint) => void) => void): number | bigint {
  if (isFloat(x.dtype)) {
    let sum = 0;
    add((a, b) => (sum += Number(a) * Number(b)));
    return sum;
  }
  let sum = 0n;
  add((a, b) => (sum += BigInt(a) * BigInt(b)));
  const wrapped = BigInt.asIntN(x.dtype === 'int64' ? 64 : 32, sum);
  return x.dtype === 'int64' ? wrapped : Number(wrapped);
} // prettier-ignore

export function evaluateProduct(
  operation: SizedOperation,
  [x, y]: readonly HloTensor[],
): HloTensor {
  const numbers = operation.attributes.get('dot_dimension_numbers') ?? '';
  const [batch, inner] = ['batching', 'contracting'].map((kind) =>
    ['lhs', 'rhs'].map((side) => dimensionsOf(numbers, `${side}_${kind}_dimensions`)),
  );
  const free = [x, y].map(({ shape }, side) =>
    upTo(shape.length).filter((k) => !batch[side].includes(k) && !inner[side].includes(k)),
  );
  const lengths = inner[0].map((axis) => x.shape[axis]);
  const [{ dtype, shape }] = operation.types;
  const places = [x, y].map((operand) => operand.shape.map(() => 0));
  return tabulate(dtype, shape, (index) => {
    const afterBatch = batch[0].length;
    [0, 1].forEach((side) => {
      batch[side].forEach((axis, k) => (places[side][axis] = index[k]));
      const offset = afterBatch + (side === 0 ? 0 : free[0].length);
      free[side].forEach((axis, k) => (places[side][axis] = index[offset + k]));
    });
    return sumOf(x, (term) =>
      forEachIndex(lengths, (at) => {
        [0, 1].forEach((side) => inner[side].forEach((axis, k) => (places[side][axis] = at[k])));
        term(tensorElement(x, places[0]), tensorElement(y, places[1]));
      }),
    );
  });
}

export function evaluateConvolution(
  operation: SizedOperation,
  [x, w]: readonly HloTensor[],
): HloTensor {
  const [strides, stretch, dilation] = ['window_strides', 'lhs_dilation', 'rhs_dilation'].map((name) => integersOf(operation, name)); // prettier-ignore
  const pads = integersOf(operation, 'padding').slice(0, 2 * strides.length);
  const [groups] = integersOf(operation, 'feature_group_count');
  const isOutputFirst = (operation.attributes.get('dimension_numbers') ?? '').includes('x[o, i');
  const [out, input] = isOutputFirst ? [0, 1] : [1, 0];
  const [{ dtype, shape }] = operation.types;
  const perGroup = shape[1] / groups;
  const kernel = w.shape.slice(2);
  return tabulate(dtype, shape, ([batch, channel, ...index]) =>
    sumOf(x, (term) =>
      forEachIndex([w.shape[input], ...kernel], ([k, ...at]) => {
        const source = index.map((i, axis) => i * strides[axis] + at[axis] * dilation[axis] - pads[2 * axis]); // prettier-ignore
        const isThere = source.every((i, axis) => i >= 0 && i % stretch[axis] === 0 && i / stretch[axis] < x.shape[axis + 2]); // prettier-ignore
        if (!isThere) return;
        const from = Math.floor(channel / perGroup) * w.shape[input] + k;
        const weight = [0, 0, ...at];
        [weight[out], weight[input]] = [channel, k];
        const element = [batch, from, ...source.map((i, axis) => i / stretch[axis])];
        term(tensorElement(x, element), tensorElement(w, weight));
      }),
    ),
  );
}
