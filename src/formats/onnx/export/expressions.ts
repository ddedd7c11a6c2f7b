import type { BinaryExpr, CastExpr, Expr, UnaryExpr } from '../../../loop/language/nodes.js';
import type { OnnxDType, OnnxValue } from '../../../ops/declare/onnx.js';
import { scalarDTypes } from '../../../ops/elements.js';
import { ExpressionWriter } from '../../expressions.js';
import type { GraphWriter } from './writer.js';

/** A subexpression for all elements together, and the axes along which it varies. */
export interface Written {
  readonly value: OnnxValue;
  /** Axes of the result, counted from the last one. Broadcasting adds the others. */
  readonly axes: ReadonlySet<number>;
  /** Upper bound of its rank. */
  readonly rank: number;
}

/**
 * Writer of loop IR expressions of one element as ONNX nodes on all elements. Only bit casts of floats are
 * unsupported: ONNX has no operator for them.
 *
 * @param meaning Value of a variable of an expression in the model.
 */
export function onnxExpressions(
  onnx: GraphWriter,
  meaning: (variable: Expr) => Written,
): ExpressionWriter<OnnxValue, Written> {
  return new ExpressionWriter<OnnxValue, Written>({
    constant: ({ type, value }) => ({
      value: onnx.scalar(scalarDTypes[type.scalar], value),
      axes: new Set(),
      rank: 0,
    }),
    variable: meaning,
    combine: (parts, compute) => ({
      value: compute(parts.map(({ value }) => value)),
      axes: new Set(parts.flatMap(({ axes }) => [...axes])),
      rank: Math.max(...parts.map(({ rank }) => rank)),
    }),
    known: (name, values) => onnx.node(name, values),
    unary: (expr, x) => unary(onnx, expr, x),
    binary: (expr, a, b) => binary(onnx, expr, a, b),
    select: (...parts) => onnx.node('Where', parts, {}, null),
    cast: (expr, x) => converted(onnx, expr, x),
    bitcast: () => onnx.unsupported('it works on the bits of floats'),
  });
}

function unary(onnx: GraphWriter, { op, type }: UnaryExpr, x: OnnxValue): OnnxValue {
  const isFloat = type.scalar === 'f32' || type.scalar === 'f64';
  switch (op) {
    case 'neg':
      return onnx.node('Neg', [x]);
    case 'abs':
      return onnx.node('Abs', [x]);
    case 'sqrt':
      return onnx.node('Sqrt', [x]);
    case 'floor':
      return onnx.node('Floor', [x]);
    case 'ceil':
      return onnx.node('Ceil', [x]);
    case 'nearest':
      return onnx.node('Round', [x]);
    case 'trunc': {
      if (!isFloat) return x;
      const isNegative = onnx.node('Less', [x, onnx.scalar(x.dtype, 0)], {}, 'bool');
      return onnx.node('Where', [isNegative, onnx.node('Ceil', [x]), onnx.node('Floor', [x])]);
    }
    case 'not':
      if (type.scalar === 'bool') return onnx.node('Not', [x]);
      return onnx.node('Sub', [onnx.scalar(x.dtype, -1), x]); // ~x = -1 - x
  }
}

const comparisons: Partial<Record<BinaryExpr['op'], string>> = {
  eq: 'Equal',
  lt: 'Less',
  le: 'LessOrEqual',
  gt: 'Greater',
  ge: 'GreaterOrEqual',
};
const logic: Partial<Record<BinaryExpr['op'], string>> = { and: 'And', or: 'Or', xor: 'Xor' };
const bitwise: typeof logic = { and: 'BitwiseAnd', or: 'BitwiseOr', xor: 'BitwiseXor' };
const arithmetic: Partial<Record<BinaryExpr['op'], string>> = {
  add: 'Add',
  sub: 'Sub',
  mul: 'Mul',
  div: 'Div',
  min: 'Min',
  max: 'Max',
};

