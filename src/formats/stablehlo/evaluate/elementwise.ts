import { type DType, isFloat } from '../../../base/dtype.js';
import { InternalError } from '../../../base/errors.js';
import type { SizedOperation } from './sizes.js';
import { elementAt, type HloTensor, tabulate } from './tensor.js';

type Numbers = readonly number[];
type Operation = (...operands: number[]) => number;
type BigOperation = (...operands: bigint[]) => bigint;

/** Operations on elements that a JavaScript number holds; float results are rounded when they are stored. */
const operations: Readonly<Record<string, Operation>> = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b,
  remainder: (a, b) => a % b,
  minimum: (a, b) => Math.min(a, b),
  maximum: (a, b) => Math.max(a, b),
  power: (a, b) => Math.pow(a, b),
  atan2: (a, b) => Math.atan2(a, b),
  negate: (a) => -a,
  abs: (a) => Math.abs(a),
  sqrt: (a) => Math.sqrt(a),
  rsqrt: (a) => 1 / Math.sqrt(a),
  cbrt: (a) => Math.cbrt(a),
  exponential: (a) => Math.exp(a),
  exponential_minus_one: (a) => Math.expm1(a),
  log: (a) => Math.log(a),
  log_plus_one: (a) => Math.log1p(a),
  logistic: (a) => 1 / (1 + Math.exp(-a)),
  sine: (a) => Math.sin(a),
  cosine: (a) => Math.cos(a),
  tan: (a) => Math.tan(a),
  tanh: (a) => Math.tanh(a),
  sign: (a) => Math.sign(a),
  floor: (a) => Math.floor(a),
  ceil: (a) => Math.ceil(a),
  is_finite: (a) => Number(Number.isFinite(a)),
  round_nearest_even: (a) => {
    const below = Math.floor(a);
    const rest = a - below;
    const rounded = rest < 0.5 || (rest === 0.5 && below % 2 === 0) ? below : below + 1;
    return rounded === 0 && (a < 0 || Object.is(a, -0)) ? -0 : rounded;
  },
  clamp: (low, a, high) => Math.min(Math.max(a, low), high),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  shift_left: (a, b) => (b > 31 ? 0 : a << b),
  shift_right_arithmetic: (a, b) => a >> Math.min(b, 31),
  shift_right_logical: (a, b) => (b > 31 ? 0 : a >>> b),
  EQ: (a, b) => Number(a === b),
  NE: (a, b) => Number(a !== b),
  LT: (a, b) => Number(a < b),
  LE: (a, b) => Number(a <= b),
  GT: (a, b) => Number(a > b),
  GE: (a, b) => Number(a >= b),
};

/** Operations on integers of 32 bits and fewer that numbers would round. */
const integerOperations: Readonly<Record<string, Operation>> = {
  multiply: Math.imul,
  divide: (a, b) => Math.trunc(a / b),
};

const bigOperations: Readonly<Record<string, BigOperation>> = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b,
  remainder: (a, b) => a % b,
  minimum: (a, b) => (a < b ? a : b),
  maximum: (a, b) => (a > b ? a : b),
  negate: (a) => -a,
  abs: (a) => (a < 0n ? -a : a),
  not: (a) => ~a,
  clamp: (low, a, high) => (a < low ? low : a > high ? high : a),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  shift_left: (a, b) => (b > 63n ? 0n : a << b),
  shift_right_arithmetic: (a, b) => a >> (b > 63n ? 63n : b),
  shift_right_logical: (a, b) => (b > 63n ? 0n : BigInt.asUintN(64, a) >> b),
};

/** The results of elementwise operations; undefined for others. */
export function evaluateElementwise(
  { name, types: [type], attributes }: SizedOperation,
  operands: readonly HloTensor[],
): HloTensor | undefined {
  const [x] = operands;
  if (name === 'convert') return converted(x, type.dtype);
  if (name === 'bitcast_convert') return sameBits(x, type.dtype);
  if (name === 'select') {
    const [condition, a, b] = operands;
    return tabulate(type.dtype, type.shape, (_, i) => elementAt(Number(elementAt(condition, i)) === 0 ? b : a, i)); // prettier-ignore
  }
  const direction = attributes.get('comparison_direction');
  const called = name === 'compare' ? (/ (\w+)>/.exec(direction ?? '')?.[1] ?? name) : name;
  const apply = operationOf(called, x?.dtype);
  if (apply === undefined) return undefined;
  return tabulate(type.dtype, type.shape, (_, i) => apply(operands.map((operand) => elementAt(operand, i)))); // prettier-ignore
}

function operationOf(
  name: string,
  dtype: DType | undefined,
): ((operands: readonly (number | bigint)[]) => number | bigint) | undefined {
  if (dtype === undefined) return undefined;
  if (dtype === 'int64' && Object.hasOwn(bigOperations, name)) {
    return (operands) => BigInt.asIntN(64, bigOperations[name](...(operands as readonly bigint[])));
  }
  const isInteger = dtype !== 'bool' && !isFloat(dtype);
  if (name === 'not') return ([a]) => (dtype === 'bool' ? 1 - Number(a) : ~Number(a));
  const table =
    isInteger && Object.hasOwn(integerOperations, name) ? integerOperations : operations;
  if (!Object.hasOwn(table, name)) return undefined;
  const apply = table[name];
  if (dtype === 'int64') return (operands) => apply(...(operands as Numbers));
  return (operands) =>
    isInteger ? apply(...(operands as Numbers)) : apply(...operands.map(Number));
}

function converted(x: HloTensor, dtype: DType): HloTensor {
  const isToBig = dtype === 'int64';
  return tabulate(dtype, x.shape, (_, i) => {
    const element = elementAt(x, i);
    if (dtype === 'bool') return Number(Number(element) !== 0);
    if (isToBig) return typeof element === 'bigint' ? element : whole(element);
    if (isFloat(dtype)) return Number(element);
    return typeof element === 'bigint'
      ? Number(BigInt.asIntN(32, element))
      : Number(whole(element));
  });
}

/** A float of an integer's range, truncated; the text converts no others without discarding the result. */
function whole(element: number): bigint {
  return Number.isFinite(element) ? BigInt(Math.trunc(element)) : 0n;
}

function sameBits(x: HloTensor, dtype: DType): HloTensor {
  const bytes = x.data.slice().buffer;
  switch (dtype) {
    case 'float32':
      return { ...x, dtype, data: new Float32Array(bytes) };
    case 'int32':
      return { ...x, dtype, data: new Int32Array(bytes) };
    case 'float64':
      return { ...x, dtype, data: new Float64Array(bytes) };
    case 'int64':
      return { ...x, dtype, data: new BigInt64Array(bytes) };
    default:
      throw new InternalError(`bits of ${x.dtype} were read as ${dtype}`);
  }
}
