import { type Sample, tensor } from '../declare/declare.js';

/** Operands left of 0 and right of it, and integers, for functions that bend there. */
export const bothSides: readonly Sample[] = [
  { args: [tensor(['n', 3], { low: -4, high: -0.1 })] },
  { args: [tensor(['n', 3], { low: 0.1, high: 4 })] },
  { args: [tensor(['n'], { dtype: 'int32' })] },
];
