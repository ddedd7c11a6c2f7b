import type { OnnxAttributes, OnnxDType, OnnxValue } from '../../../ops/declare/onnx.js';
import { elementNamed, elementTypeOf } from '../elements.js';
import type { Parts } from '../proto/library.js';
import type { GraphProtoSchema, NodeProtoSchema, TensorProtoSchema } from '../proto/onnx_pb.js';

/** The parts of a model while it is written, before they become messages. */

/** Public function named in errors. */
export const exportOp = 'toOnnx';

/** A value whose name may still change: outputs are named after all nodes are written. */
export interface NamedValue extends OnnxValue {
  name: string;
}

/** A node; its regions are graphs that may capture outer values. */
export interface OnnxNode {
  readonly type: string;
  readonly inputs: readonly (OnnxValue | null)[];
  readonly outputs: readonly OnnxValue[];
  readonly attributes: OnnxAttributes;
  readonly graphs: Readonly<Record<string, Subgraph>>;
}

/** The graph of a region, with inputs and outputs of its own. */
export interface Subgraph {
  readonly name: string;
  readonly nodes: readonly OnnxNode[];
  readonly inputs: readonly TypedValue[];
  readonly outputs: readonly TypedValue[];
}

/** A value with its declared sizes: numbers, names, or nothing for one of them or for the whole shape. */
export interface TypedValue {
  readonly value: OnnxValue;
  readonly shape: readonly (number | string | null)[] | null;
}

/** A tensor stored in the model. */
export interface Stored {
  readonly value: OnnxValue;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** The number of an element type in a model. */
export function elementCode(dtype: OnnxDType): number {
  return dtype === 'uint32' || dtype === 'uint64'
    ? elementNamed(dtype).code
    : elementTypeOf(dtype).code;
}

type GraphParts = Parts<typeof GraphProtoSchema>;
type NodeParts = Parts<typeof NodeProtoSchema>;
export type TensorParts = Parts<typeof TensorProtoSchema>;
type AttributeParts = NonNullable<NodeParts['attribute']>[number];

export function graphParts(graph: Subgraph): GraphParts {
  return {
    name: graph.name,
    node: graph.nodes.map(nodeParts),
    input: graph.inputs.map(valueInfo),
    output: graph.outputs.map(valueInfo),
  };
}

export function tensorParts({ value, shape, bytes }: Stored): TensorParts {
  return {
    name: value.name,
    dataType: elementCode(value.dtype),
    dims: shape.map(BigInt),
    rawData: bytes,
  };
}

function nodeParts({ type, inputs, outputs, attributes, graphs }: OnnxNode): NodeParts {
  return {
    opType: type,
    name: `${outputs[0].name}_node`,
    input: inputs.map((input) => input?.name ?? ''),
    output: outputs.map(({ name }) => name),
    attribute: [
      ...Object.entries(attributes).map(attributeParts),
      ...Object.entries(graphs).map(([name, graph]): AttributeParts => ({
        name,
        type: 5,
        g: graphParts(graph),
      })),
    ],
  };
}

function attributeParts([name, value]: [string, OnnxAttributes[string]]): AttributeParts {
  if (typeof value === 'number') return { name, type: 2, i: BigInt(value) };
  if (typeof value === 'string') return { name, type: 3, s: new TextEncoder().encode(value) };
  if ('float' in value) return { name, type: 1, f: value.float };
  return { name, type: 7, ints: value.map(BigInt) };
}

function valueInfo({ value, shape }: TypedValue): NonNullable<GraphParts['input']>[number] {
  const dim = shape?.map((size) => {
    if (size === null) return {};
    return typeof size === 'number'
      ? { value: { case: 'dimValue' as const, value: BigInt(size) } }
      : { value: { case: 'dimParam' as const, value: size } };
  });
  return {
    name: value.name,
    type: {
      value: {
        case: 'tensorType',
        value: { elemType: elementCode(value.dtype), ...(dim !== undefined && { shape: { dim } }) },
      },
    },
  };
}
