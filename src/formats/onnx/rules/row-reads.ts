import { type Dim, sameDim, subDim } from '../../../base/dim/index.js';
import { atLeast } from '../../../ir/requirement.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ElementType } from '../elements.js';
import type { ImportedNode } from '../node.js';
import type { TensorOperand } from '../operand.js';
import type { GraphProto, NodeProto } from '../proto/onnx_pb.js';

/** A loop body, and the arrays of which each iteration reads one row. */
export interface RowReads {
  /** The rows are its last inputs. */
  readonly body: GraphProto;
  /** One row for each iteration. */
  readonly data: readonly Value[];
  readonly elements: readonly ElementType[];
  /** True to iterate from the last row to the first. */
  readonly reverse: boolean;
}

/**
 * Finds gathers of outer arrays at the iteration number, or at that counted from the end. As a loop over
 * rows, the loop also works without iterations, where there is no row to gather.
 */
export function rowReads(node: ImportedNode, body: GraphProto, length: Dim): RowReads {
  // A body without inputs is refused when it is read.
  const number = body.input[0]?.name ?? '';
  const own = new Set([
    ...body.input.map(({ name }) => name),
    ...body.initializer.map(({ name }) => name),
    ...body.node.flatMap(({ output }) => output),
  ]);
  const outside = (name: string): TensorOperand | null => {
    const found = own.has(name) ? null : node.scope.find(name);
    return number !== '' && found?.kind === 'tensor' ? found : null;
  };
  const last = subDim(length, 1);
  const fromEnd = body.node.find((each) => {
    if (!isOnnxNode(each, 'Sub') || each.input[1] !== number) return false;
    const known = outside(each.input[0])?.known;
    return known?.length === 1 && sameDim(known[0], last);
  })?.output[0];
  const readsAt = (place: string): readonly (readonly [NodeProto, TensorOperand])[] =>
    body.node.flatMap((each) => {
      const isRow = isOnnxNode(each, 'Gather') && each.input[1] === place && isAlongRows(each);
      const array = isRow ? outside(each.input[0]) : null;
      if (array === null || array.type.shape.length === 0) return [];
      return atLeast(array.type.shape[0], length) === false ? [] : [[each, array] as const];
    });
  const forward = readsAt(number);
  const reverse = forward.length === 0 && fromEnd !== undefined;
  const reads = reverse ? readsAt(fromEnd) : forward;
  const read = new Set(reads.map(([each]) => each));
  return {
    body: withFields(body, {
      node: body.node.filter((each) => !read.has(each)),
      input: [
        ...body.input,
        ...reads.map(([each]) => withFields(body.input[0], { name: each.output[0] })),
      ],
    }),
    data: reads.map(([, array]) => {
      const whole = array.valueIn(node.region);
      if (sameDim(whole.type.shape[0], length)) return whole;
      return ops.dynamicSlice(whole, node.scalar(0, 'int64'), [length], 0);
    }),
    elements: reads.map(([, { element }]) => element),
    reverse: reverse && reads.length > 0,
  };
}

/** True for a node of an operator of ONNX itself. */
export function isOnnxNode({ opType, domain }: NodeProto, type: string): boolean {
  return opType === type && (domain === '' || domain === 'ai.onnx');
}

/** A message with other fields. Defaults come from the prototype. */
export function withFields<M extends object>(message: M, fields: Partial<M>): M {
  return Object.assign(Object.create(Object.getPrototypeOf(message) as object) as M, message, fields); // prettier-ignore
}

function isAlongRows({ attribute }: NodeProto): boolean {
  return attribute.every(({ name, i }) => name !== 'axis' || i === 0n);
}
