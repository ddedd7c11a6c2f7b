import * as e from '../../loop/language/build.js';
import { type OperatorFunction, tensor } from '../declare/declare.js';
import { normalizeAxes } from '../declare/infer.js';
import type { Reduction } from '../signatures.js';
import { greaterNumber, worst } from './best.js';
import { reduction } from './reduce.js';

/* Reductions that only passes and lowered operators call; they are in no registry. */

/**
 * @internal Number of true elements over axes, all axes by default, or the sum of such numbers; int32, which suffices for
 * any array. Passes make it of sums for devices without int64, and GPUs count that way.
 */
export const countTrue: OperatorFunction<Reduction> = reduction({
  name: 'countTrue',
  result: 'int32',
  gradient: 'none',
  lowering: {
    neutral: () => 0,
    initial: () => [e.i32(0)],
    step: ([count], element) => [e.add(count, e.cast('i32', element))],
    combine: ([a], [b]) => [e.add(a, b)],
    finish: ([count]) => [count],
  },
  samples: [{ args: [tensor(['n', 'm'], { dtype: 'bool' })] }],
});

/**
 * @internal The greatest number over axes, all by default; NaN is none, and -Infinity the greatest of none. A maximum
 * that need not propagate NaN is one instruction. Softmax and its like are lowered to it.
 */
export const greatestNumber: OperatorFunction<Reduction> = reduction({
  name: 'greatestNumber',
  operands: 'float',
  gradient: 'none',
  lowering: {
    initial: ({ inputDType }) => [worst('max', inputDType)],
    step: ([greatest], element) => [greaterNumber(greatest, element)],
    // Neither is NaN, and other compilers know this fold.
    combine: ([a], [b]) => [e.max(a, b)],
    finish: ([greatest]) => [greatest],
  },
  onnx: ({ onnx, inputs: [x], inputTypes: [{ shape }], attributes: { axes, keepdims } }) => {
    const isNaN = onnx.node('IsNaN', [x], {}, 'bool');
    const numbers = onnx.node('Where', [isNaN, onnx.scalar(x.dtype, -Infinity), x]);
    return onnx.reduce(
      'ReduceMax',
      numbers,
      normalizeAxes('greatestNumber', axes, shape.length),
      keepdims,
    );
  },
});
