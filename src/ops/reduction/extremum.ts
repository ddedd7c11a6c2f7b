import * as attr from '../../base/attributes/attribute.js';
import { boundsOf, type Dim, sameDim, elementCount } from '../../base/dim/index.js';
import type { Value } from '../../ir/program.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { div } from '../elementwise/arithmetic.js';
import { isNaN } from '../elementwise/classification.js';
import { equal } from '../elementwise/comparison.js';
import { cast } from '../elementwise/conversion.js';
import { logicalOr } from '../elementwise/logic.js';
import { where } from '../elementwise/selection.js';
import { normalizeAxes, normalizeAxis, reducedShape } from '../declare/infer.js';
import { callOf, example, type Law, numericDTypes } from '../declare/law.js';
import { reshape } from '../movement/reshape.js';
import type { Reduction, ReductionOptions } from '../signatures.js';
import { better, worst } from './best.js';
import { overOnes } from './laws.js';
import { checkNotEmpty, reduction, type ReductionAttributes } from './reduce.js';
import { broadcastTo, restoreAxes, sum, unreduce } from './sum.js';

/*
 * The greatest and the least element, and where they are. NaN counts as greater and less than any
 * number, as in NumPy. Where there is a result there must be an element: anything else is a `ShapeError`.
 */

function extremum(name: string, side: 'max' | 'min'): OperatorFunction<Reduction> {
  return reduction({
    name,
    ofNothing: false,
    gradient: ({ g, x, result, axes }) => share(g, x, result, axes),
    lowering: {
      neutral: (dtype) => worst(side, dtype).value,
      initial: ({ inputDType }) => [worst(side, inputDType)],
      step: ([best], element) => [better(side, best, element)],
      combine: ([a], [b]) => [better(side, a, b)],
      finish: ([best]) => [best],
    },
    onnx: side === 'max' ? 'ReduceMax' : 'ReduceMin',
    simplify: extremumLaws(name, () => (side === 'max' ? max : min)),
  });
}

function extremumLaws(
  name: string,
  f: () => OperatorFunction<Reduction>,
): readonly Law<ReductionAttributes>[] {
  return [
    overOnes(name, (x, axes) => f()<Value>(x, axes), ['bool', ...numericDTypes], {
      words: `${name}(x) = x`,
    }),
    {
      name: 'of-copies',
      law: `${name}(broadcast(x)) = x, where exactly the copies are compared and there is one`,
      cases: [
        example([tensor([3])], (x) => f()<Value>(broadcastTo(x, [4, 3]), 0), numericDTypes),
        example([tensor([2, 1])], (x) => f()<Value>(broadcastTo(x, [2, 5]), 1), numericDTypes),
      ],
      apply: ({ inputs: [x], attributes: { axes }, type }) => {
        const copied = repeatedOnly(x, axes);
        return copied !== null && boundsOf(copied.count).min > 0
          ? reshape(copied.x, type.shape)
          : null;
      },
    },
  ];
}

/**
 * The operand of a broadcast, and its repeat count, when exactly the broadcast axes are reduced, so that
 * every result is of copies of one element; null otherwise.
 */
function repeatedOnly(
  value: Value,
  axes: readonly number[] | null,
): { readonly x: Value; readonly count: Dim } | null {
  const broadcast = callOf(value, broadcastTo);
  if (broadcast === null) return null;
  const [x] = broadcast.inputs;
  const { shape } = value.type;
  const lead = shape.length - x.type.shape.length;
  const own = (axis: number): Dim => x.type.shape[axis - lead] ?? 1;
  const folded = normalizeAxes('broadcast', axes, shape.length);
  if (!folded.every((axis) => own(axis) === 1)) return null;
  // Other broadcast axes would remain, which this law does not handle.
  const isWhole = shape.every((dim, axis) => folded.includes(axis) || sameDim(own(axis), dim));
  return isWhole ? { x, count: elementCount(folded.map((axis) => shape[axis])) } : null;
}

/**
 * The gradient of an extremum, in equal parts to the elements that attain it, as PyTorch's `max`: to NaN if
 * any.
 */
function share<T extends Tensor>(g: T, x: T, result: T, axes: ReductionAttributes['axes']): T {
  const { shape } = x.type;
  // Beside NaN only NaN attains the result.
  const attains = logicalOr(equal(x, restoreAxes(result, shape, axes)), isNaN(x));
  const count = sum(cast(attains, g.type.dtype), axes, { keepdims: true });
  const part = div(restoreAxes(g, shape, axes), count);
  return where(attains, unreduce(part, shape, axes), 0);
}

/** The maximum over axes, all by default; NaN if there is one. Ties share the gradient. */
export const max: OperatorFunction<Reduction> = extremum('max', 'max');

