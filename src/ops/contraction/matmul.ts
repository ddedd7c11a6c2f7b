import * as attr from '../../base/attributes/attribute.js';
import type { Attribute } from '../../base/attributes/attribute.js';
import { type Dim, sameDim, elementCount } from '../../base/dim/index.js';
import type { AttributesOf } from '../../base/attributes/schema.js';
import type { Shape, Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Expansion,
  type GradientContext,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { reshape, reshaped } from '../movement/reshape.js';
import { swapaxes, turnedFrom } from '../movement/transpose.js';
import { sumTo } from '../reduction/sum.js';
import type { Binary } from '../signatures.js';
import { productNest } from './matmul-nest.js';
import { broadcastMeetings } from '../declare/meeting.js';
import { batchedProduct } from './matmul-rows.js';
import { batchShape, columnsShape, inferProduct, isShared, productShape, rowsShape } from './matmul-shapes.js'; // prettier-ignore

/**
 * The matrix product, with NumPy's rules: `[..., m, k]` by `[..., k, n]` gives `[..., m, n]`, and the
 * leading (batch) axes broadcast. A vector on the left counts as one row, on the right as one column,
 * and that axis is absent from the result. 16-bit floats are summed in float32; integers keep their dtype
 * and wrap. An empty inner axis gives zeros.
 *
 * Throws a `ShapeError` when the inner extents differ, the batch axes do not broadcast, or an operand
 * has rank 0.
 */
export const matmul: OperatorFunction<Binary> = operator({
  name: 'matmul',
  family: 'contraction',
  attributes: {},
  call: (x, y) => ({ inputs: [x, y], attributes: {} }),
  infer: ({ inputs: [x, y], require }) => [inferProduct('matmul', x, y, require)],
  meetings: (shapes) => broadcastMeetings('matmul', shapes.map(batchShape)),
  gradient: (call) => productGradients(call, { left: false, right: false }),
  lowering: { kind: 'kernel', kernel: productNest, readsAnyOrder: true, keeps: 1 },
  onnx: 'MatMul',
  batch: batchedProduct((x, y) => matmul(x, y)),
  // The transpose of a product is that of the transposes in the other order.
  turned: ([x, y]) => {
    if (x.type.shape.length < 2 || y.type.shape.length < 2) return null;
    const [left, right] = [turnedFrom(x), turnedFrom(y)];
    if (left === null && right === null) return null;
    return matmul(right ?? transposed(y), left ?? transposed(x));
  },
  samples: [
    { args: [tensor(['m', 'k']), tensor(['k', 'n'])] },
    { args: [tensor(['b', 1, 'm', 'k']), tensor([3, 'k', 2])] },
    { args: [tensor(['b', 'm', 5]), tensor([5, 'n'])] },
    { args: [tensor(['m', 5]), tensor(['b', 5, 'n'])] },
    { args: [tensor(['k']), tensor(['b', 'k', 'n'])] },
    { args: [tensor(['b', 'm', 'k']), tensor(['k'])] },
    { args: [tensor(['k']), tensor(['k'])] },
    { args: [tensor(['m', 3], { dtype: 'int64' }), tensor([3, 'n'], { dtype: 'int64' })] },
  ],
});

/** Operands whose last two axes are swapped. */
const sides: { readonly left: Attribute<boolean>; readonly right: Attribute<boolean> } = {
  left: attr.bool,
  right: attr.bool,
};

/**
 * @internal Matrix product with one or both operands transposed, without materializing the transpose. It saves calls
 * that run one by one the memory and time of a transposition, for the weight of a layer once for each
 * gradient; compiled programs look through transpositions anyway.
 */
export const turnedProduct: OperatorFunction<
  <T extends Tensor = DefaultTensor>(x: Input<T>, y: Input<T>, sides: Sides) => T
> = operator({
  name: 'turnedProduct',
  family: 'contraction',
  attributes: sides,
  method: false,
  call: (x, y, { left, right }) => ({ inputs: [x, y], attributes: { left, right } }),
  infer: ({ inputs: [x, y], attributes: { left, right }, require }) => [
    inferProduct(
      'matmul',
      { dtype: x.dtype, shape: turnedIf(left, x.shape) },
      { dtype: y.dtype, shape: turnedIf(right, y.shape) },
      require,
    ),
  ],
  gradient: (call) => productGradients(call, call.attributes),
  lowering: { kind: 'decompose', decompose: byTransposing },
  inPrograms: byTransposing,
  samples: [
    { args: [tensor(['k', 'm']), tensor(['k', 'n']), { left: true, right: false }] },
    { args: [tensor(['m', 'k']), tensor(['n', 'k']), { left: false, right: true }] },
    { args: [tensor(['b', 'm', 'k']), tensor(['n', 'k']), { left: false, right: true }] },
    { args: [tensor(['b', 'k', 'm']), tensor([3, 1, 'n', 'k']), { left: true, right: true }] },
    { args: [tensor(['b', 'k', 'm']), tensor(['k', 'n']), { left: true, right: false }] },
  ],
});

type Sides = AttributesOf<typeof sides>;

function byTransposing<T extends Tensor>({ inputs: [x, y], attributes }: Expansion<T, Sides>): [T] {
  const { left, right } = attributes;
  return [matmul(left ? transposed(x) : x, right ? transposed(y) : y)];
}

const turnedIf = (turned: boolean, shape: Shape): Shape =>
  turned ? [...shape.slice(0, -2), ...shape.slice(-2).reverse()] : shape;

/** `x y`, with the last two axes of the operands in `sides` swapped. */
function product<T extends Tensor>(x: T, y: T, { left, right }: Sides): T {
  return left || right ? turnedProduct(x, y, { left, right }) : matmul(x, y);
}

/** The gradients of `product(x, y, sides)`; a vector on a side that is not transposed is a row or a column. */
function productGradients<T extends Tensor>(
  { inputs: [x, y], grads: [g], needs }: GradientContext<T, unknown>,
  sides: Sides,
): readonly (T | null)[] {
  const left = asRows(x);
  const rows = turnedIf(sides.left, left.type.shape);
  const right = sides.right ? y : withRows(asColumns(y), rows.at(-1)!);
  const head = reshaped(g!, productShape('matmul', rows, turnedIf(sides.right, right.type.shape)));
  return [
    needs[0] ? reshaped(leftGradient(left, right, head, sides), x.type.shape) : null,
    needs[1] ? reshaped(rightGradient(left, right, head, sides), y.type.shape) : null,
  ];
}

function leftGradient<T extends Tensor>(x: T, y: T, g: T, { left, right }: Sides): T {
  const found = left
    ? product(y, g, { left: right, right: true })
    : product(g, y, { left: false, right: !right });
  return sumTo(found, x.type.shape);
}

/**
 * With one right matrix the sum over the batch is part of the product: all rows of all batch entries form one
 * long inner axis, and no product per batch entry is stored.
 */
function rightGradient<T extends Tensor>(x: T, y: T, g: T, { left, right }: Sides): T {
  const flat = isShared(y.type.shape) && (!left || x.type.shape.length === 2);
  const [rows, head] = flat && !left ? [flattened(x), flattened(g)] : [x, g];
  const found = right
    ? product(head, rows, { left: true, right: left })
    : product(rows, head, { left: !left, right: false });
  return flat ? reshaped(found, y.type.shape) : sumTo(found, y.type.shape);
}

function flattened<T extends Tensor>(x: T): T {
  const { shape } = x.type;
  return reshaped(x, [elementCount(shape.slice(0, -1)), shape.at(-1)!]);
}

const asRows = <T extends Tensor>(x: T): T =>
  x.type.shape.length === 1 ? reshape(x, rowsShape(x.type.shape)) : x;
const asColumns = <T extends Tensor>(x: T): T =>
  x.type.shape.length === 1 ? reshape(x, columnsShape(x.type.shape)) : x;
/** The inner extent as the left operand states it: the two may be equal only by a requirement. */
const withRows = <T extends Tensor>(x: T, rows: Dim): T =>
  sameDim(x.type.shape.at(-2)!, rows)
    ? x
    : reshape(x, [...x.type.shape.slice(0, -2), rows, x.type.shape.at(-1)!]);
const transposed = <T extends Tensor>(x: T): T => swapaxes(x, -1, -2);
