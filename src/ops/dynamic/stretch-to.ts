import * as attr from '../../base/attributes/attribute.js';
import { isStatic, sameDim, sameShape, subDim } from '../../base/dim/index.js';
import { isOneOr, type Refusal } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { checkRank } from '../declare/infer.js';
import type { OperandFit } from '../declare/meeting.js';
import { takeAdjoint } from '../indexing/take.js';
import { example } from '../declare/law.js';
import { refusalAttribute, sampleRefusal } from './refusal.js';
import { dimLike, onesLike } from '../movement/fill.js';
import { cumsum } from '../reduction/cumulative.js';
import { broadcastTo, sumTo } from '../reduction/sum.js';
import { minimum } from '../elementwise/extremum.js';
import { withSizes } from './with-sizes.js';

/**
 * @internal `x` broadcast to a shape of the same rank, where its sizes are not known yet: each must turn out to be 1 or
 * the wanted one. `refusal` is the error for others.
 */
export const stretchTo: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, shape: Shape, refusal: Refusal) => T
> = operator({
  name: 'stretchTo',
  family: 'dynamic',
  attributes: { shape: attr.dims, refusal: refusalAttribute },
  method: false,
  operands: 'keep',
  call: (x, shape, refusal) => ({ inputs: [x], attributes: { shape, refusal } }),
  infer: ({ inputs: [x], attributes: { shape, refusal }, require }) => {
    checkRank(refusal.op, x.shape, shape);
    shape.forEach((wanted, axis) => require(isOneOr(x.shape[axis], wanted), () => refusal));
    return [{ dtype: x.dtype, shape }];
  },
  gradient: ({ inputs: [x], grads: [g] }) => {
    const { shape } = x.type;
    let back = g!;
    g!.type.shape.forEach((wanted, axis) => {
      const extent = shape[axis];
      if (isStatic(extent) || sameDim(extent, wanted)) return;
      // Index of each element where the extent is the wanted one, 0 throughout where it is 1.
      const last = dimLike(x, subDim(extent, 1), { dtype: 'int64' });
      const ones = onesLike(x, { shape: [wanted], dtype: 'int64' });
      const positions = minimum(cumsum(ones, 0, { exclusive: true }), last);
      const narrow = back.type.shape.with(axis, extent);
      back = takeAdjoint(back, positions, narrow, { axis, mode: 'valid' });
    });
    return [sumTo(back, shape)];
  },
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [x], inputTypes: [type], index, attributes: { shape } }) =>
      x.at(
        index.map((i, axis) => {
          if (sameDim(type.shape[axis], shape[axis])) return i;
          return e.select(e.eq(x.shape[axis], 1), e.i32(0), i);
        }),
      ),
  },
  simplify: [
    {
      name: 'own-shape',
      law: 'stretch(x, shape(x)) = x',
      cases: [example([tensor(['n', 3])], (x) => stretchTo(x, x.type.shape, sampleRefusal))],
      apply: ({ inputs: [x], type }) => (sameShape(x.type.shape, type.shape) ? x : null),
    },
    {
      name: 'known-sizes',
      law: 'stretch(x, shape) = broadcast(x, shape), where each size of x is 1 or that of the shape',
      cases: [example([tensor([1, 3])], (x) => stretchTo(x, [2, 3], sampleRefusal))],
      apply: ({ inputs: [x], type }) =>
        x.type.shape.every((extent, axis) => extent === 1 || sameDim(extent, type.shape[axis]))
          ? broadcastTo(x, type.shape)
          : null,
    },
  ],
  onnx: ({ onnx, inputs: [x], attributes: { shape } }) =>
    onnx.node('Expand', [x, onnx.sizes(shape)]),
  samples: [
    { args: [tensor([1, 3]), [2, 3], sampleRefusal] },
    { args: [tensor([2, 1]), [2, 0], sampleRefusal] },
  ],
});

/** The operands of a call with the sizes on which `agree` has decided. */
export function fitted<T extends Tensor>(
  operands: readonly T[],
  fits: readonly OperandFit[],
): readonly T[] {
  return operands.map((operand, i) => {
    const { equal, stretched } = fits[i];
    const same = equal === null ? operand : withSizes(operand, equal.shape, equal.refusal);
    return stretched === null ? same : stretchTo(same, stretched.shape, stretched.refusal);
  });
}
