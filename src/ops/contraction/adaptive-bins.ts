import * as attr from '../../base/attributes/attribute.js';
import {
  addDim, ceilDivDim, type Dim, floorDivDim, isMultipleOf, maxDim,
  minDim, modDim, mulDim, sameShape,
} from '../../base/dim/index.js'; // prettier-ignore
import { atLeast, type Refusal, type Require, words } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { example } from '../declare/law.js';
import { computeScalar } from '../declare/lowering.js';
import {
  type RequiredShape,
  requiredShape,
  requireShape,
  shapeMeetings,
} from '../declare/meeting.js';
import { clamped, divisor } from '../loops.js';
import { expandDims, reshape } from '../movement/reshape.js';
import { worst } from '../reduction/best.js';
import { broadcastTo } from '../reduction/sum.js';
import { splitAxes } from './window.js';

/*
 * Adaptive pools divide the n elements of an axis among m bins: bin q has the elements from floor(q n / m) to
 * before ceil((q + 1) n / m). So element p is in bin q where q n < (p + 1) m and p m < (q + 1) n. That is
 * symmetric: it is in bin q exactly where q is in bin p of m elements divided among n bins. What sums over the
 * elements of bins has a gradient that sums over the bins of elements, by the same code.
 */

/** Size of the largest of `bins` bins over `extent` elements. */
export function binWidth(extent: Dim, bins: Dim): Dim {
  if (bins !== 0 && isMultipleOf(extent, bins)) return floorDivDim(extent, bins);
  if (extent !== 0 && isMultipleOf(bins, extent)) return 1;
  // Sizes are computed, for messages too, before it is known that they are not 0.
  const count = maxDim(bins, 1);
  const rest = maxDim(modDim(extent, count), 1);
  // Bins that begin within an element are longer, unless the rest of the division divides their number.
  return addDim(ceilDivDim(extent, count), minDim(modDim(count, rest), 1));
}

/** True when all bins are known to have the same size. */
export function areBinsEqual(extent: Dim, bins: Dim): boolean {
  return isMultipleOf(extent, bins) || isMultipleOf(bins, extent);
}

/** States that every axis has elements and bins, and not so many of both that positions overflow. */
export function requireBins(op: string, extents: Shape, bins: Shape, require: Require): void {
  extents.forEach((extent, axis) => {
    const count = bins[axis];
    const refusal = (expected: string) => (): Refusal => ({
      op,
      problem: words`the bins do not fit the size`,
      expected: words`${expected}`,
      actual: words`${count} bins over ${extent} elements, on spatial axis ${axis}`,
    });
    for (const size of [extent, count])
      require(atLeast(size, 1), refusal('at least 1 bin, and at least 1 element'));
    if (areBinsEqual(extent, count)) return;
    // Positions are products of both before they are divided.
    const most = mulDim(addDim(extent, 1), addDim(count, 1));
    require(atLeast(2 ** 31 - 1, most), refusal('a product of both below 2^31'));
  });
}

/** The sizes of the largest bins, an axis each. */
export function binWidths(extents: Shape, bins: Shape): Shape {
  return extents.map((extent, axis) => binWidth(extent, bins[axis]));
}

/**
 * @internal The pairs of an element and a bin that holds it, listed by bins instead of by elements: `[..., ...slots,
 * ...size]`, with the bins of each element, becomes `[..., ...slots, ...bins]`, with the elements of each bin.
 * Slots beyond a bin's elements hold zero or the lowest value of the dtype, those beyond an element's bins are
 * not read. With the two sizes exchanged it is its own inverse, and its own adjoint.
 */
export const exchangeBins: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    bins: readonly Dim[],
    options?: { readonly outside?: 'zero' | 'lowest' },
  ) => T
