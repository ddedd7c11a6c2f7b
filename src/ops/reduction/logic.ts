import * as e from '../../loop/language/build.js';
import type { OperatorFunction } from '../declare/declare.js';
import type { Reduction } from '../signatures.js';
import { numericDTypes } from '../declare/law.js';
import { overOnes } from './laws.js';
import { reduction } from './reduce.js';
import { normalizeAxes } from '../declare/infer.js';

/** Reductions of truth values: an element is true when `x !== 0`, so NaN is. */

/** True where any element over axes is true, all axes by default; bool. Of no elements false. */
export const any: OperatorFunction<Reduction> = reduction({
  name: 'any',
  result: 'bool',
  gradient: 'none',
  lowering: {
    neutral: () => 0,
    initial: () => [e.constant('bool', 0)],
    step: ([found], element) => [e.or(found, e.cast('bool', element))],
    combine: ([a], [b]) => [e.or(a, b)],
    finish: ([found]) => [found],
  },
  onnx: 'ReduceSum', // whether the number of those that are true is
  simplify: [
    overOnes('any', (x, axes) => any(x, axes), ['bool', ...numericDTypes], {
      words: 'any(x) = cast(x, bool)',
    }),
  ],
});

/** True where every element over axes is true, all axes by default; bool. Of no elements true. */
export const all: OperatorFunction<Reduction> = reduction({
  name: 'all',
  result: 'bool',
  gradient: 'none',
  lowering: {
    neutral: () => 1,
    initial: () => [e.constant('bool', 1)],
    step: ([holds], element) => [e.and(holds, e.cast('bool', element))],
    combine: ([a], [b]) => [e.and(a, b)],
    finish: ([holds]) => [holds],
  },
  onnx: 'ReduceProd', // of 0 and 1
  simplify: [
    overOnes('all', (x, axes) => all(x, axes), ['bool', ...numericDTypes], {
      words: 'all(x) = cast(x, bool)',
    }),
  ],
});

/** Number of elements over axes that are not 0, all axes by default; int64. */
export const countNonzero: OperatorFunction<Reduction> = reduction({
  name: 'countNonzero',
  result: 'int64',
  gradient: 'none',
  lowering: {
    // Counted in i32, which suffices for any array and vectorizes well.
    initial: () => [e.i32(0)],
    step: ([count], element) => [e.add(count, e.cast('i32', e.cast('bool', element)))],
    combine: ([a], [b]) => [e.add(a, b)],
    finish: ([count]) => [e.cast('i64', count)],
  },
  onnx: ({ onnx, inputs: [x], inputTypes: [{ shape }], attributes: { axes, keepdims } }) => {
    const counted = onnx.cast(onnx.cast(x, 'bool'), 'int64');
    return onnx.reduce(
      'ReduceSum',
      counted,
      normalizeAxes('countNonzero', axes, shape.length),
      keepdims,
    );
  },
});
