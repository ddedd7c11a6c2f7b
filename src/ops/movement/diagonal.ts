import * as attr from '../../base/attributes/attribute.js';
import { addDim, type Dim, maxDim, minDim, subDim } from '../../base/dim/index.js';
import { ArgumentError } from '../../base/errors.js';
import { words } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { normalizeAxis } from '../declare/infer.js';
import { computeScalar } from '../declare/lowering.js';
import {
  type RequiredShape,
  requiredShape,
  requireShape,
  shapeMeetings,
} from '../declare/meeting.js';
import { overAll } from '../loops.js';
import { gatheredBack } from '../indexing/gathered-back.js';

interface Plane {
  /** Diagonal: column minus row. */
  readonly offset: number;
  readonly axis1: number;
  readonly axis2: number;
}

/**
 * A diagonal of the plane of two axes, the first two by default: elements whose index along `axis2` is
 * `offset` more than along `axis1`. Both axes are removed, the diagonal becomes the last one.
 */
export const diagonal: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    offset?: number,
    axis1?: number,
    axis2?: number,
  ) => T
> = operator({
  name: 'diagonal',
  family: 'movement',
  attributes: { offset: attr.int, axis1: attr.int, axis2: attr.int },
  operands: 'keep',
  call: (x, offset = 0, axis1 = 0, axis2 = 1) => ({
    inputs: [x],
    attributes: { offset, axis1, axis2 },
  }),
  infer: ({ inputs: [x], attributes }) => [
    { dtype: x.dtype, shape: diagonalShape('diagonal', x.shape, attributes) },
  ],
  gradient: ({ inputs: [x], grads: [g], attributes }) => [
    diagonalAdjoint(g!, x.type.shape, attributes.offset, attributes.axis1, attributes.axis2),
  ],
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [x], index, attributes }) => {
      const [row, column] = planeOf('diagonal', attributes, x.shape.length);
      const along = index[index.length - 1];
      const { offset } = attributes;
      const at: Expr[] = [];
      at[row] = offset < 0 ? e.sub(along, offset) : along;
      at[column] = offset > 0 ? e.add(along, offset) : along;
      let next = 0;
      for (let axis = 0; axis < x.shape.length; axis++) at[axis] ??= index[next++];
      return x.at(at);
    },
  },
  samples: [
    { args: [tensor(['n', 'm'])] },
    { args: [tensor(['n', 2, 'm']), 1, 0, -1] },
    { args: [tensor([3, 'm'], { dtype: 'int32' }), -1] },
  ],
});

/** @internal Zeros of a shape with `g` on the diagonal that `diagonal` with the same arguments selects. */
export const diagonalAdjoint: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    g: Input<T>,
    shape: Shape,
    offset: number,
    axis1: number,
    axis2: number,
  ) => T
> = operator({
  name: 'diagonalAdjoint',
  family: 'movement',
  attributes: { shape: attr.dims, offset: attr.int, axis1: attr.int, axis2: attr.int },
  method: false,
  operands: 'keep',
  call: (g, shape, offset, axis1, axis2) => ({
    inputs: [g],
    attributes: { shape, offset, axis1, axis2 },
  }),
  infer: ({ inputs: [g], attributes: { shape, ...plane }, require }) => {
    requireShape(g.shape, placeShape(g.shape, shape, plane), require);
    return [{ dtype: g.dtype, shape }];
  },
  meetings: ([g], { shape, ...plane }) => shapeMeetings(0, g, placeShape(g, shape, plane)),
  gradient: ({ grads: [g], attributes: { offset, axis1, axis2 } }) => [
    diagonal(g!, offset, axis1, axis2),
  ],
  lowering: {
    kind: 'kernel',
    kernel: ({ inputs: [g], outputs: [sink], attributes }) => {
      const [row, column] = planeOf('diagonalAdjoint', attributes, sink.shape.length);
      const zero = e.constant(computeScalar(sink.dtype), 0);
      return overAll(
        sink.shape,
        (index) => {
          const isOnDiagonal = e.eq(e.sub(index[column], index[row]), attributes.offset);
          const rest = index.filter((_, axis) => axis !== row && axis !== column);
          const along = attributes.offset > 0 ? index[row] : index[column];
          return e.ifThen(
            isOnDiagonal,
            sink.store(index, g.at([...rest, along])),
            sink.store(index, zero),
          );
        },
        'serial',
      );
    },
  },
  onnx: {
    composed: ({ inputs: [g], attributes: { shape, offset, axis1, axis2 } }) => [
      gatheredBack(g, shape, (numbers) => diagonal(numbers, offset, axis1, axis2)),
    ],
  },
  samples: [
    { args: [tensor([3]), [3, 4], 1, 0, 1] },
    { args: [tensor([2, 3]), [4, 2, 3], -1, 0, -1] },
    { args: [tensor([0]), [2, 0], 0, 0, 1] },
  ],
});

/** The shape that `diagonalAdjoint` asks of its diagonal. */
function placeShape(g: Shape, shape: Shape, plane: Plane): RequiredShape {
  const op = 'diagonalAdjoint';
  const place = diagonalShape(op, shape, plane);
  return requiredShape(op, words`the diagonal does not fit`, place, g);
}

function diagonalShape(op: string, shape: Shape, plane: Plane): Shape {
  const [row, column] = planeOf(op, plane, shape.length);
  const rows = plane.offset < 0 ? addDim(shape[row], plane.offset) : shape[row];
  const columns = plane.offset > 0 ? subDim(shape[column], plane.offset) : shape[column];
  const length: Dim = maxDim(0, minDim(rows, columns));
  return [...shape.filter((_, axis) => axis !== row && axis !== column), length];
}

function planeOf(op: string, { axis1, axis2 }: Plane, rank: number): readonly [number, number] {
  const row = normalizeAxis(op, axis1, rank);
  const column = normalizeAxis(op, axis2, rank);
  if (row === column) {
    throw new ArgumentError('the plane of a diagonal has two different axes', {
      op,
      expected: 'different axes',
      actual: `${axis1} and ${axis2}`,
    });
  }
  return [row, column];
}
