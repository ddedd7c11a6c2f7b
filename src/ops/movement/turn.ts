import * as attr from '../../base/attributes/attribute.js';
import { elementCount, subDim } from '../../base/dim/index.js';
import { ArgumentError } from '../../base/errors.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { unravel } from '../contraction/unravel.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { normalizeAxes, normalizeAxis, shapeToString } from '../declare/infer.js';
import { callOf, example } from '../declare/law.js';
import { ravel, wrappedIndex } from '../loops.js';
import { type Axes, axisList } from '../signatures.js';
import { slice } from './slice.js';
import { swapaxes } from './transpose.js';

/** `x` in reverse order along axes, all by default. */
export const flip: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, axis?: Axes) => T
> = operator({
  name: 'flip',
  family: 'movement',
  attributes: { axes: attr.optional(attr.ints) },
  operands: 'keep',
  call: (x, axis) => ({ inputs: [x], attributes: { axes: axisList(axis) } }),
  infer: ({ inputs: [x], attributes: { axes } }) => {
    normalizeAxes('flip', axes, x.shape.length);
    return [x];
  },
  gradient: ({ grads: [g], attributes: { axes } }) => [flip(g!, axes)],
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [x], inputTypes: [{ shape }], index, extent, attributes: { axes } }) => {
      const reversed = normalizeAxes('flip', axes, shape.length);
      return x.at(
        index.map((i, axis) =>
          reversed.includes(axis) ? e.sub(extent(subDim(shape[axis], 1)), i) : i,
        ),
      );
    },
  },
  onnx: {
    composed: ({ inputs: [x], attributes: { axes } }) => {
      const { shape } = x.type;
      const reversed = normalizeAxes('flip', axes, shape.length);
      return [slice(x, ...shape.map((_, axis) => reversed.includes(axis) ? [null, null, -1] as const : ':' as const))]; // prettier-ignore
    },
  },
  simplify: [
    {
      name: 'flip-of-ones',
      law: 'flip(x, axis) = x where axis has size 1; flip(x, []) = x',
      cases: [
        example([tensor(['n', 1])], (x) => flip(x, 1)),
        example([tensor(['n', 1])], (x) => flip(x, [])),
      ],
      apply: ({ inputs: [x], attributes: { axes } }) => {
        const { shape } = x.type;
        const turned = normalizeAxes('flip', axes, shape.length);
        return turned.every((axis) => shape[axis] === 1) ? x : null;
      },
    },
    {
      name: 'flip-flip',
      law: 'flip(flip(x, a), b) = flip(x, a xor b)',
      cases: [
        example([tensor(['n', 3])], (x) => flip(flip(x))),
        example([tensor(['n', 3, 2])], (x) => flip(flip(x, [0, 1]), [1, -1])),
      ],
      apply: ({ inputs: [y], attributes: { axes } }) => {
        const inner = callOf(y, flip);
        if (inner === null) return null;
        const rank = y.type.shape.length;
        const first = inner.attributes.axes as readonly number[] | null;
        const [a, b] = [first, axes].map((each) => normalizeAxes('flip', each, rank));
        const once = [...a, ...b].filter((axis) => a.includes(axis) !== b.includes(axis));
        return flip(inner.inputs[0], once);
      },
    },
  ],
  samples: [
    { args: [tensor(['n', 3])] },
    { args: [tensor(['n', 3, 'm']), [0, -1]] },
    { args: [tensor(['n'], { dtype: 'int64' }), 0] },
  ],
});

/**
 * `x` rotated along axes: elements that leave at one end enter at the other. Positive shifts move towards
 * larger indices. One shift for each axis, or one for all; without axes (or with null) the flattened `x` is
 * rotated.
 */
export const roll: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    shift: number | readonly number[],
    axis?: Axes,
  ) => T
