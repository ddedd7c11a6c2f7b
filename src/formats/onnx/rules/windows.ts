import { addDim, ceilDivDim, type Dim, floorDivDim, isStatic, maxDim, mulDim, subDim } from '../../../base/dim/index.js'; // prettier-ignore
import type { Shape } from '../../../ir/types.js';
import type { ImportedNode } from '../node.js';

/** Windows of a convolution or pool, in the form of Kaon's operators. */
export interface OnnxWindows<Size extends Dim = number> {
  readonly kernel: readonly Size[];
  readonly strides: readonly number[];
  readonly dilation: readonly number[];
  readonly padding: readonly (readonly [Dim, Dim])[];
}

/** The common attributes of convolutions and pools, with static window sizes. */
export function windowsFromNode(
  node: ImportedNode,
  spatial: Shape,
  kernelShape: Shape | null = null,
): OnnxWindows {
  const { kernel, ...rest } = windowsOfAnySize(node, spatial, kernelShape);
  if (!kernel.every(isStatic)) throw node.unsized('the size of the windows is not known');
  return { kernel, ...rest };
}

/** `windowsOf` for window sizes that may be symbolic. */
export function windowsOfAnySize(
  node: ImportedNode,
  spatial: Shape,
  kernelShape: Shape | null = null,
): OnnxWindows<Dim> {
  const kernel = node.attributes.ints('kernel_shape', null) ?? kernelShape;
  if (kernel === null) throw node.unsized('the size of the windows is not known');
  const axes = spatial.length;
  const list = (name: string, otherwise: number): readonly number[] => {
    const found = node.attributes.ints(name, null);
    if (found !== null && found.length !== axes && found.length > 0) throw node.refuse(`${name} does not fit the axes`, `${axes} integers`, `${found.length}`); // prettier-ignore
    return found === null || found.length === 0
      ? Array.from({ length: axes }, () => otherwise)
      : found;
  };
  if (axes < 1 || kernel.length !== axes) throw node.refuse('the windows do not fit the axes', `${axes} sizes`, `${kernel.length}`); // prettier-ignore
  const strides = list('strides', 1);
  const dilation = list('dilations', 1);
  if ([...strides, ...dilation, ...kernel].some((each) => isStatic(each) && each < 1)) throw node.refuse('a size, stride or dilation is less than 1'); // prettier-ignore
  const mode = node.attributes.string('auto_pad', 'NOTSET');
  const explicit = node.attributes.ints('pads', null);
  if (mode === 'SAME_UPPER' || mode === 'SAME_LOWER') {
    const padding = spatial.map((size, axis): readonly [Dim, Dim] => {
      const reach = addDim(mulDim(subDim(kernel[axis], 1), dilation[axis]), 1);
      const covered = addDim(
        mulDim(subDim(ceilDivDim(size, strides[axis]), 1), strides[axis]),
        reach,
      );
      const total = maxDim(subDim(covered, size), 0);
      const half = floorDivDim(total, 2);
      const rest = subDim(total, half);
      return mode === 'SAME_UPPER' ? [half, rest] : [rest, half];
    });
    return { kernel, strides, dilation, padding };
  }
  if (explicit !== null && explicit.length !== 2 * axes && explicit.length > 0) throw node.refuse('pads does not fit the axes', `${2 * axes} integers`, `${explicit.length}`); // prettier-ignore
  const padding = Array.from({ length: axes }, (_, axis): readonly [Dim, Dim] =>
    mode === 'VALID' || explicit === null || explicit.length === 0
      ? [0, 0]
      : [explicit[axis], explicit[axis + axes]],
  );
  return { kernel, strides, dilation, padding };
}

/** The widths of a static border. */
export function knownPadding(
  node: ImportedNode,
  { padding }: Pick<OnnxWindows<Dim>, 'padding'>,
): readonly (readonly [number, number])[] {
  return padding.map(([before, after]) => {
    if (isStatic(before) && isStatic(after)) return [before, after];
    throw node.unsized('the width of the border is not known');
  });
}

/** The padding that also covers windows which start inside of the padded input and end beyond it. */
export function coveringPadding(
  { kernel, strides, dilation, padding }: OnnxWindows,
  spatial: Shape,
): readonly (readonly [Dim, Dim])[] {
  return padding.map(([before, after], axis): readonly [Dim, Dim] => {
    const padded = addDim(addDim(spatial[axis], before), after);
    const reach = (kernel[axis] - 1) * dilation[axis] + 1;
    let count = addDim(ceilDivDim(subDim(padded, reach), strides[axis]), 1);
    // The last window must start within the input or the padding before it.
    const last = mulDim(subDim(count, 1), strides[axis]);
    const inside = addDim(spatial[axis], before);
    if (isStatic(last) && isStatic(inside) && last >= inside) count = subDim(count, 1);
    const wanted = addDim(mulDim(subDim(count, 1), strides[axis]), reach);
    return [before, addDim(after, maxDim(subDim(wanted, padded), 0))];
  });
}
