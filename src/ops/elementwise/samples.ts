import { type Sample, tensor } from '../declare/declare.js';

/** Samples for functions of all numbers, and of integers. */
export const anywhere: readonly Sample[] = [
  { args: [tensor(['n', 3])] },
  { args: [tensor(['n'], { dtype: 'int32' })] },
];

/** Samples for functions of positive numbers, and of integers. */
export const aboveZero: readonly Sample[] = [
  { args: [tensor(['n', 3], { low: 0.1 })] },
  { args: [tensor(['n'], { dtype: 'int32', low: 1, high: 9 })] },
];

/** Samples on both sides of 0, and integers, for functions with a kink there. */
export const bothSides: readonly Sample[] = [
  { args: [tensor(['n', 3], { low: -4, high: -0.1 })] },
  { args: [tensor(['n', 3], { low: 0.1, high: 4 })] },
  { args: [tensor(['n'], { dtype: 'int32' })] },
];