> = operator({
  name: 'exchangeBins',
  options: { at: 2, names: ['outside'] },
  family: 'contraction',
  attributes: { bins: attr.dims, outside: attr.oneOf('zero', 'lowest') },
  operands: 'keep',
  method: false,
  call: (x, bins, options) => ({
    inputs: [x],
    attributes: { bins, outside: options?.outside ?? 'zero' },
  }),
  infer: ({ inputs: [x], attributes: { bins }, require }) => {
    const [lead, extents] = extentsIn(x.shape, bins);
    requireBins('exchangeBins', extents, bins, require);
    requireShape(x.shape, listedShape(x.shape, bins), require);
    return [{ dtype: x.dtype, shape: [...lead, ...binWidths(extents, bins), ...bins] }];
  },
  meetings: ([x], { bins }) => shapeMeetings(0, x, listedShape(x, bins)),
  gradient: ({ inputs: [x], grads: [g], attributes: { bins } }) => [
    exchangeBins(g!, x.type.shape.slice(-bins.length)),
  ],
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({
      attributes: { bins, outside },
      inputs: [x],
      inputTypes: [{ shape }],
      index,
      extent,
    }) => {
      const lead = index.length - 2 * bins.length;
      const slots: Expr[] = [];
      const places: Expr[] = [];
      let inside: Expr | null = null;
      bins.forEach((count, axis) => {
        const [within, across] = [lead + axis, lead + bins.length + axis];
        const [bin, most] = [index[across], divisor(extent(count))];
        const size = x.shape[across];
        const position = e.add(e.div(e.mul(bin, size), most), index[within]);
        const slotOf = (place: Expr): Expr => e.sub(bin, e.div(e.mul(place, most), divisor(size)));
        if (areBinsEqual(shape[across], count)) {
          places.push(position);
          slots.push(slotOf(position));
          return;
        }
        const end = e.div(e.add(e.mul(e.add(bin, 1), size), e.sub(most, 1)), most);
        const fits = e.lt(position, end);
        inside = inside === null ? fits : e.and(inside, fits);
        const place = e.min(position, e.sub(size, 1));
        places.push(place);
        slots.push(clamped(slotOf(place), 0, e.sub(x.shape[within], 1)));
      });
      const value = x.at([...index.slice(0, lead), ...slots, ...places]);
      if (inside === null) return value;
      const empty =
        outside === 'zero' ? e.constant(computeScalar(x.dtype), 0) : worst('max', x.dtype);
      return e.select(inside, value, empty);
    },
  },
  batch: {
    rows: ({ inputs: [x], attributes: { bins, outside } }) => [exchangeBins(x, bins, { outside })],
  },
  simplify: [
    {
      name: 'one-bin',
      law: 'exchangeBins(x, bins) = reshape(x) where there is one bin, or one element, on each axis',
      cases: [
        example([tensor(['n', 1, 1, 3, 4])], (x) => exchangeBins(x, [1, 1])),
        example([tensor(['n', 3, 4, 1, 1])], (x) => exchangeBins(x, [3, 4])),
      ],
      apply: ({ inputs: [x], attributes: { bins }, type }) =>
        [bins, x.type.shape.slice(-bins.length)].some((sizes) => sizes.every((size) => size === 1))
          ? reshape(x, type.shape)
          : null,
    },
    {
      name: 'bins-of-one',
      law: 'exchangeBins(x, bins) = x for as many bins as elements',
      cases: [example([tensor(['n', 1, 1, 2, 5])], (x) => exchangeBins(x, [2, 5]))],
      apply: ({ inputs: [x], type }) => (sameShape(x.type.shape, type.shape) ? x : null),
    },
  ],
  samples: [
    { args: [tensor(['n', 2, 7]), [3]] },
    { args: [tensor(['n', 3, 2, 3, 4]), [5, 6]] },
    { args: [tensor([2, 3], { dtype: 'int32' }), [2], { outside: 'lowest' }] },
    { args: [tensor(['n', 1, 6]), [2]] },
  ],
});

/** The elements of each bin: `[..., ...size]` becomes `[..., ...slots, ...bins]`. Nothing is copied where its use is fused. */
export function binned<T extends Tensor>(
  x: T,
  bins: readonly Dim[],
  outside: 'zero' | 'lowest' = 'zero',
): T {
  const [lead, extents] = splitAxes('exchangeBins', x.type.shape, bins.length);
  const listed = [...lead, ...binWidths(bins, extents), ...extents];
  const slots = bins.map((_, axis) => lead.length + axis);
  return exchangeBins(broadcastTo(expandDims(x, slots), listed), bins, { outside });
}

/** Leading axes and extents of an operand that lists the bins of elements. */
function extentsIn(shape: Shape, bins: readonly Dim[]): readonly [Shape, Shape] {
  const [lead] = splitAxes('exchangeBins', shape, 2 * bins.length);
  return [lead, shape.slice(-bins.length)];
}

/** The shape that an operand has to have, with as many slots as the most bins of an element. */
function listedShape(shape: Shape, bins: readonly Dim[]): RequiredShape {
  const [lead, extents] = extentsIn(shape, bins);
  const wanted = [...lead, ...binWidths(bins, extents), ...extents];
  return requiredShape('exchangeBins', words`the slots do not fit the bins`, wanted, shape);
}
