import { GradientUser } from '../../front/capture/gradient-use.js';

/** Gradient user shared by clipping: a gradient that the step of any optimizer used counts as used. */
export const anyStep: GradientUser = new GradientUser('clipGlobalNorm');
