import * as attr from '../../base/attributes/attribute.js';
import { sameShape } from '../../base/dim/index.js';
import { equalSizes, type Refusal } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { checkRank } from '../declare/infer.js';
import { example } from '../declare/law.js';
import { refusalAttribute, sampleRefusal } from './refusal.js';

/**
 * @internal `x` itself, with the requirement that its sizes are those of a shape: some of either are not known yet.
 * `refusal` is the error for others.
 */
export const withSizes: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, shape: Shape, refusal: Refusal) => T
> = operator({
  name: 'withSizes',
  family: 'dynamic',
  attributes: { shape: attr.dims, refusal: refusalAttribute },
  method: false,
  operands: 'keep',
  call: (x, shape, refusal) => ({ inputs: [x], attributes: { shape, refusal } }),
  infer: ({ inputs: [x], attributes: { shape, refusal }, require }) => {
    checkRank(refusal.op, x.shape, shape);
    shape.forEach((wanted, axis) => require(equalSizes(x.shape[axis], wanted), () => refusal));
    return [{ dtype: x.dtype, shape }];
  },
  gradient: ({ inputs: [x], grads: [g], attributes: { refusal } }) => [
    withSizes(g!, x.type.shape, refusal),
  ],
  lowering: { kind: 'view' },
  // With all sizes, since they are what a reader of the model would not know.
  onnx: ({ onnx, inputs: [x], outputTypes: [{ shape }] }) =>
    onnx.node('Reshape', [x, onnx.sizes(shape)], { allowzero: 1 }),
  simplify: [
    {
      name: 'own-sizes',
      law: 'withSizes(x, shape(x)) = x',
      cases: [
        example([tensor(['n', 3])], (x) => withSizes(x, x.type.shape, sampleRefusal)),
        example([tensor([2, 3])], (x) => withSizes(x, [2, 3], sampleRefusal)),
      ],
      apply: ({ inputs: [x], type }) => (sameShape(x.type.shape, type.shape) ? x : null),
    },
  ],
  samples: [
    { args: [tensor([2, 3]), [2, 3], sampleRefusal] },
    { args: [tensor([]), [], sampleRefusal] },
  ],
});
