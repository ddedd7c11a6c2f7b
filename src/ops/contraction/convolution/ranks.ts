import { type Conv, conv, type ConvTranspose, convTranspose } from './convolution.js';
import { overSpatialAxes } from '../window.js';

/** `conv` over one spatial axis: `[N, C, W]` by `[O, C / groups, K]`. */
export const conv1d: Conv = overSpatialAxes('conv1d', 1, conv);
/** `conv` over two spatial axes: `[N, C, H, W]` by `[O, C / groups, KH, KW]`. */
export const conv2d: Conv = overSpatialAxes('conv2d', 2, conv);
/** `conv` over three spatial axes: `[N, C, D, H, W]` by `[O, C / groups, KD, KH, KW]`. */
export const conv3d: Conv = overSpatialAxes('conv3d', 3, conv);
/** `convTranspose` over one spatial axis: `[N, O, W]` by `[O, C / groups, K]`. */
export const convTranspose1d: ConvTranspose = overSpatialAxes('convTranspose1d', 1, convTranspose);
/** `convTranspose` over two spatial axes: `[N, O, H, W]` by `[O, C / groups, KH, KW]`. */
export const convTranspose2d: ConvTranspose = overSpatialAxes('convTranspose2d', 2, convTranspose);
/** `convTranspose` over three spatial axes: `[N, O, D, H, W]` by `[O, C / groups, KD, KH, KW]`. */
export const convTranspose3d: ConvTranspose = overSpatialAxes('convTranspose3d', 3, convTranspose);
