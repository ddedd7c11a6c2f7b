import * as attr from '../../base/attributes/attribute.js';
import { boundsOf, type Dim, isStatic } from '../../base/dim/index.js';
import { type DType, promoteAll, type WeakKind } from '../../base/dtype.js';
import { ArgumentError, DTypeError, ShapeError } from '../../base/errors.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { shapeToString } from '../declare/infer.js';
import { writeExtents } from './onnx.js';

/** Limit of a result's rank that is the length of a vector: unlike a size, each axis costs. */
export const mostAxes = 256;

export interface ExtentsOptions {
  /** Upper bound of each size, null for unknown. Default unknown. */
  readonly most?: readonly (Dim | null)[];
}

/**
 * @internal An array whose shape is given by the elements of `sizes`: the source of data-dependent dimensions. Its own
 * elements are false and never read, so it takes no memory. `sizes` is an integer array, of rank 1 with one
 * element for each axis or of rank 0 for one axis; negative ones are refused when they are known.
 */
export const extents: OperatorFunction<
  <T extends Tensor = DefaultTensor>(sizes: Input<T>, options?: ExtentsOptions) => T
> = operator({
  name: 'extents',
  options: { at: 1, names: ['most'] },
  family: 'dynamic',
  attributes: { most: attr.optional(attr.list(attr.optional(attr.dim))) },
  method: false,
  operands: sizeOperands,
  call: (sizes, options) => ({ inputs: [sizes], attributes: { most: options?.most ?? null } }),
  infer: ({ inputs: [{ dtype, shape }], attributes: { most }, fresh }) => {
    const op = 'extents';
    if (dtype !== 'int32' && dtype !== 'int64') {
      throw new DTypeError('sizes are integers', { op, expected: 'int32 or int64', actual: dtype });
    }
    const rank = shape.length === 0 ? 1 : shape[0];
    if (shape.length > 1 || !isStatic(rank)) {
      throw new ShapeError('the number of axes is not known', {
        op,
        expected: 'an array of rank 1 and known length',
        actual: shapeToString(shape),
      });
    }
    if (rank > mostAxes) {
      throw new ShapeError('the result would have too many axes', {
        op,
        expected: `at most ${mostAxes} sizes`,
        actual: shapeToString(shape),
      });
    }
    if (most !== null && most.length !== rank) {
      throw new ArgumentError('there is not one bound for each size', {
        op,
        expected: `${rank} numbers`,
        actual: String(most.length),
      });
    }
    const sizes = Array.from({ length: rank }, (_, axis) => {
      const bound = most?.[axis] ?? null;
      return fresh('size', bound === null ? {} : { max: boundsOf(bound).max, most: bound });
    });
    return [{ dtype: 'bool', shape: sizes }];
  },
  sizedBy: [0],
  measure: ({ inputs: [sizes] }) => [sizes],
  gradient: 'none',
  lowering: { kind: 'point', elementwise: true, point: () => e.constant('bool', 0) },
  onnx: ({ onnx, inputs: [sizes], inputTypes: [type], outputTypes: [{ shape }] }) =>
    writeExtents(onnx, type.shape.length === 0 ? onnx.reshape(sizes, [1]) : sizes, shape),
  samples: [
    { args: [tensor([2], { dtype: 'int32', low: 0, high: 4 })] },
    { args: [tensor([1], { dtype: 'int64', low: 0, high: 9 }), { most: [9] }] },
    { args: [tensor([], { dtype: 'int8', low: 0, high: 5 })] },
    { args: [tensor([0], { dtype: 'int64' })] },
  ],
});

/** Narrow integers are converted to int32 when they are sizes. */
export function sizeOperands([kind]: readonly (DType | WeakKind)[]): readonly DType[] {
  const dtype = promoteAll([kind]);
  return [dtype === 'int8' || dtype === 'uint8' ? 'int32' : dtype];
}

/**
 * The known elements of an array of sizes, null for the others; null when none is known. `eagerly` includes
 * elements of computed arrays, which may differ in another call.
 */
export type ReadSizes = (sizes: Tensor, eagerly: boolean) => readonly (Dim | null)[] | null;

let readSizes: ReadSizes = () => null;

/** Installs the front floor's knowledge of elements. */
export function installSizes(read: ReadSizes): void {
  readSizes = read;
}

/** The elements of an array of sizes, where all are known. */
export function knownSizes(sizes: Tensor, eagerly: boolean = true): readonly Dim[] | null {
  const known = readSizes(sizes, eagerly);
  return known === null || known.includes(null) ? null : (known as readonly Dim[]);
}

/**
 * The elements of an integer array as dimensions: known ones as they are, fresh ones elsewhere, from
 * `decide`, which is called at most once and for all of them.
 */
export function sizesFromElements(
  sizes: Tensor,
  decide: () => readonly Dim[] = () => extents(sizes).type.shape,
): readonly Dim[] {
  const known = readSizes(sizes, true);
  if (known?.includes(null) === false) return known as readonly Dim[];
  return decide().map((dim, k) => {
    const size = known?.[k] ?? dim;
    // A negative element has another meaning, or is refused when all are known.
    return boundsOf(size).min < 0 ? dim : size;
  });
}
