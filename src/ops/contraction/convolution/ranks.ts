import type { Tensor } from '../../../ir/types.js';
import type { DefaultTensor, Input } from '../../declare/declare.js';
import { type Conv, conv, type ConvTranspose, convTranspose } from './convolution.js';
import { checkSpatialAxes } from '../window.js';

/** `conv` over one spatial axis: `[N, C, W]` by `[O, C / groups, K]`. */
export const conv1d: Conv = overAxes('conv1d', 1, conv);
/** `conv` over two spatial axes: `[N, C, H, W]` by `[O, C / groups, KH, KW]`. */
export const conv2d: Conv = overAxes('conv2d', 2, conv);
/** `conv` over three spatial axes: `[N, C, D, H, W]` by `[O, C / groups, KD, KH, KW]`. */
export const conv3d: Conv = overAxes('conv3d', 3, conv);
/** `convTranspose` over one spatial axis: `[N, O, W]` by `[O, C / groups, K]`. */
export const convTranspose1d: ConvTranspose = overAxes('convTranspose1d', 1, convTranspose);
/** `convTranspose` over two spatial axes: `[N, O, H, W]` by `[O, C / groups, KH, KW]`. */
export const convTranspose2d: ConvTranspose = overAxes('convTranspose2d', 2, convTranspose);
/** `convTranspose` over three spatial axes: `[N, O, D, H, W]` by `[O, C / groups, KD, KH, KW]`. */
export const convTranspose3d: ConvTranspose = overAxes('convTranspose3d', 3, convTranspose);

function overAxes<O>(
  name: string,
  axes: number,
  f: <T extends Tensor>(x: Input<T>, w: Input<T>, options?: O) => T,
): <T extends Tensor = DefaultTensor>(x: Input<T>, w: Input<T>, options?: O) => T {
  return (x, w, options) => {
    checkSpatialAxes(name, axes, x);
    return f(x, w, options);
  };
}
