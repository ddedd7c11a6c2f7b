import * as attr from '../../base/attributes/attribute.js';
import type { Tensor, TensorType } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Gradient,
  type Input,
  operator,
  type OperatorFunction,
  type Sample,
  tensor,
} from '../declare/declare.js';
import { normalizeAxis } from '../declare/infer.js';
import { type Access, computeScalar, type KernelLowering } from '../declare/lowering.js';
import type { AssociativeScan } from '../declare/scan.js';
import { wideDType } from '../loops.js';
import { zerosLike } from '../movement/fill.js';
import { better, worst } from '../reduction/best.js';
import { scanLowering } from '../reduction/scans/scan.js';
import { scatterAdd } from './gather.js';
import type { OnnxValue } from '../declare/onnx.js';

/*
 * Running extrema. The gradient goes to the element that each result was taken from, the last of equal
 * ones as in PyTorch; an operator of its own finds their positions.
 */

export interface RunningOptions {
  /** Iterate from the end. Default false. */
  readonly reverse?: boolean;
}

/** `f(x, axis, { reverse })`. */
export type RunningExtremum = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  axis: number,
  options?: RunningOptions,
) => T;

type Side = 'max' | 'min';

const attributes = { axis: attr.int, reverse: attr.bool };
interface RunningAttributes {
  readonly axis: number;
  readonly reverse: boolean;
}

const samples: readonly Sample[] = [
  { args: [tensor(['n', 'm']), 1] },
  { args: [tensor(['n', 2, 'm']), 0, { reverse: true }] },
  { args: [tensor(['n', 3], { dtype: 'int32', low: -3, high: 3 }), 0] },
  { args: [tensor([6], { values: [1, 3, NaN, 5, 0, NaN] }), 0], differentiable: false }, // NaN
];

/** The gradient of cumulative extrema, given the operator that finds their positions. */
function throughPositions(
  positions: OperatorFunction<RunningExtremum>,
): Gradient<RunningAttributes> {
  return ({ inputs: [x], grads: [g], attributes: { axis, reverse } }) => [
    scatterAdd(zerosLike(x), positions(x, axis, { reverse }), g!, axis),
  ];
}

function running(
  name: string,
  side: Side,
  result: 'value' | 'position',
  gradient: 'none' | Gradient<RunningAttributes>,
): OperatorFunction<RunningExtremum> {
  return operator({
    name,
    options: { at: 2, names: ['reverse'] },
    family: 'reduction',
    method: result === 'value',
    attributes,
    operands: 'keep',
    call: (x, axis, options) => ({
      inputs: [x],
      attributes: { axis, reverse: options?.reverse ?? false },
    }),
    infer: ({ inputs: [x], attributes: { axis } }) => {
      normalizeAxis(name, axis, x.shape.length);
      return [{ dtype: result === 'position' ? 'int64' : x.dtype, shape: x.shape }];
    },
    ...(result === 'position' && {
      positions: ([{ shape }]: readonly TensorType[], { axis }: RunningAttributes) => [
        shape[normalizeAxis(name, axis, shape.length)],
      ],
    }),
    gradient,
    lowering: runningKernel(name, side, result),
    onnx: ({ onnx, inputs: [x], inputTypes: [{ shape, dtype }], attributes }) => {
      const axis = normalizeAxis(name, attributes.axis, shape.length);
      const [start, one] = [onnx.scalar('int64', 0), onnx.scalar('int64', 1)];
      const range = onnx.node('Range', [start, onnx.size(shape[axis]), one]);
      const behind = shape.slice(axis + 1).map(() => 1);
      const column = onnx.node('Reshape', [range, onnx.ints([-1, ...behind])]);
      const positions = onnx.node('Expand', [column, onnx.sizes(shape)]);
      const nearest = side === 'max' ? 'GreaterOrEqual' : 'LessOrEqual';
      const isNaN = (value: OnnxValue): OnnxValue =>
        onnx.node('Not', [onnx.node('Equal', [value, value], {}, 'bool')]);
      const least = onnx.scalar(dtype, worst(side, dtype).value);
      const along = { axis, reverse: attributes.reverse, shape };
      return onnx.scan(along, [least, start], [x, positions], ([best, at], [element, position]) => {
        const isBetter = onnx.node(nearest, [element, best], {}, 'bool'); // false beside NaN
        const isTaken = onnx.node('Or', [isBetter, isNaN(element)]);
        const value = onnx.node('Where', [isTaken, element, best]);
        const place = onnx.node('Where', [isTaken, position, at]);
        return { states: [value, place], kept: result === 'position' ? place : value };
      });
    },
    samples,
  });
}

