import * as attr from '../../base/attributes/attribute.js';
import { ShapeError } from '../../base/errors.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { shapeToString } from '../declare/infer.js';
import { computeScalar } from '../declare/lowering.js';
import { indexConstant } from '../loops.js';

/** `f(x, k = 0)` on the last two axes; `k` counts diagonals upwards from the main one. */
export type Triangle = <T extends Tensor = DefaultTensor>(x: Input<T>, k?: number) => T;

function triangle(
  name: string,
  isUpper: boolean,
  keeps: (diagonal: Expr, k: Expr) => Expr,
): OperatorFunction<Triangle> {
  const self: OperatorFunction<Triangle> = operator({
    name,
    family: 'movement',
    attributes: { k: attr.int },
    operands: 'keep',
    call: (x, k = 0) => ({ inputs: [x], attributes: { k } }),
    infer: ({ inputs: [x] }) => {
      if (x.shape.length >= 2) return [x];
      throw new ShapeError('a triangle needs a matrix', {
        op: name,
        expected: 'at least two axes',
        actual: shapeToString(x.shape),
      });
    },
    gradient: ({ grads: [g], attributes: { k } }) => [self(g!, k)],
    lowering: {
      kind: 'point',
      elementwise: true,
      point: ({ inputs: [x], index, attributes: { k } }) => {
        const [row, column] = index.slice(-2);
        const zero = e.constant(computeScalar(x.dtype), 0);
        return e.select(keeps(e.sub(column, row), indexConstant(k)), x.at(index), zero);
      },
    },
    onnx: ({ onnx, inputs: [x], attributes: { k } }) =>
      onnx.node('Trilu', [x, onnx.scalar('int64', k)], { upper: Number(isUpper) }),
    samples: [
      { args: [tensor(['n', 'm'])] },
      { args: [tensor([2, 3, 'm']), 1] },
      { args: [tensor(['n', 4], { dtype: 'int32' }), -1] },
    ],
  });
  return self;
}

/** Matrices with zeros above diagonal `k`; leading axes are batches. A `ShapeError` below rank 2. */
export const tril: OperatorFunction<Triangle> = triangle('tril', false, (diagonal, k) =>
  e.le(diagonal, k),
);

/** Matrices with zeros below diagonal `k`; leading axes are batches. A `ShapeError` below rank 2. */
export const triu: OperatorFunction<Triangle> = triangle('triu', true, (diagonal, k) =>
  e.ge(diagonal, k),
);