function binary(onnx: GraphWriter, expr: BinaryExpr, a: OnnxValue, b: OnnxValue): OnnxValue {
  const { op } = expr;
  const { scalar } = expr.a.type;
  if (op === 'ne') {
    if (scalar === 'bool') return onnx.node('Xor', [a, b]);
    return onnx.node('Not', [onnx.node('Equal', [a, b], {}, 'bool')]);
  }
  const comparison = comparisons[op];
  if (comparison !== undefined) return onnx.node(comparison, [a, b], {}, 'bool');
  const plain = arithmetic[op];
  if (plain !== undefined) return onnx.node(plain, [a, b]);
  if (op === 'rem') return remainder(onnx, a, b);
  if (scalar === 'bool') return onnx.node(logic[op]!, [a, b]);
  if (bitwise[op] !== undefined) {
    if (onnx.opset < 18) onnx.unsupported('it works on the bits of integers, which takes opset 18');
    return onnx.node(bitwise[op], [a, b]);
  }
  return shifted(onnx, expr, a, b);
}

/** The remainder with the dividend's sign. Runtimes compute it for int64 in float64, which loses bits. */
function remainder(onnx: GraphWriter, a: OnnxValue, b: OnnxValue): OnnxValue {
  if (a.dtype !== 'int64') return onnx.node('Mod', [a, b], { fmod: 1 });
  return onnx.node('Sub', [a, onnx.node('Mul', [onnx.node('Div', [a, b]), b])]);
}

/** Shifts. Counts are modulo the width; ONNX shifts unsigned integers only. */
function shifted(onnx: GraphWriter, expr: BinaryExpr, x: OnnxValue, count: OnnxValue): OnnxValue {
  const isWide = expr.type.scalar === 'i64';
  const width = isWide ? 64 : 32;
  const unsigned: OnnxDType = isWide ? 'uint64' : 'uint32';
  const known = expr.b.kind === 'const' ? ((Number(expr.b.value) % width) + width) % width : null;
  if (known === 0) return x;
  const by =
    known === null
      ? onnx.cast(onnx.node('Mod', [count, onnx.scalar(count.dtype, width)]), unsigned)
      : onnx.scalar(unsigned, known);
  const shift = (bits: OnnxValue, direction: string): OnnxValue =>
    onnx.cast(onnx.node('BitShift', [onnx.cast(bits, unsigned), by], { direction }), x.dtype);
  if (expr.op === 'shl') return shift(x, 'LEFT');
  if (expr.op === 'shrU') return shift(x, 'RIGHT');
  // An arithmetic shift: negative numbers are complemented, shifted and complemented back.
  const minusOne = onnx.scalar(x.dtype, -1);
  const isNegative = onnx.node('Less', [x, onnx.scalar(x.dtype, 0)], {}, 'bool');
  const bits = onnx.node('Where', [isNegative, onnx.node('Sub', [minusOne, x]), x]);
  const moved = shift(bits, 'RIGHT');
  return onnx.node('Where', [isNegative, onnx.node('Sub', [minusOne, moved]), moved]);
}

/** Conversion of floats to integers by saturating truncation, with NaN as 0; ONNX guarantees less. */
function converted(onnx: GraphWriter, expr: CastExpr, x: OnnxValue): OnnxValue {
  const to = scalarDTypes[expr.type.scalar];
  const from = expr.x.type.scalar;
  const isToInteger = expr.type.scalar === 'i32' || expr.type.scalar === 'i64';
  if ((from !== 'f32' && from !== 'f64') || !isToInteger) return onnx.cast(x, to);
  const number = onnx.node('Where', [
    onnx.node('IsNaN', [x], {}, 'bool'),
    onnx.scalar(x.dtype, 0),
    x,
  ]);
  // float64 represents every int32, so the ends of the range are exact there.
  const wide = expr.type.scalar === 'i32' ? onnx.cast(number, 'float64') : number;
  const end = expr.type.scalar === 'i32' ? 2 ** 31 - 1 : 2 ** 63 - (from === 'f32' ? 2 ** 39 : 2 ** 10); // prettier-ignore
  const start = expr.type.scalar === 'i32' ? -(2 ** 31) : -(2 ** 63);
  const inside = onnx.node('Min', [
    onnx.node('Max', [wide, onnx.scalar(wide.dtype, start)]),
    onnx.scalar(wide.dtype, end),
  ]);
  const whole = onnx.cast(inside, to);
  if (expr.type.scalar === 'i32') return whole;
  const isAbove = onnx.node('GreaterOrEqual', [number, onnx.scalar(number.dtype, 2 ** 63)], {}, 'bool'); // prettier-ignore
  return onnx.node('Where', [isAbove, onnx.scalar('int64', 2n ** 63n - 1n), whole]);
}
