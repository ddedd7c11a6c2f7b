import { GradientUser } from '../../front/core/gradient-use.js';

/** Uses every gradient that the step of any optimizer uses. */
export const anyStep: GradientUser = new GradientUser('clipGlobalNorm');
