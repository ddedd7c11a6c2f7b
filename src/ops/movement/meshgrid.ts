import * as attr from '../../base/attributes/attribute.js';
import { describe } from '../../base/attributes/attribute.js';
import type { Dim } from '../../base/dim/index.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import type { Shape, Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { shapeToString } from '../declare/infer.js';
import { broadcastTo, sumTo } from '../reduction/sum.js';
import { reshape } from './reshape.js';

export interface MeshgridOptions {
  /** `xy` (default) swaps the first two axes of the results, as for images; `ij` does not. */
  readonly indexing?: 'xy' | 'ij';
}

/**
 * Coordinate arrays of a grid: each of the rank-1 arrays along an axis of its own, broadcast along the
 * others.
 */
export const meshgrid: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    arrays: readonly Input<T>[],
    options?: MeshgridOptions,
  ) => readonly T[]
> = operator({
  name: 'meshgrid',
  options: { at: 1, names: ['indexing'] },
  family: 'movement',
  attributes: { indexing: attr.oneOf('xy', 'ij') },
  results: 'list',
  method: false,
  operands: 'keep',
  call: (arrays, options) => {
    if (!Array.isArray(arrays)) {
      throw new ArgumentError('the axes of a grid come as a list', {
        op: 'meshgrid',
        expected: 'a list of arrays of rank 1',
        actual: describe(arrays),
      });
    }
    return { inputs: Array.from(arrays), attributes: { indexing: options?.indexing ?? 'xy' } };
  },
  infer: ({ inputs, attributes: { indexing } }) => {
    const wrong = inputs.find(({ shape }) => shape.length !== 1);
    if (wrong !== undefined) {
      throw new ShapeError('the axes of a grid have rank 1', {
        op: 'meshgrid',
        expected: 'arrays of rank 1',
        actual: shapeToString(wrong.shape),
      });
    }
    const shape = gridShape(
      inputs.map((input) => input.shape[0]),
      indexing,
    );
    return inputs.map(({ dtype }) => ({ dtype, shape }));
  },
  gradient: ({ inputs, grads, attributes: { indexing } }) =>
    inputs.map((input, k) => {
      const g = grads[k];
      if (g === null) return null;
      return reshape(sumTo(g, lineShape(inputs, k, indexing)), input.type.shape);
    }),
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs, outputTypes, attributes: { indexing } }) =>
      inputs.map((input, k) =>
        broadcastTo(reshape(input, lineShape(inputs, k, indexing)), outputTypes[k].shape),
      ),
  },
  samples: [
    { args: [[tensor(['n']), tensor(['m'])]] },
    { args: [[tensor(['n']), tensor([2]), tensor(['m'])], { indexing: 'ij' }] },
  ],
});

function gridShape(extents: readonly Dim[], indexing: 'xy' | 'ij'): Shape {
  if (indexing === 'ij' || extents.length < 2) return extents;
  return [extents[1], extents[0], ...extents.slice(2)];
}

/** The shape of one array that runs along its own axis of the grid. */
function lineShape(inputs: readonly Tensor[], k: number, indexing: 'xy' | 'ij'): Shape {
  return gridShape(
    inputs.map(({ type }, axis) => (axis === k ? type.shape[0] : 1)),
    indexing,
  );
}
