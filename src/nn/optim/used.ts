import { GradientUser } from '../../front/gradientuse.js';

/** Uses every gradient that the step of any optimizer uses. */
export const anyStep: GradientUser = new GradientUser('clipGlobalNorm');
