/** Models that tests make. */
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf';
import { loadProtobuf, protobufFor } from '../../../src/formats/onnx/proto/library.js';
import type {
  AttributeProtoSchema,
  FunctionProtoSchema,
  GraphProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  TensorProtoSchema,
  ValueInfoProtoSchema,
} from '../../../src/formats/onnx/proto/onnx_pb.js';

await loadProtobuf();

/** What a message is made of, without messages that exist already. */
type Parts<S extends DescMessage> = Exclude<MessageInitShape<S>, { readonly $typeName: string }>;

export type Graph = Parts<typeof GraphProtoSchema>;
export type Node = Parts<typeof NodeProtoSchema>;
export type Tensor = Parts<typeof TensorProtoSchema>;
export type ModelFunction = Parts<typeof FunctionProtoSchema>;
export type Model = Parts<typeof ModelProtoSchema>;
type Attribute = Parts<typeof AttributeProtoSchema>;
type ValueInfo = Parts<typeof ValueInfoProtoSchema>;

/** A size: a number, a name, or nothing at all. */
export type Size = number | string | null;

/** `node('Add', ['a', 'b'], 'c', { axis: 1 })`: whole numbers, floats and strings, lists of them, graphs and tensors. */
export function node(
  opType: string,
  input: readonly string[],
  output: string | readonly string[],
  attributes: Readonly<
    Record<
      string,
      | number
      | string
      | readonly number[]
      | { graph: Graph }
      | { tensor: Tensor }
      | { float: number }
      | { floats: readonly number[] }
      | { strings: readonly string[] }
    >
  > = {},
): Node {
  return {
    opType,
    input: [...input],
    output: typeof output === 'string' ? [output] : [...output],
    attribute: Object.entries(attributes).map(([name, value]): Attribute => {
      if (typeof value === 'number') return { name, type: 2, i: BigInt(value) };
      if (typeof value === 'string') return { name, type: 3, s: new TextEncoder().encode(value) };
      if ('graph' in value) return { name, type: 5, g: value.graph };
      if ('tensor' in value) return { name, type: 4, t: value.tensor };
      if ('float' in value) return { name, type: 1, f: value.float };
      if ('floats' in value) return { name, type: 6, floats: [...value.floats] };
      if ('strings' in value) {
        return {
          name,
          type: 8,
          strings: value.strings.map((each) => new TextEncoder().encode(each)),
        };
      }
      return { name, type: 7, ints: value.map(BigInt) };
    }),
  };
}

/** An input or output of float32, or of another element type by its number. */
export function value(name: string, sizes: readonly Size[], elemType: number = 1): ValueInfo {
  const dim = sizes.map((size) => {
    if (size === null) return {};
    return typeof size === 'number'
      ? { value: { case: 'dimValue' as const, value: BigInt(size) } }
      : { value: { case: 'dimParam' as const, value: size } };
  });
  return { name, type: { value: { case: 'tensorType', value: { elemType, shape: { dim } } } } };
}

export function floats(name: string, dims: readonly number[], data: readonly number[]): Tensor {
  return {
    name,
    dataType: 1,
    dims: dims.map(BigInt),
    rawData: new Uint8Array(Float32Array.from(data).buffer),
  };
}

export function ints(
  name: string,
  dims: readonly number[],
  data: readonly (number | bigint)[],
): Tensor {
  return {
    name,
    dataType: 7,
    dims: dims.map(BigInt),
    rawData: new Uint8Array(BigInt64Array.from(data, BigInt).buffer),
  };
}

/** The bytes of a model of one graph; opset 17 unless said. */
export function model(graph: Graph, rest: Model = {}): Uint8Array {
  const { create, toBinary, schema } = protobufFor('test');
  const message = create(schema.ModelProtoSchema, {
    irVersion: 8n,
    opsetImport: [{ domain: '', version: 17n }],
    graph,
    ...rest,
  });
  return toBinary(schema.ModelProtoSchema, message);
}
