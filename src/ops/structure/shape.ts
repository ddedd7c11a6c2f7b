import { isStatic } from '../../base/dim/index.js';
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
import { example } from '../declare/law.js';

/**
 * The sizes of `x` as an int64 array of one element for each axis, also where they are symbolic: the
 * replacement of `x.shape` in code that is captured for every size.
 */
export const shapeOf: OperatorFunction<<T extends Tensor = DefaultTensor>(x: Input<T>) => T> =
  operator({
    name: 'shapeOf',
    family: 'structure',
    attributes: {},
    method: false,
    operands: 'keep',
    call: (x) => ({ inputs: [x], attributes: {} }),
    infer: ({ inputs: [x] }) => [{ dtype: 'int64', shape: [x.shape.length] }],
    readsTypesOnly: true,
    gradient: 'none',
    lowering: {
      kind: 'point',
      elementwise: false,
      // No element of x is read: kernels know its extents.
      point: ({ inputs: [x], index: [axis] }) =>
        e.cast(
          'i64',
          x.shape.reduceRight<Expr>(
            (rest, extent, k) => e.select(e.eq(axis, k), extent, rest),
            e.i32(0),
          ),
        ),
    },
    simplify: [
      {
        name: 'static-shape',
        law: 'shapeOf(x) = its sizes, where all are static',
        cases: [
          example([tensor([2, 0, 3])], (x) => shapeOf(x)),
          example([tensor([])], (x) => shapeOf(x)),
        ],
        apply: ({ inputs: [x] }) => {
          const { shape } = x.type;
          if (!shape.every(isStatic)) return null;
          return x.program.constant({
            type: { dtype: 'int64', shape: [shape.length] },
            data: BigInt64Array.from(shape, BigInt),
          });
        },
      },
    ],
    onnx: ({ onnx, inputs }) => onnx.node('Shape', inputs, {}, 'int64'),
    samples: [
      { args: [tensor(['n', 3, 'm'])] },
      { args: [tensor([])] },
      { args: [tensor(['n'], { dtype: 'bool' })] },
    ],
  });