> = operator({
  name: 'roll',
  family: 'movement',
  attributes: { shifts: attr.ints, axes: attr.optional(attr.ints) },
  operands: 'keep',
  call: (x, shift, axis) => ({
    inputs: [x],
    attributes: { shifts: axisList(shift) ?? [], axes: axisList(axis) },
  }),
  infer: ({ inputs: [x], attributes: { shifts, axes } }) => {
    const count = axes === null ? 1 : normalizeAxes('roll', axes, x.shape.length).length;
    if (shifts.length !== 1 && shifts.length !== count) {
      throw new ArgumentError('shifts and axes do not match', {
        op: 'roll',
        expected: count === 1 ? 'one shift' : `one shift, or ${count}`,
        actual: shapeToString(shifts),
      });
    }
    return [x];
  },
  gradient: ({ grads: [g], attributes: { shifts, axes } }) => [
    roll(
      g!,
      shifts.map((shift) => -shift),
      axes,
    ),
  ],
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [x], inputTypes: [{ shape }], index, extent, attributes }) => {
      const { shifts, axes } = attributes;
      if (axes === null) {
        const from = turned(ravel(index, x.shape), shifts[0], extent(elementCount(shape)));
        return x.at(unravel(from, x.shape));
      }
      const at = [...index];
      axes.forEach((named, k) => {
        const axis = normalizeAxis('roll', named, shape.length);
        at[axis] = turned(index[axis], shifts[k] ?? shifts[0], x.shape[axis]);
      });
      return x.at(at);
    },
  },
  simplify: [
    {
      name: 'no-shift',
      law: 'roll(x, 0) = x',
      cases: [
        example([tensor(['n', 3])], (x) => roll(x, 0)),
        example([tensor(['n', 3])], (x) => roll(x, [0, 0], [0, 1])),
      ],
      apply: ({ inputs: [x], attributes: { shifts } }) =>
        shifts.every((shift) => shift === 0) ? x : null,
    },
  ],
  samples: [
    { args: [tensor(['n', 3]), 2] },
    { args: [tensor(['n', 'm']), [1, -5], [0, -1]] },
    { args: [tensor(['n'], { dtype: 'int32' }), -1, 0] },
  ],
});

/** The index whose element arrives at `i` when `extent` elements are rotated by `shift`. */
function turned(i: Expr, shift: number, extent: Expr): Expr {
  // One remainder of a loop invariant and a select per element instead of a remainder per element.
  const back = wrappedIndex(e.i32(shift), extent);
  const from = e.sub(i, back);
  return e.select(e.lt(from, 0), e.add(from, extent), from);
}

/**
 * `x` rotated by `k` times 90 degrees in the plane of two axes, from the first towards the second; the first
 * two axes by default.
 */
export const rot90: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, k?: number, axes?: readonly [number, number]) => T
> = operator({
  name: 'rot90',
  family: 'movement',
  attributes: { k: attr.int, axes: attr.ints },
  operands: 'keep',
  call: (x, k = 1, axes = [0, 1]) => ({ inputs: [x], attributes: { k, axes } }),
  infer: ({ inputs: [x], attributes: { k, axes } }) => {
    const [a, b] = planeOf(axes, x.shape.length);
    if (k % 2 === 0) return [x];
    return [{ dtype: x.dtype, shape: x.shape.with(a, x.shape[b]).with(b, x.shape[a]) }];
  },
  gradient: ({ grads: [g], attributes: { k, axes } }) => [rot90(g!, -k, [axes[0], axes[1]])],
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], attributes: { k, axes } }) => {
      const [a, b] = planeOf(axes, x.type.shape.length);
      const quarter = ((k % 4) + 4) % 4;
      if (quarter === 0) return [x];
      if (quarter === 2) return [flip(x, [a, b])];
      return [quarter === 1 ? flip(swapaxes(x, a, b), a) : swapaxes(flip(x, a), a, b)];
    },
  },
  samples: [
    { args: [tensor(['n', 'm'])] },
    { args: [tensor(['n', 2, 'm']), -1, [-1, 0]] },
    { args: [tensor(['n', 2]), 2] },
  ],
});

function planeOf(axes: readonly number[], rank: number): readonly [number, number] {
  if (normalizeAxes('rot90', axes, rank).length !== 2) {
    throw new ArgumentError('a plane has two axes', {
      op: 'rot90',
      expected: 'two axes',
      actual: shapeToString(axes),
    });
  }
  return [normalizeAxis('rot90', axes[0], rank), normalizeAxis('rot90', axes[1], rank)];
}
