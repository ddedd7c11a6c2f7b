import type { OnnxDType } from '../../../ops/declare/onnx.js';

/**
 * Dtypes in which ONNX operators are written. Some operators accept few; onnxruntime implements fewer than
 * the standard allows, so dtypes that it lacks are widened: bfloat16 and narrow integers above all. (It
 * widens float16 itself.) Operators that are absent here accept the dtypes of their operands.
 */

const floats: readonly OnnxDType[] = ['float16', 'float32', 'float64'];
const numbers: readonly OnnxDType[] = [...floats, 'int32', 'int64'];
/** Dtypes that a scatter adds up or multiplies. */
const scattered: readonly OnnxDType[] = ['bool', 'int8', 'uint8', 'int32', 'int64', 'float32', 'float64']; // prettier-ignore

const accepted: Readonly<Record<string, readonly OnnxDType[]>> = {
  ...listed(floats, [
    'Acos', 'Acosh', 'Asin', 'Asinh', 'Atan', 'Atanh', 'AveragePool', 'BatchNormalization', 'Ceil', 'Celu',
    'Conv', 'ConvTranspose', 'Cos', 'Cosh', 'Elu', 'Erf', 'Exp', 'Floor', 'Gelu', 'Gemm',
    'GlobalAveragePool', 'GlobalMaxPool', 'GroupNormalization', 'HardSigmoid', 'HardSwish',
    'InstanceNormalization', 'IsInf', 'IsNaN', 'LayerNormalization', 'LeakyRelu',
    'Log', 'LogSoftmax', 'MaxPool', 'Mish', 'Reciprocal', 'ReduceLogSumExp', 'ReduceMean', 'Round', 'Selu',
    'Sigmoid', 'Sin', 'Sinh', 'Softmax', 'Softplus', 'Softsign', 'Sqrt', 'Tan', 'Tanh',
  ]),
  ...listed(numbers, [
    'Abs', 'Add', 'ArgMax', 'ArgMin', 'Clip', 'CumSum', 'Div', 'Einsum', 'Greater', 'GreaterOrEqual', 'Less',
    'LessOrEqual', 'MatMul', 'Max', 'Min', 'Mod', 'Mul', 'Neg', 'Pow', 'Range', 'ReduceMax', 'ReduceMin',
    'ReduceProd', 'ReduceSum', 'Sign', 'Sub', 'TopK',
  ]),
  Equal: ['bool', ...numbers],
  Relu: floats,
  NonZero: ['bool', 'float32', 'int32', 'int64', 'uint8'],
  ScatterElements: scattered,
  ScatterND: scattered,
  Pad: ['bool', 'int8', 'uint8', ...numbers],
  Tile: ['bool', 'int8', 'uint8', ...numbers],
  Trilu: ['bool', 'int64', ...floats],
  Where: ['uint8', ...numbers],
}; // prettier-ignore

/** Operands that have the operator's dtype; all of them unless listed. */
const carried: Readonly<Record<string, readonly number[]>> = {
  ...listed(
    [0],
    [
      'CumSum', 'Expand', 'Gather', 'GatherElements', 'GatherND', 'Reshape', 'Slice', 'Squeeze', 'Tile', 'TopK',
      'Trilu', 'Unsqueeze', 'ReduceLogSumExp', 'ReduceMax', 'ReduceMean', 'ReduceMin', 'ReduceProd', 'ReduceSum',
    ], // prettier-ignore
  ),
  Compress: [0],
  NonMaxSuppression: [0, 1, 3, 4],
  OneHot: [0, 1],
  Pad: [0, 2],
  ScatterElements: [0, 2],
  ScatterND: [0, 2],
  Where: [1, 2],
};

/** Wider dtypes that hold each value of another, the cheapest first. */
const wider: Readonly<Record<OnnxDType, readonly OnnxDType[]>> = {
  bool: ['uint8', 'int32', 'int64', 'float32'],
  int8: ['int32', 'int64'],
  uint8: ['int32', 'int64'],
  int32: ['int64', 'float64'],
  int64: [],
  uint32: ['int64'],
  uint64: [],
  float16: ['float32', 'float64'],
  bfloat16: ['float32', 'float64'],
  float32: ['float64'],
  float64: [],
};

function listed<T>(value: T, names: readonly string[]): Record<string, T> {
  return Object.fromEntries(names.map((name) => [name, value]));
}

/** The dtype in which an ONNX operator is written for operands of a dtype; null when there is none. */
export function carrierDType(type: string, dtype: OnnxDType): OnnxDType | null {
  const takes = Object.hasOwn(accepted, type) ? accepted[type] : null;
  if (takes === null || takes.includes(dtype)) return dtype;
  return wider[dtype].find((wide) => takes.includes(wide)) ?? null;
}

/** True when an operand has the dtype that the operator is written in. */
export function isCarried(type: string, operand: number): boolean {
  return !Object.hasOwn(carried, type) || carried[type].includes(operand);
}

/** Operators that onnxruntime has no float64 kernels of, though the standard has them: nothing wider can carry them. */
const withoutFloat64: ReadonlySet<string> = new Set([
  'Acos', 'Acosh', 'Asin', 'Asinh', 'Atan', 'Atanh', 'AveragePool', 'Conv', 'ConvTranspose', 'Cosh', 'Erf',
  'GlobalAveragePool', 'GlobalMaxPool',
]); // prettier-ignore

/** True for operators that onnxruntime has no kernel of for a dtype in which they are written. */
export function onnxruntimeLacks(type: string, dtype: OnnxDType): boolean {
  return dtype === 'float64' && withoutFloat64.has(type);
}
