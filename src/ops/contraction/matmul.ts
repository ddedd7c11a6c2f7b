import { type Dim, sameDim, sizeOf } from '../../base/dim.js';
import { ShapeError } from '../../base/errors.js';
import { equal, type Require, words } from '../../ir/requirement.js';
import type { Shape, Tensor, TensorType } from '../../ir/types.js';
import * as e from '../../loop/build.js';
import type { Expr, Stmt } from '../../loop/nodes.js';
import { operator, type OperatorFunction, tensor } from '../declare.js';
import { broadcastShapes, shapeToString } from '../infer.js';
import { type Access, computeScalar, type KernelContext } from '../lowering.js';
import { reshape, swapaxes } from '../movement/index.js';
import { turnedFrom } from '../movement/transpose.js';
import { sumTo } from '../reduction/sum.js';
import type { Binary } from '../signatures.js';
import { contract } from './gemm.js';
import { batchedProduct } from './matmulRows.js';
import { isOne, unravel, volume } from './unravel.js';

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
  infer: ({ inputs: [x, y], require }) => [inferProduct(x, y, require)],
  gradient: ({ inputs: [x, y], grads: [g], needs }) => {
    const left = asRows(x);
    const right = withRows(asColumns(y), left.type.shape.at(-1)!);
    const product = reshape(g!, productShape(left.type.shape, right.type.shape));
    return [
      needs[0] ? reshape(leftGradient(left, right, product), x.type.shape) : null,
      needs[1] ? reshape(rightGradient(left, right, product), y.type.shape) : null,
    ];
  },
  lowering: { kind: 'kernel', kernel: productLoops, readsAnyOrder: true, divides: true, keeps: 1 },
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

function inferProduct(x: TensorType, y: TensorType, require: Require): TensorType {
  for (const { shape } of [x, y]) {
    if (shape.length === 0) {
      throw new ShapeError('an operand has rank 0', {
        op: 'matmul',
        expected: 'arrays of rank 1 or more',
        actual: `${shapeToString(x.shape)} and ${shapeToString(y.shape)}`,
        advice: 'multiply by a scalar with mul',
      });
    }
  }
  const [left, right] = [rowsShape(x.shape), columnsShape(y.shape)];
  const [inner, wanted] = [left.at(-1)!, right.at(-2)!];
  require(equal(inner, wanted), () => ({
    error: 'shape',
    op: 'matmul',
    problem: words`the inner extents differ`,
    expected: words`${inner} rows on the right, as the left has ${inner} columns`,
    actual: words`${x.shape} and ${y.shape}`,
  }));
  const full = productShape(left, right);
  const shape = full.filter(
    (_, axis) =>
      !(axis === full.length - 2 && x.shape.length === 1) &&
      !(axis === full.length - 1 && y.shape.length === 1),
  );
  return { dtype: x.dtype, shape };
}

const rowsShape = (shape: Shape): Shape => (shape.length === 1 ? [1, ...shape] : shape);
const columnsShape = (shape: Shape): Shape => (shape.length === 1 ? [...shape, 1] : shape);
const asRows = <T extends Tensor>(x: T): T =>
  x.type.shape.length === 1 ? reshape(x, rowsShape(x.type.shape)) : x;
const asColumns = <T extends Tensor>(x: T): T =>
  x.type.shape.length === 1 ? reshape(x, columnsShape(x.type.shape)) : x;
/** The inner extent under the name that the left has for it: the two may be equal only as is required. */
const withRows = <T extends Tensor>(x: T, rows: Dim): T =>
  sameDim(x.type.shape.at(-2)!, rows)
    ? x
    : reshape(x, [...x.type.shape.slice(0, -2), rows, x.type.shape.at(-1)!]);
const transposed = <T extends Tensor>(x: T): T => swapaxes(x, -1, -2);

/** The result's shape for operands of rank 2 or more. */
function productShape(left: Shape, right: Shape): Shape {
  return [
    ...broadcastShapes('matmul', left.slice(0, -2), right.slice(0, -2)),
    left.at(-2)!,
    right.at(-1)!,
  ];
}

/** One matrix for every batch entry: the batch can then be folded into the rows on the left. */
const isShared = (shape: Shape): boolean => shape.slice(0, -2).every((dim) => dim === 1);

function leftGradient<T extends Tensor>(left: T, right: T, g: T): T {
  return sumTo(matmul(g, transposed(right)), left.type.shape);
}

/**
 * With one right matrix the sum over the batch is part of the product itself: all rows of all batch
 * entries are one long inner axis, and no product a batch entry is ever stored.
 */
function rightGradient<T extends Tensor>(left: T, right: T, g: T): T {
  const flat = isShared(right.type.shape);
  const [rows, head] = flat ? [flattened(left), flattened(g)] : [left, g];
  const product = matmul(transposed(rows), head);
  return flat ? reshape(product, right.type.shape) : sumTo(product, right.type.shape);
}

function flattened<T extends Tensor>(x: T): T {
  const { shape } = x.type;
  return reshape(x, [sizeOf(shape.slice(0, -1)), shape.at(-1)!]);
}

function productLoops(context: KernelContext<unknown>): Stmt {
  const {
    inputs: [x, y],
    outputs: [out],
    inputTypes,
  } = context;
  const [vectorLeft, vectorRight] = inputTypes.map(({ shape }) => shape.length === 1);
  const one = e.i32(1);
  const m = vectorLeft ? one : x.shape.at(-2)!;
  const n = vectorRight ? one : y.shape.at(-1)!;
  const batch = out.shape.slice(0, out.shape.length - (vectorLeft ? 0 : 1) - (vectorRight ? 0 : 1));
  const folded = !vectorLeft && isShared(columnsShape(inputTypes[1].shape));
  const [outer, rows] = folded ? [[], [...batch, m]] : [batch, [m]];
  const scalar = computeScalar(out.dtype);
  const compute = scalar === 'bool' ? 'i32' : scalar;

  /** Batch indices, then the row. */
  const position = (b: Expr, i: Expr): Expr[] => [...unravel(b, outer), ...unravel(i, rows)];
  const operand = (from: Access, batchIndex: readonly Expr[], inner: readonly Expr[]): Expr =>
    e.cast(compute, from.at([...aligned(from, batchIndex, inner.length), ...inner]));
  return contract({
    context,
    scalar: compute,
    batch: volume(outer),
    m: volume(rows),
    n,
    k: x.shape.at(-1)!,
    a: (b, i, k) => {
      const at = position(b, i);
      return operand(x, at.slice(0, -1), vectorLeft ? [k] : [at.at(-1)!, k]);
    },
    rightKeeper: context.keeper,
    b: (b, k, j) => operand(y, folded ? [] : unravel(b, outer), vectorRight ? [k] : [k, j]),
    store: (b, i, j, value) => {
      const at = position(b, i);
      const row = vectorLeft ? at.slice(0, -1) : at;
      return out.store(vectorRight ? row : [...row, j], e.cast(scalar, value));
    },
  });
}

/** The batch index into an operand: aligned from the right, an extent of 1 repeats. */
function aligned(from: Access, batchIndex: readonly Expr[], innerRank: number): Expr[] {
  const own = from.shape.slice(0, from.shape.length - innerRank);
  const skipped = batchIndex.length - own.length;
  return own.map((extent, axis) => (isOne(extent) ? e.i32(0) : batchIndex[skipped + axis]));
}
