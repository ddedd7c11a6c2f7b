import type { DType } from '../../src/base/dtype.js';
import type { Program, Value } from '../../src/ir/program.js';
import type { TensorType } from '../../src/ir/types.js';
import {
  add, attention, cast, conv2d, cumprod, cumsum, exp, matmul, mul, relu, scatterAdd, softmax, sort, sum, tanh,
} from '../../src/ops/index.js'; // prettier-ignore
import type { Operand } from '../../src/runtime/execution/executable.js';
import { elementsOf, operand, programOf } from '../support/programs.js';
import { array, f32, rows, type } from './case.js';
import { controlCases } from './control.js';

/** A program of one kind of kernel for GPUs. */
export interface ShaderCase {
  /** Also that of its file. */
  readonly name: string;
  readonly program: Program;
  readonly inputs: readonly Operand[];
}

/** A program of one result. */
function of(
  name: string,
  types: readonly TensorType[],
  inputs: readonly Operand[],
  result: (...operands: readonly Value[]) => Value,
): ShaderCase {
  const named = Object.fromEntries(types.map((each, at) => [`x${at}`, each]));
  const program = programOf(named, (values) => ({
    y: result(...types.map((_, at) => values[`x${at}`])),
  }));
  return { name, program, inputs };
}

function narrow(dtype: DType, seed: number, ...shape: readonly number[]): Operand {
  return operand(dtype, shape, elementsOf(array(seed, ...shape)).map(Number));
}

/** One program for each kind of kernel. */
export function shaderCases(): readonly ShaderCase[] {
  const [lstm] = controlCases().filter(({ name }) => name === 'lstm-loop');
  const positions = operand(
    'int32',
    [4, 8],
    Array.from({ length: 32 }, (_, at) => (at * 5) % 6),
  );
  return [
    of('points', [f32(64, 64), f32(64)], [array(1, 64, 64), array(2, 64)], (x, y) => tanh(add(mul(x, 2), y))), // prettier-ignore
    of('points-any-rows', [f32(rows, 6)], [array(3, 5, 6)], (x) => mul(x, x)),
    of('points-float16', [type('float16', 64, 64)], [narrow('float16', 4, 64, 64)], (x) => relu(x)), // prettier-ignore
    of('rows', [f32(6, 128)], [array(5, 6, 128)], (x) => softmax(x)),
    of('columns', [f32(96, 8)], [array(6, 96, 8)], (x) => sum(x, 0)),
    of('fold-in-two', [f32(2 ** 16)], [array(7, 2 ** 16)], (x) => sum(exp(x))),
    of('product', [f32(64, 32), f32(32, 64), f32(64)], [array(8, 64, 32), array(9, 32, 64), array(10, 64)], (x, y, b) => relu(add(matmul(x, y), b))), // prettier-ignore
    of('product-any-rows', [f32(rows, 20), f32(20, 30)], [array(11, 7, 20), array(12, 20, 30)], (x, y) => matmul(x, y)), // prettier-ignore
    of('product-float16', [type('float16', 32, 32), type('float16', 32, 32)], [narrow('float16', 13, 32, 32), narrow('float16', 14, 32, 32)], (x, y) => matmul(x, y)), // prettier-ignore
    of('product-few-rows', [f32(2, 256), f32(256, 16)], [array(15, 2, 256), array(16, 256, 16)], (x, y) => matmul(x, y)), // prettier-ignore
    of('convolution', [f32(2, 4, 8, 8), f32(8, 4, 3, 3)], [array(17, 2, 4, 8, 8), array(18, 8, 4, 3, 3)], (x, w) => conv2d(x, w, { padding: 1 })), // prettier-ignore
    of('attention', [f32(2, 20, 16), f32(2, 20, 16), f32(2, 20, 16)], [19, 20, 21].map((seed) => array(seed, 2, 20, 16)), (q, k, v) => attention(q, k, v, { causal: true })), // prettier-ignore
    of('scatter', [f32(6, 8), type('int32', 4, 8), f32(4, 8)], [array(22, 6, 8), positions, array(23, 4, 8)], (x, at, y) => scatterAdd(x, at, y, 0)), // prettier-ignore
    of('scan', [f32(2, 512)], [array(24, 2, 512)], (x) => cumsum(x, 1)),
    of('scan-in-two', [f32(rows)], [array(27, 9000)], (x) => cumprod(x, 0)),
    of('sort', [f32(2, 100)], [array(25, 2, 100)], (x) => sort(x)),
    of('conversion', [f32(64, 64)], [array(26, 64, 64)], (x) => cast(x, 'int8')),
    { name: 'recurrence', program: lstm.program, inputs: lstm.inputs },
  ];
}
