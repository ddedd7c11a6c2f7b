import type { Dim } from '../../base/dim/index.js';
import { sameShape } from '../../base/dim/index.js';
import { InternalError } from '../../base/errors.js';
import { type CallNode, type Program, typeToString, type Value } from '../../ir/program.js';
import { sameType, type TensorType } from '../../ir/types.js';
import { type BatchContext, rowShape } from '../../ops/declare/batch.js';
import { cast } from '../../ops/elementwise/conversion.js';
import { reshape } from '../../ops/movement/reshape.js';
import { broadcastTo, sum } from '../../ops/reduction/sum.js';
import { declarationOf } from '../../ops/declare/facets.js';

/*
 * How a call is made for all rows at once: as its operator declares, or as follows from its lowering where
 * that is plain.
 */

/** A call for one row, in the dimensions of the program in which it is to be batched. */
export interface RowCall {
  readonly node: CallNode;
  readonly into: Program;
  /** Operands; those that differ from row to row have an additional first axis. */
  readonly operands: readonly Value[];
  readonly isBatched: readonly boolean[];
  readonly length: Dim;
}

/** True when there is a batching rule for a call, of whose operands some differ between so many rows. */
export function isBatchable(node: CallNode, isBatched: readonly boolean[], length: Dim): boolean {
  const { batch } = declarationOf(node.op);
  if (batch === undefined) return isPlainView(node) || isPlainPoint(node);
  return batch.applies?.(isBatched, length) !== false;
}

/** True when the call on sums is the sum of the calls. */
export function isLinear(node: CallNode): boolean {
  return isPlainView(node) || declarationOf(node.op).batch?.isLinear === true;
}

/** True when the sum of the calls has a rule that avoids computing every call. */
export function hasTotal(node: CallNode): boolean {
  return declarationOf(node.op).batch?.total !== undefined;
}

/** True when rows of zeros make a row of zeros. Operands that are not batched are the same for all rows. */
export function keepsZeros(node: CallNode, isBatched: readonly boolean[]): boolean {
  const { zeroWith } = declarationOf(node.op).batch ?? {};
  return zeroWith === undefined ? isBatched.includes(true) : zeroWith.every((k) => isBatched[k]);
}

function isPlainView({ op }: CallNode): boolean {
  const { lowering } = declarationOf(op);
  return lowering.kind === 'view' && lowering.isBarrier !== true;
}

function isPlainPoint({ op, types }: CallNode): boolean {
  const { family, lowering, attributes, batch, measure } = declarationOf(op);
  if (family === 'random' || types.length !== 1) return false;
  if (batch !== undefined || measure !== undefined) return false;
  if (lowering.kind !== 'point' || !lowering.elementwise) return false;
  // A size in an attribute may be one of the result.
  return Object.values(attributes).every(({ mapDims }) => mapDims === undefined);
}

/** The results of a call for all rows. */
export function callOnRows(call: RowCall): readonly Value[] {
  const { node, into, length } = call;
  const { batch } = declarationOf(node.op);
  return into.withSource(node.source, () => {
    const made =
      batch !== undefined
        ? batch.rows(contextOf(call))
        : isPlainView(node)
          ? [reshape(call.operands[0], [length, ...node.types[0].shape])]
          : into.append(node.op, alignedRows(call), node.attributes);
    return made.map((value, k) => {
      const { dtype, shape } = node.types[k];
      return withSizesOf(value, { dtype, shape: [length, ...shape] });
    });
  });
}

/** The sum of the only result of a call over all rows, by the operator's own rule. */
export function totalOfCall(call: RowCall): Value {
  const { node, into } = call;
  const { batch } = declarationOf(node.op);
  if (batch?.total === undefined) throw new InternalError(`${node.op.name} declares no total`);
  const { total } = batch;
  return into.withSource(node.source, () => withSizesOf(total(contextOf(call)), node.types[0]));
}

/** The sum of rows, in their dtype. */
export function totalOfRows(rows: Value): Value {
  return cast(sum(rows, 0), rows.type.dtype);
}

/** Repeats one row. */
export function repeated(row: Value, length: Dim): Value {
  const { shape } = row.type;
  return broadcastTo(row, [length, ...shape]);
}

function contextOf({ node, operands, isBatched, length }: RowCall): BatchContext<Value> {
  const { attributes, types } = node;
  return { inputs: operands, isBatched, outputTypes: types, length, attributes };
}

/**
 * Operands whose row axes broadcast as in one row: from the right, so rows with fewer axes than the result
 * get axes of size 1 in front.
 */
function alignedRows({ node, operands, isBatched, length }: RowCall): readonly Value[] {
  const rank = node.types[0].shape.length;
  return operands.map((value, k) => {
    if (!isBatched[k]) return value;
    const row = rowShape({ inputs: operands, isBatched }, k);
    if (row.length === rank) return value;
    const ones = Array.from({ length: rank - row.length }, () => 1);
    return reshape(value, [length, ...ones, ...row]);
  });
}

/** The value with its expected sizes, which may be equal only by a requirement. */
export function withSizesOf(value: Value, type: TensorType): Value {
  if (sameType(value.type, type)) return value;
  const fits = value.type.dtype === type.dtype && value.type.shape.length === type.shape.length;
  if (!fits || sameShape(value.type.shape, type.shape)) {
    throw new InternalError('a value has another type than the one in whose place it stands', {
      expected: typeToString(type),
      actual: typeToString(value.type),
    });
  }
  return reshape(value, type.shape);
}
