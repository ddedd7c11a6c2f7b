import * as attr from '../../base/attributes/attribute.js';
import { isNarrowFloat } from '../../base/dtype.js';
import type { InferContext } from '../../ir/operator.js';
import type { Tensor, TensorType } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  type Sample,
  tensor,
} from '../declare/declare.js';
import { div, mul, sub } from '../elementwise/arithmetic.js';
import { equal } from '../elementwise/comparison.js';
import { boundedExp } from '../elementwise/bounded-exp.js';
import { log } from '../elementwise/logarithm.js';
import { where } from '../elementwise/selection.js';
import { isEmptySize, normalizeAxis } from '../declare/infer.js';
import { greatestNumber } from '../reduction/lowered.js';
import { sum } from '../reduction/sum.js';
import type { OnnxCall, OnnxValue } from '../declare/onnx.js';

/** `f(x, axis = -1)`. */
export type AlongAxis = <T extends Tensor = DefaultTensor>(x: Input<T>, axis?: number) => T;

const samples: readonly Sample[] = [
  { args: [tensor(['n', 'm'])] },
  { args: [tensor(['n', 3, 'm']), 1] },
  { args: [tensor(['n'], { low: 100, high: 900 })] },
];

function sameAsInput(
  op: string,
): (context: InferContext & { readonly attributes: { readonly axis: number } }) => [TensorType] {
  return ({ inputs: [x], attributes: { axis } }) => {
    normalizeAxis(op, axis, x.shape.length);
    return [x];
  };
}

const keepdims = { keepdims: true };

/**
 * `exp(x) / sum(exp(x))` along an axis, the last by default, computed from `x - max(x)` so that it never
 * overflows. Entries of -Infinity give 0; so does a row of -Infinity only, which has no distribution.
 * Integers become float32.
 */
export const softmax: OperatorFunction<AlongAxis> = operator({
  name: 'softmax',
  family: 'normalization',
  attributes: { axis: attr.int },
  operands: 'float',
  call: (x, axis = -1) => ({ inputs: [x], attributes: { axis } }),
  infer: sameAsInput('softmax'),
  gradient: ({ outputs: [y], grads: [g], attributes: { axis } }) => [
    mul(y, sub(g!, sum(mul(g!, y), axis, keepdims))),
  ],
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], attributes: { axis } }) => {
      if (isEmpty(x, axis)) return [x];
      const powers = boundedExp(sub(x, offset(x, axis)));
      const total = sum(powers, axis, keepdims);
      const divisor = where(equal(total, 0), 1, total);
      // Quotients would take a tenth of the time (decision 32); 16 bits are too few to round them twice.
      const isNarrow = isNarrowFloat(x.type.dtype);
      return [isNarrow ? div(powers, divisor) : mul(powers, div(1, divisor))];
    },
  },
  onnx: (call) => {
    const { onnx, inputs: [x], inputTypes: [{ shape }], attributes } = call; // prettier-ignore
    const axis = normalizeAxis('softmax', attributes.axis, shape.length);
    if (isEmptySize(shape[axis])) return x;
    const y = onnx.node('Softmax', [x], { axis });
    return onnx.node('Where', [isLost(call, axis), onnx.scalar(x.dtype, 0), y]);
  },
  samples,
});

/**
 * `log(softmax(x))` along an axis, the last by default, without intermediate probabilities that round to 0. A
 * row of -Infinity only stays unchanged. Integers become float32.
 */
export const logSoftmax: OperatorFunction<AlongAxis> = operator({
  name: 'logSoftmax',
  family: 'normalization',
  attributes: { axis: attr.int },
  operands: 'float',
  call: (x, axis = -1) => ({ inputs: [x], attributes: { axis } }),
  infer: sameAsInput('logSoftmax'),
  // exp(y), but from the exponentials of the lowering, which then need not be computed twice.
  gradient: ({ inputs: [x], grads: [g], attributes: { axis } }) => [
    sub(g!, mul(softmax(x, axis), sum(g!, axis, keepdims))),
  ],
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], attributes: { axis } }) => {
      if (isEmpty(x, axis)) return [x];
      const shifted = sub(x, offset(x, axis));
      const total = sum(boundedExp(shifted), axis, keepdims);
      return [sub(shifted, log(where(equal(total, 0), 1, total)))];
    },
  },
  onnx: (call) => {
    const { onnx, inputs: [x], inputTypes: [{ shape }], attributes } = call; // prettier-ignore
    const axis = normalizeAxis('logSoftmax', attributes.axis, shape.length);
    if (isEmptySize(shape[axis])) return x;
    return onnx.node('Where', [isLost(call, axis), x, onnx.node('LogSoftmax', [x], { axis })]);
  },
  samples,
});

/** Rows of -Infinity only, for which ONNX gives NaN. */
function isLost(
  { onnx, inputs: [x] }: OnnxCall<{ readonly axis: number }>,
  axis: number,
): OnnxValue {
  const greatest = onnx.reduce('ReduceMax', x, [axis], true);
  return onnx.node('Equal', [greatest, onnx.scalar(x.dtype, -Infinity)], {}, 'bool');
}

/** True for an empty axis: there is no maximum, and nothing to compute. */
function isEmpty(x: Tensor, axis: number): boolean {
  return isEmptySize(x.type.shape.at(axis)!);
}

/**
 * The maximum along the axis; 0 instead of -Infinity, since -Infinity - -Infinity is NaN. So is the power of NaN, and
 * then the sum of powers, whatever the maximum.
 */
function offset<T extends Tensor>(x: T, axis: number): T {
  const greatest = greatestNumber(x, axis, keepdims);
  return where(equal(greatest, -Infinity), 0, greatest);
}
