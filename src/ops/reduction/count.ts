import * as e from '../../loop/language/build.js';
import { type OperatorFunction, tensor } from '../declare/declare.js';
import type { Reduction } from '../signatures.js';
import { reduction } from './reduce.js';

/**
 * @internal Number of true elements over axes, all axes by default; int32, which suffices for any array. Passes make it
 * of sums for devices without int64, so it is in no registry.
 */
export const countTrue: OperatorFunction<Reduction> = reduction({
  name: 'countTrue',
  result: 'int32',
  gradient: 'none',
  lowering: {
    initial: () => [e.i32(0)],
    step: ([count], element) => [e.add(count, e.cast('i32', e.cast('bool', element)))],
    combine: ([a], [b]) => [e.add(a, b)],
    finish: ([count]) => [count],
  },
  samples: [{ args: [tensor(['n', 'm'], { dtype: 'bool' })] }],
});
