import { type Dim, isStatic, sameDim } from '../../../base/dim/index.js';
import type { TensorType } from '../../../ir/types.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Scalar } from '../../../loop/language/nodes.js';
import { type Access, computeScalar, type PointLowering } from '../../../ops/declare/lowering.js';
import type { OnnxCall, OnnxValue } from '../../../ops/declare/onnx.js';
import { scalarDTypes } from '../../../ops/elements.js';
import type { ExpressionWriter } from '../../expressions.js';
import { onnxExpressions, type Written } from './expressions.js';
import type { GraphWriter } from './writer.js';

/**
 * Writes an operator whose elements are expressions of their index. Operands read at the same index are
 * broadcast; others are gathered.
 */
export function writePoint(
  onnx: GraphWriter,
  lowering: PointLowering<OnnxCall['attributes']>,
  call: OnnxCall,
): OnnxValue {
  const [type] = call.outputTypes;
  const written = new Point(onnx, call).write(lowering);
  const result = onnx.cast(written.value, type.dtype);
  const rank = type.shape.length;
  const isWhole = type.shape.every((dim, axis) => dim === 1 || written.axes.has(rank - axis));
  if (isWhole && written.rank === rank) return result;
  return onnx.node('Expand', [result, onnx.sizes(type.shape)]);
}

class Point {
  readonly #onnx: GraphWriter;
  readonly #call: OnnxCall;
  readonly #type: TensorType;
  /** The index of the result element. */
  readonly #index: readonly Expr[];
  /** Values of the other variables of the expression. */
  readonly #meanings: Map<Expr, () => Written> = new Map();
  readonly #expressions: ExpressionWriter<OnnxValue, Written>;

  constructor(onnx: GraphWriter, call: OnnxCall) {
    this.#onnx = onnx;
    this.#call = call;
    this.#type = call.outputTypes[0];
    this.#index = this.#type.shape.map((_, axis) =>
      this.#variable('i32', () => this.#positions(axis)),
    );
    this.#expressions = onnxExpressions(onnx, (variable) => this.#meanings.get(variable)!());
  }

  write(lowering: PointLowering<OnnxCall['attributes']>): Written {
    const { attributes, inputTypes } = this.#call;
    const element = lowering.point({
      attributes,
      inputs: inputTypes.map((type, operand) => this.#access(type, operand)),
      inputTypes,
      outputType: { dtype: this.#type.dtype, shape: this.#shape(this.#type) },
      index: this.#index,
      extent: (dim) => this.#extent(dim),
    });
    return this.#expressions.write(element);
  }

  #variable(scalar: Scalar, meaning: () => Written): Expr {
    const variable = e.variable('value', scalar);
    this.#meanings.set(variable, meaning);
    return variable;
  }

  #extent(dim: Dim): Expr {
    if (isStatic(dim)) return e.i32(dim);
    return this.#variable('i32', () => ({
      value: this.#onnx.size(dim, 'int32'),
      axes: new Set(),
      rank: 0,
    }));
  }

  #shape({ shape }: TensorType): readonly Expr[] {
    return shape.map((dim) => this.#extent(dim));
  }

  #access(type: TensorType, operand: number): Access {
    return {
      dtype: type.dtype,
      shape: this.#shape(type),
      buffer: null,
      at: (index) =>
        this.#variable(computeScalar(type.dtype), () => this.#read(type, operand, index)),
    };
  }

  /** The elements of an operand at an index that depends on the result's index. */
  #read(type: TensorType, operand: number, index: readonly Expr[]): Written {
    const onnx = this.#onnx;
    const { shape, dtype } = type;
    const compute = scalarDTypes[computeScalar(dtype)];
    const x = this.#call.inputs[operand];
    const rank = shape.length;
    const offset = this.#index.length - rank;
    const isInPlace = shape.every((dim, axis) => {
      if (dim === 1) return offset >= 0;
      const own = this.#type.shape[offset + axis];
      return index[axis] === this.#index[offset + axis] && sameDim(dim, own);
    });
    if (isInPlace) {
      const axes = shape.flatMap((dim, axis) => (dim === 1 ? [] : [rank - axis]));
      return { value: onnx.cast(x, compute), axes: new Set(axes), rank };
    }
    const extents = this.#shape(type);
    const flat = index.reduce<Expr>(
      (sum, part, axis) => (axis === 0 ? part : e.add(e.mul(sum, extents[axis]), part)),
      e.i32(0),
    );
    const at = this.#expressions.write(flat);
    const row = rank === 1 ? x : onnx.node('Reshape', [x, onnx.ints([-1])]);
    return { ...at, value: onnx.cast(onnx.node('Gather', [row, at.value], { axis: 0 }), compute) };
  }

  /** 0, 1, 2 and so on along an axis of the result. */
  #positions(axis: number): Written {
    const onnx = this.#onnx;
    const { shape } = this.#type;
    const [start, step] = [onnx.scalar('int32', 0), onnx.scalar('int32', 1)];
    const range = onnx.node('Range', [start, onnx.size(shape[axis], 'int32'), step]);
    const behind = shape.length - 1 - axis;
    const value =
      behind === 0 ? range : onnx.node('Reshape', [range, onnx.ints([-1, ...Array<number>(behind).fill(1)])]); // prettier-ignore
    return { value, axes: new Set([shape.length - axis]), rank: behind + 1 };
  }
}
