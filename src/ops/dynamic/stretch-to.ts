import * as attr from '../../base/attributes/attribute.js';
import { type Dim, isStatic, mulDim, sameDim, sameShape, subDim } from '../../base/dim/index.js';
import { type Condition, equalSizes, type Refusal, words } from '../../ir/requirement.js';
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
import { takeAdjoint } from '../indexing/take.js';
import { example } from '../declare/law.js';
import { dimLike, onesLike } from '../movement/fill.js';
import { cumsum } from '../reduction/cumulative.js';
import { broadcastTo, sumTo } from '../reduction/sum.js';
import { minimum } from '../elementwise/extremum.js';

/**
 * @internal `x` broadcast to a shape of the same rank, where its sizes are not known yet: each must turn out to be 1 or
 * the wanted one. `op` names the operator in errors.
 */
export const stretchTo: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, shape: Shape, op: string) => T
> = operator({
  name: 'stretchTo',
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
      problem: words`the shapes do not broadcast`,
      expected: words`equal extents, or 1, on every axis counted from the last`,
      actual: words`${shape} and ${x.shape}`,
      ...(!shape.every(isStatic) && {
        advice:
          'the first of two sizes that the data decides is that of the result; where it may be 1, stretch it by broadcastTo(first, shapeOf(second))',
      }),
    });
    shape.forEach((wanted, axis) => require(fits(x.shape[axis], wanted), refusal));
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
      cases: [example([tensor(['n', 3])], (x) => stretchTo(x, x.type.shape, 'add'))],
      apply: ({ inputs: [x], type }) => (sameShape(x.type.shape, type.shape) ? x : null),
    },
    {
      name: 'known-sizes',
      law: 'stretch(x, shape) = broadcast(x, shape), where the sizes of x are known',
      cases: [example([tensor([1, 3])], (x) => stretchTo(x, [2, 3], 'add'))],
      apply: ({ inputs: [x], type }) =>
        x.type.shape.every(isStatic) ? broadcastTo(x, type.shape) : null,
    },
  ],
  onnx: ({ onnx, inputs: [x], attributes: { shape } }) =>
    onnx.node('Expand', [x, onnx.sizes(shape)]),
  samples: [{ args: [tensor([1, 3]), [2, 3], 'add'] }, { args: [tensor([2, 1]), [2, 0], 'add'] }],
});

/** Condition that an extent is 1 or the wanted one. */
function fits(extent: Dim, wanted: Dim): Condition {
  if (extent === 1 || sameDim(extent, wanted)) return true;
  return equalSizes(mulDim(subDim(extent, wanted), subDim(extent, 1)), 0);
}