/** The minimum over axes, all by default; NaN if there is one. Ties share the gradient. */
export const min: OperatorFunction<Reduction> = extremum('min', 'min');

/** `f(x, axis?, { keepdims })` over one axis; without it (or with null) over the flattened `x`. */
export type ArgReduction = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  axis?: number | null,
  options?: ReductionOptions,
) => T;

function argExtremum(name: string, side: 'max' | 'min'): OperatorFunction<ArgReduction> {
  const ahead = (a: readonly Expr[], b: readonly Expr[]): readonly Expr[] => {
    const isBehind = precedes(side, b, a);
    return a.map((part, k) => e.select(isBehind, b[k], part));
  };
  const axesOf = (axis: number | null, rank: number): readonly number[] =>
    axis === null
      ? Array.from({ length: rank }, (_, each) => each)
      : [normalizeAxis(name, axis, rank)];
  return operator({
    name,
    options: { at: 2, names: ['keepdims'] },
    family: 'reduction',
    attributes: { axis: attr.optional(attr.int), keepdims: attr.bool },
    operands: 'keep',
    call: (x, axis, options) => ({
      inputs: [x],
      attributes: { axis: axis ?? null, keepdims: options?.keepdims ?? false },
    }),
    infer: ({ inputs: [x], attributes: { axis, keepdims }, require }) => {
      const folded = axesOf(axis, x.shape.length);
      checkNotEmpty(name, x.shape, folded, require);
      return [{ dtype: 'int64', shape: reducedShape(x.shape, folded, keepdims) }];
    },
    positions: ([{ shape }], { axis }) => [
      elementCount(axesOf(axis, shape.length).map((each) => shape[each])),
    ],
    gradient: 'none',
    lowering: {
      kind: 'reduce',
      axes: ({ axis }, rank) => axesOf(axis, rank),
      initial: ({ inputDType }) => [ordered(worst(side, inputDType)), e.i32(nowhere)],
      step: (best, element, position) => ahead(best, [ordered(element), position]),
      combine: ahead,
      finish: ([_best, position]) => [
        e.cast('i64', e.select(e.eq(position, nowhere), 0, position)),
      ],
    },
    onnx: ({ onnx, inputs: [x], inputTypes: [{ shape }], outputTypes, attributes }) => {
      const { axis, keepdims } = attributes;
      const type = side === 'max' ? 'ArgMax' : 'ArgMin';
      if (axis !== null) {
        const along = normalizeAxis(name, axis, shape.length);
        return onnx.node(type, [x], { axis: along, keepdims: Number(keepdims) }, 'int64');
      }
      const flat = onnx.node('Reshape', [x, onnx.ints([-1])]);
      const position = onnx.node(type, [flat], { axis: 0, keepdims: 0 }, 'int64');
      return onnx.reshape(position, outputTypes[0].shape);
    },
    samples: [
      { args: [tensor(['n', 'm'])], least: { n: 1, m: 1 } },
      { args: [tensor(['n', 'm']), 1, { keepdims: true }], least: { m: 1 } },
      { args: [tensor(['n', 'm'], { dtype: 'int32', low: 0, high: 3 }), 0], least: { n: 1 } },
      { args: [tensor(['n', 'm'], { dtype: 'bool' }), -1], least: { m: 1 } },
    ],
  });
}

/** Index before any element was seen. */
const nowhere = 2 ** 31 - 1;

const ordered = (x: Expr): Expr => (x.type.scalar === 'bool' ? e.cast('i32', x) : x);

/** Total order of candidates: `a` precedes `b` when it is better, or as good and earlier. */
function precedes(
  side: 'max' | 'min',
  [a, positionA]: readonly Expr[],
  [b, positionB]: readonly Expr[],
): Expr {
  const isBetter = side === 'max' ? e.gt(a, b) : e.lt(a, b);
  const isEarlier = e.lt(positionA, positionB);
  const onTie = e.or(isBetter, e.and(e.eq(a, b), isEarlier));
  if (a.type.scalar !== 'f32' && a.type.scalar !== 'f64') return onTie;
  const isNaN = e.ne(a, a);
  return e.or(onTie, e.and(isNaN, e.or(e.eq(b, b), isEarlier)));
}

/**
 * The index of the maximum along an axis, or in the flattened `x`: int64. The first of several, and the first
 * NaN if any. A `ShapeError` where there is no element.
 */
export const argmax: OperatorFunction<ArgReduction> = argExtremum('argmax', 'max');

/**
 * The index of the minimum along an axis, or in the flattened `x`: int64. The first of several, and the first
 * NaN if any. A `ShapeError` where there is no element.
 */
export const argmin: OperatorFunction<ArgReduction> = argExtremum('argmin', 'min');
