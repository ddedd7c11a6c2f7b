import type { Dim } from '../../base/dim/index.js';
import { ArgumentError, DTypeError, ShapeError } from '../../base/errors.js';
import type { InferContext } from '../../ir/operator.js';
import { typeToString } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import type { ForeachForm } from '../declare/lowering.js';
import {
  checkCount,
  checkState,
  bindRegion,
  firstIteration,
  lengthOf,
  regionAt,
  rowResults,
} from './body.js';

/** The types of the stacked results, then of the last states. */
export function inferForeach(
  op: string,
  {
    inputs,
    attributes: { data, states, reverse, counted, joined, sizes },
    regions,
    fresh,
    require,
  }: InferContext & {
    readonly attributes: Omit<ForeachForm, 'preferRecompute'> & {
      readonly sizes: readonly Dim[];
    };
  },
): readonly TensorType[] {
  const body = regionAt(op, regions, 0);
  checkCount(op, 'operands', body.inputs.length + Number(counted), inputs.length);
  const rows = inputs.slice(0, data);
  const names = dataNames(data);
  const length = lengthOf(op, rows, names, require);
  if (counted) checkRowCount(op, inputs[inputs.length - 1]);
  const operands = bodyOperands(inputs, data).slice(0, body.inputs.length);
  const instance = bindRegion(op, body, { types: operands, sizes }, require, firstIteration);
  const { types, own } = instance;
  const outputs = body.outputs.length - states;
  if (joined > 0 && reverse) {
    throw new ArgumentError('a loop from the last row to the first joins no rows', {
      op,
      expected: 'joined 0 with reverse',
      actual: String(joined),
    });
  }
  const rowTypes = rowResults(op, instance, { count: outputs, joined, length }, fresh);
  return types.map((type, k) => {
    if (k < outputs) return rowTypes[k];
    const state = k - outputs;
    checkState(op, `state ${state}`, operands[data + state], type, { require, own });
    return operands[data + state];
  });
}

/** The types that the body of a loop over rows takes: of data, a row. */
export function bodyOperands(types: readonly TensorType[], data: number): readonly TensorType[] {
  return types.map((type, k) =>
    k < data ? { dtype: type.dtype, shape: type.shape.slice(1) } : type,
  );
}

/** Names of the data in errors. */
export function dataNames(data: number): readonly string[] {
  return Array.from({ length: data }, (_, k) => `data ${k}`);
}

function checkRowCount(op: string, { dtype, shape }: TensorType): void {
  if (dtype !== 'int32') {
    throw new DTypeError('the number of rows is not an int32', {
      op,
      expected: 'int32',
      actual: dtype,
    });
  }
  if (shape.length > 0) {
    throw new ShapeError('the number of rows is not one number', {
      op,
      expected: 'rank 0',
      actual: typeToString({ dtype, shape }),
    });
  }
}