/** Carries the best element so far and its index; NaN is better than any number. */
function runningKernel(
  op: string,
  side: Side,
  result: 'value' | 'position',
): KernelLowering<RunningAttributes> {
  return scanLowering((context) => {
    const [x] = context.inputs;
    const axis = normalizeAxis(op, context.attributes.axis, x.shape.length);
    const wide = wideDType(x.dtype);
    const scalar = computeScalar(wide);
    return {
      axis,
      reverse: context.attributes.reverse,
      exclusive: false,
      initial: [e.cast(scalar, worst(side, x.dtype)), e.i32(0)],
      dtypes: [wide, 'int32'],
      step: ([best, position], index) => {
        const element = e.cast(scalar, x.at(index));
        const next = better(side, best, element);
        // NaN is unequal to itself: the test detects the first one.
        const isTaken = e.or(e.eq(next, element), e.ne(element, element));
        return [next, e.select(isTaken, index[axis], position)];
      },
      finish: ([best, position]) => [
        result === 'position' ? e.cast('i64', position) : e.cast(computeScalar(x.dtype), best),
      ],
      associative: extremumParts(side, result, x, axis),
    };
  });
}

/** The best element of a part, and for positions its index, which is -1 where there is none. */
function extremumParts(
  side: Side,
  result: 'value' | 'position',
  x: Access,
  axis: number,
): AssociativeScan {
  const wide = wideDType(x.dtype);
  const scalar = computeScalar(wide);
  const worstElement = e.cast(scalar, worst(side, x.dtype));
  const elementAt = (index: readonly Expr[]): Expr => e.cast(scalar, x.at(index));
  if (result === 'value') {
    return {
      initial: [worstElement],
      dtypes: [wide],
      element: (index) => [elementAt(index)],
      combine: ([a], [b]) => [better(side, a, b)],
      finish: ([best]) => [e.cast(computeScalar(x.dtype), best)],
    };
  }
  return {
    initial: [worstElement, e.i32(-1)],
    dtypes: [wide, 'int32'],
    element: (index) => [elementAt(index), index[axis]],
    combine: ([a, aPosition], [b, bPosition]) => {
      const best = better(side, a, b);
      const isTaken = e.and(e.ge(bPosition, 0), e.or(e.eq(best, b), e.ne(b, b)));
      return [best, e.select(isTaken, bPosition, aPosition)];
    },
    finish: ([, position]) => [e.cast('i64', position)],
  };
}

/** @internal Index of the element that each result of `cummax` is, int64: the last of equal elements, the last NaN. */
export const cummaxPosition: OperatorFunction<RunningExtremum> = running(
  'cummaxPosition',
  'max',
  'position',
  'none',
);

/** @internal Index of the element that each result of `cummin` is, int64: the last of equal elements, the last NaN. */
export const cumminPosition: OperatorFunction<RunningExtremum> = running(
  'cumminPosition',
  'min',
  'position',
  'none',
);

/** Cumulative maximum along an axis; NaN from the first NaN on. */
export const cummax: OperatorFunction<RunningExtremum> = running(
  'cummax',
  'max',
  'value',
  throughPositions(cummaxPosition),
);

/** Cumulative minimum along an axis; NaN from the first NaN on. */
export const cummin: OperatorFunction<RunningExtremum> = running(
  'cummin',
  'min',
  'value',
  throughPositions(cumminPosition),
);
