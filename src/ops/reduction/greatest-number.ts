import { normalizeAxes } from '../declare/infer.js';
import type { OperatorFunction } from '../declare/declare.js';
import type { Reduction } from '../signatures.js';
import { greaterNumber, worst } from './best.js';
import { reduction } from './reduce.js';

/**
 * @internal The greatest number over axes, all by default; NaN is none, and -Infinity the greatest of none. A maximum
 * that need not propagate NaN is one instruction. Operators are lowered to it, so it is in no registry.
 */
export const greatestNumber: OperatorFunction<Reduction> = reduction({
  name: 'greatestNumber',
  operands: 'float',
  gradient: 'none',
  lowering: {
    initial: ({ inputDType }) => [worst('max', inputDType)],
    step: ([greatest], element) => [greaterNumber(greatest, element)],
    combine: ([a], [b]) => [greaterNumber(a, b)],
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
