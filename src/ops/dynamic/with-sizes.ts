import * as attr from '../../base/attributes/attribute.js';
import { sameShape } from '../../base/dim/index.js';
import { equalSizes, type Refusal, words } from '../../ir/requirement.js';
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

/**
 * @internal `x` itself, with the requirement that its sizes are those of a shape: some of either are not known yet.
 * `op` names the operator in errors.
 */
export const withSizes: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, shape: Shape, op: string) => T
> = operator({
  name: 'withSizes',
  family: 'dynamic',
  attributes: { shape: attr.dims, op: attr.string },
  method: false,
  operands: 'keep',
  call: (x, shape, op) => ({ inputs: [x], attributes: { shape, op } }),
  infer: ({ inputs: [x], attributes: { shape, op }, require }) => {
    checkRank(op, x.shape, shape);
    const refusal = (): Refusal => ({
      error: 'shape',
      op,
      problem: words`an array has other sizes than it must have`,
      expected: words`${shape}`,
      actual: words`${x.shape}`,
    });
    shape.forEach((wanted, axis) => require(equalSizes(x.shape[axis], wanted), refusal));
    return [{ dtype: x.dtype, shape }];
  },
  gradient: ({ inputs: [x], grads: [g], attributes: { op } }) => [withSizes(g!, x.type.shape, op)],
  lowering: { kind: 'view' },
  simplify: [
    {
      name: 'own-sizes',
      law: 'withSizes(x, shape(x)) = x',
      cases: [
        example([tensor(['n', 3])], (x) => withSizes(x, x.type.shape, 'backward')),
        example([tensor([2, 3])], (x) => withSizes(x, [2, 3], 'backward')),
      ],
      apply: ({ inputs: [x], type }) => (sameShape(x.type.shape, type.shape) ? x : null),
    },
  ],
  samples: [{ args: [tensor([2, 3]), [2, 3], 'backward'] }, { args: [tensor([]), [], 'backward'] }],
});
