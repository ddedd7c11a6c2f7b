import * as attr from '../../../base/attributes/attribute.js';
import { type DType, isFloat } from '../../../base/dtype.js';
import { equalSizes, type Refusal, words } from '../../../ir/requirement.js';
import type { Tensor } from '../../../ir/types.js';
import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../../declare/declare.js';
import { normalizeAxis } from '../../declare/infer.js';
import { type Access, computeScalar } from '../../declare/lowering.js';
import type { AssociativeScan } from '../../declare/scan.js';
import { mul } from '../../elementwise/arithmetic.js';
import { wideDType } from '../../loops.js';
import { reshaped } from '../../movement/reshape.js';
import { shift } from '../../movement/shift.js';
import { scaledFactor, scaledProduct, scaledTimes } from './scaled.js';
import { scanLowering } from './scan.js';

/** The linear recurrence of the gradients of cumulative reductions. */

interface RecurrenceAttributes {
  readonly axis: number;
  readonly reverse: boolean;
}

/**
 * @internal The linear recurrence `y[i] = a[i] * y[i - 1] + b[i]` along an axis, with `y[0] = b[0]`: discounted
 * sums, exponential averages, state spaces. `a` and `b` have one shape. With `reverse` it runs from the
 * end. Of bool the product is `and`, the sum `or`.
 */
export const recurrence: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    a: Input<T>,
    b: Input<T>,
    axis?: number,
    options?: { readonly reverse?: boolean },
  ) => T
> = operator({
  name: 'recurrence',
  options: { at: 3, names: ['reverse'] },
  family: 'reduction',
  attributes: { axis: attr.int, reverse: attr.bool },
  method: false,
  call: (a, b, axis = -1, options) => ({
    inputs: [a, b],
    attributes: { axis, reverse: options?.reverse ?? false },
  }),
  infer: ({ inputs: [a, b], attributes: { axis }, require }) => {
    normalizeAxis('recurrence', axis, b.shape.length);
    const refusal = (): Refusal => ({
      op: 'recurrence',
      problem: words`factors and terms have different shapes`,
      expected: words`${b.shape}`,
      actual: words`${a.shape}`,
    });
    require(a.shape.length === b.shape.length, refusal);
    a.shape.forEach((dim, k) => require(equalSizes(dim, b.shape[k]), refusal));
    return [b];
  },
  gradient: ({ inputs: [a], outputs: [y], grads: [g], attributes: { axis, reverse } }) => {
    const back = reverse ? 1 : -1;
    const behind = recurrence(shift(a, back, axis), g!, axis, { reverse: !reverse });
    // Multiplied before the shift: an element without predecessor must not meet an infinity as a zero.
    const factors = shift(mul(shift(behind, back, axis), y), -back, axis);
    return [reshaped(factors, a.type.shape), behind];
  },
  lowering: scanLowering<RecurrenceAttributes>((context) => {
    const [a, b] = context.inputs;
    const { dtype, shape } = context.result;
    return {
      axis: normalizeAxis('recurrence', context.attributes.axis, shape.length),
      reverse: context.attributes.reverse,
      exclusive: false,
      initial: [e.constant(computeScalar(dtype), 0)],
      dtypes: [wideDType(dtype)],
      // The first factor has no predecessor, and must not turn an infinity into NaN.
      step: ([y], index, isFirst) => {
        const term = b.at(index);
        const next =
          dtype === 'bool' ? e.or(e.and(a.at(index), y), term) : e.add(e.mul(a.at(index), y), term);
        return [e.select(isFirst, term, next)];
      },
      finish: ([y]) => [y],
      associative: recurrenceParts(dtype, a, b),
    };
  }),
  onnx: ({ onnx, inputs: [a, b], outputTypes: [{ shape, dtype }], attributes }) => {
    const axis = normalizeAxis('recurrence', attributes.axis, shape.length);
    const along = { axis, reverse: attributes.reverse, shape };
    const [no, yes] = [onnx.scalar('bool', 0), onnx.scalar('bool', 1)];
    const initial = [onnx.scalar(dtype, 0), no];
    return onnx.scan(along, initial, [a, b], ([y, isBehind], [factor, term]) => {
      const [product, sum] = dtype === 'bool' ? ['And', 'Or'] : ['Mul', 'Add'];
      const next = onnx.node(sum, [onnx.node(product, [factor, y]), term]);
      const value = onnx.node('Where', [isBehind, next, term]);
      return { states: [value, onnx.node('Or', [isBehind, yes])], kept: value };
    });
  },
  samples: [
    { args: [tensor(['n', 'm']), tensor(['n', 'm'])] },
    { args: [tensor(['n', 2]), tensor(['n', 2]), 0, { reverse: true }] },
    { args: [tensor(['n'], { dtype: 'int32' }), tensor(['n'], { dtype: 'int32' }), 0] },
    { args: [tensor(['n'], { dtype: 'bool' }), tensor(['n'], { dtype: 'bool' }), 0] },
  ],
});

/** Exponent of the product of no factors, which marks the state of no elements. */
const ofNothing = 2 ** 30;

/** Parts of a recurrence: the product of the factors, and the last result where nothing comes before. */
function recurrenceParts(dtype: DType, a: Access, b: Access): AssociativeScan {
  const scalar = computeScalar(dtype);
  const finish = (state: readonly Expr[]): readonly Expr[] => [state[state.length - 1]];
  if (!isFloat(dtype)) {
    const isBool = dtype === 'bool';
    const [times, plus] = isBool ? [e.and, e.or] : [e.mul, e.add];
    return {
      initial: [e.constant(scalar, 1), e.constant(scalar, 0)],
      dtypes: [wideDType(dtype), wideDType(dtype)],
      element: (index) => [a.at(index), b.at(index)],
      combine: ([factor, y], [nextFactor, term]) => [times(factor, nextFactor), plus(times(nextFactor, y), term)],
      finish,
    };
  }
  const wide = wideDType(dtype);
  return {
    initial: [e.constant(scalar, 1), e.i32(ofNothing), e.constant(scalar, 0)],
    dtypes: [wide, 'int32', wide],
    element: (index) => [...scaledFactor(a.at(index)), b.at(index)],
    combine: ([significand, exponent, y], [nextSignificand, nextExponent, term]) => {
      const [isFirst, isLast] = [exponent, nextExponent].map((each) => e.eq(each, ofNothing));
      const factor = [significand, e.select(isFirst, 0, exponent)] as const;
      const next = [nextSignificand, e.select(isLast, 0, nextExponent)] as const;
      const [product, size] = scaledProduct(factor, next);
      // Nothing is multiplied that does not exist: neither an infinity nor a sign is lost.
      const sum = e.add(scaledTimes(next, y), term);
      return [
        product,
        e.select(e.and(isFirst, isLast), ofNothing, size),
        e.select(isFirst, term, e.select(isLast, y, sum)),
      ];
    },
    finish,
  };
} // prettier-ignore
