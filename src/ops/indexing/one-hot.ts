import * as attr from '../../base/attributes/attribute.js';
import type { Dim } from '../../base/dim/index.js';
import type { DType } from '../../base/dtype.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { checkShape } from '../declare/infer.js';
import { computeScalar } from '../declare/lowering.js';
import { checkIndexDType, indexDType } from './position.js';

/**
 * One-hot rows of `depth` elements along a new last axis: 1 at the index, 0 elsewhere. An index outside `0 ..
 * depth - 1` gives a row of zeros. The default dtype is float32.
 */
export const oneHot: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    indices: Input<T>,
    depth: Dim,
    options?: { readonly dtype?: DType },
  ) => T
> = operator({
  name: 'oneHot',
  options: { at: 2, names: ['dtype'] },
  family: 'indexing',
  attributes: { depth: attr.dim, dtype: attr.dtype },
  operands: ([indices]) => [indexDType(indices)],
  call: (indices, depth, options) => ({
    inputs: [indices],
    attributes: { depth, dtype: options?.dtype ?? 'float32' },
  }),
  infer: ({ inputs: [indices], attributes: { depth, dtype }, require }) => {
    checkIndexDType('oneHot', indices.dtype);
    checkShape('oneHot', [depth], require);
    return [{ dtype, shape: [...indices.shape, depth] }];
  },
  gradient: 'none',
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [indices], index, attributes: { dtype } }) => {
      const raw = indices.at(index.slice(0, -1));
      const scalar = computeScalar(dtype);
      const isHot = e.eq(e.cast(raw.type.scalar, index[index.length - 1]), raw);
      return e.select(isHot, e.constant(scalar, 1), e.constant(scalar, 0));
    },
  },
  batch: {
    rows: ({ inputs: [indices], attributes: { depth, dtype } }) => [
      oneHot(indices, depth, { dtype }),
    ],
  },
  onnx: ({ onnx, inputs: [indices], inputTypes: [{ shape }], attributes: { depth, dtype } }) => {
    // OneHot takes no scalar.
    const isScalar = shape.length === 0;
    const at = onnx.cast(isScalar ? onnx.reshape(indices, [1]) : indices, 'int64');
    const [zero, count] = [onnx.scalar('int64', 0), onnx.size(depth)];
    // Negative indices would count from the end, so they are replaced by the depth, which is out of range.
    const inside = onnx.node('Where', [onnx.node('Less', [at, zero], {}, 'bool'), count, at], {}, 'int64'); // prettier-ignore
    // onnxruntime supports few dtypes for the values.
    const own = dtype === 'float32' ? dtype : 'int64';
    const values = onnx.cast(onnx.ints([0, 1]), own);
    const hot = onnx.cast(onnx.node('OneHot', [inside, count, values], {}, own), dtype);
    return isScalar ? onnx.reshape(hot, [depth]) : hot;
  },
  samples: [
    { args: [tensor(['n'], { dtype: 'int32', low: -1, high: 4 }), 4] },
    { args: [tensor(['n', 2], { dtype: 'int64', low: 0, high: 2 }), 3, { dtype: 'bool' }] },
    { args: [tensor([], { dtype: 'int32', low: 0, high: 3 }), 3] },
  ],
});
