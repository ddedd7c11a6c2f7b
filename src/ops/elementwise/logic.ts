import * as e from '../../loop/build.js';
import { type Conversion, type OperatorFunction, type Sample, tensor } from '../declare.js';
import type { Binary, Unary } from '../signatures.js';
import { binary, unary } from './point.js';

/** Logic converts its operands to bool (`x != 0`, so NaN is true) and returns bool. */

const toBool: Conversion = (operands) => operands.map(() => 'bool');

const samples: readonly Sample[] = [
  { args: [tensor(['n', 2], { dtype: 'bool' }), tensor([2], { dtype: 'bool' })] },
  { args: [tensor(['n'], { dtype: 'int32', low: 0, high: 1 }), tensor(['n'])] },
];

/** Whether both are true. */
export const logicalAnd: OperatorFunction<Binary> = binary({
  name: 'logicalAnd',
  operands: toBool,
  value: (x, y) => e.and(x, y),
  gradient: 'none',
  samples,
});

/** Whether at least one is true. */
export const logicalOr: OperatorFunction<Binary> = binary({
  name: 'logicalOr',
  operands: toBool,
  value: (x, y) => e.or(x, y),
  gradient: 'none',
  samples,
});

/** Whether exactly one is true. */
export const logicalXor: OperatorFunction<Binary> = binary({
  name: 'logicalXor',
  operands: toBool,
  value: (x, y) => e.xor(x, y),
  gradient: 'none',
  samples,
});

/** Whether `x` is false. */
export const logicalNot: OperatorFunction<Unary> = unary({
  name: 'logicalNot',
  operands: toBool,
  value: (x) => e.not(x),
  gradient: 'none',
  samples: samples.map(({ args }) => ({ args: args.slice(0, 1) })),
});
