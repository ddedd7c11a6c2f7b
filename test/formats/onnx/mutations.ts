/** Models that somebody has damaged, by accident or on purpose. */
import { FormatError, GraphError, UnsupportedError } from '../../../src/base/errors.js';
import { protobufFor } from '../../../src/formats/onnx/proto/library.js';
import type {
  AttributeProto,
  GraphProto,
  ModelProto,
  NodeProto,
  TensorProto,
} from '../../../src/formats/onnx/proto/onnx_pb.js';
import { verify } from '../../../src/ir/verify.js';
import { fromOnnx } from '../../../src/onnx.js';

/** A whole number from 0 up to, and without, the limit. */
export type Below = (limit: number) => number;

/** A small generator of numbers below a limit: the same ones in every run. */
export function numbers(seed: number): Below {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** Some bytes changed, and sometimes the end cut off. */
export function withChangedBytes(whole: Uint8Array, below: Below): Uint8Array {
  const bytes = Uint8Array.from(whole); // a slice of a Buffer would be the same bytes
  for (let change = 0; change <= below(3); change++) {
    const at = below(bytes.length);
    bytes[at] = below(2) === 0 ? below(256) : bytes[at] ^ (1 << below(8));
  }
  return below(8) === 0 ? bytes.subarray(0, below(bytes.length)) : bytes;
}

const numbersToTry: readonly bigint[] = [
  0n, 1n, -1n, 2n, -2n, 7n, 1000n, 2n ** 31n, -(2n ** 31n), 2n ** 32n, 2n ** 53n + 1n, 2n ** 62n,
  2n ** 63n - 1n, -(2n ** 63n),
]; // prettier-ignore

const floatsToTry: readonly number[] = [0, -1, NaN, Infinity, -Infinity, 1e-45, 3e38];

/** Changes of what a model says, which its bytes spell well. */
type Change = (graph: GraphProto, model: ModelProto, below: Below) => void;

const pick = <T>(list: readonly T[], below: Below): T | undefined => list[below(list.length)];

const changes: readonly Change[] = [
  ({ node: nodes }, _, below) => {
    // Another operator is given these inputs and attributes.
    const [one, other] = [pick(nodes, below), pick(nodes, below)];
    if (one !== undefined && other !== undefined) [one.opType, other.opType] = [other.opType, one.opType]; // prettier-ignore
  },
  ({ node: nodes }, _, below) => {
    const each = pick(nodes, below);
    if (each !== undefined) each.opType = pick(operators, below)!;
  },
  (graph, _, below) => {
    const names = [...graph.node.flatMap(({ input, output }) => [...input, ...output]), ''];
    const each = pick(graph.node, below);
    if (each === undefined) return;
    const list = below(3) === 0 ? each.output : each.input;
    const at = below(list.length + 1);
    if (below(3) === 0) list.splice(at, 1);
    else list[at] = pick(names, below)!;
  },
  ({ node: nodes }, _, below) => changeAttribute(pick(nodes, below), below),
  ({ node: nodes }, _, below) => changeAttribute(pick(nodes, below), below),
  ({ initializer }, _, below) => changeTensor(pick(initializer, below), below),
  ({ initializer }, _, below) => changeTensor(pick(initializer, below), below),
  ({ node: nodes }, _, below) =>
    changeTensor(pick(nodes.flatMap(({ attribute }) => attribute.flatMap(({ t }) => t ?? [])), below), below), // prettier-ignore
  ({ input, output, valueInfo }, _, below) => {
    const type = pick([...input, ...input, ...output, ...valueInfo], below)?.type?.value;
    if (type?.case !== 'tensorType') return;
    const dims = type.value.shape?.dim ?? [];
    const dim = pick(dims, below);
    const what = below(4);
    if (what === 0) type.value.elemType = below(30) - 2;
    else if (what === 1) type.value.shape = undefined;
    else if (what === 2) dims.splice(below(dims.length + 1), 1);
    else if (dim !== undefined) dim.value = { case: 'dimValue', value: pick(numbersToTry, below)! };
  },
  (_, { opsetImport }, below) => {
    const each = pick(opsetImport, below);
    if (each !== undefined) each.version = BigInt(below(30));
  },
  ({ initializer, sparseInitializer, node: nodes, output }, _, below) => {
    const lists: readonly unknown[][] = [initializer, sparseInitializer, nodes, output];
    const list = pick(lists, below)!;
    const at = below(list.length + 1);
    if (below(2) === 0) list.splice(at, 1);
    else if (at < list.length) list.push(list[at]);
  },
];

function changeAttribute(of: NodeProto | undefined, below: Below): void {
  const each: AttributeProto | undefined = pick(of?.attribute ?? [], below);
  if (of === undefined || each === undefined) return;
  const at = below(each.ints.length + 1);
  switch (below(6)) {
    case 0:
      each.i = pick(numbersToTry, below)!;
      break;
    case 1:
      if (below(2) === 0) each.ints.splice(at, 1);
      else each.ints[at] = pick(numbersToTry, below)!;
      break;
    case 2:
      each.f = pick(floatsToTry, below)!;
      if (each.floats.length > 0) each.floats[below(each.floats.length)] = each.f;
      break;
    case 3:
      each.s = new TextEncoder().encode(pick(['', 'linear', 'reflect', 'SAME_UPPER', 'mul', 'ij,jk->ik', '...', 'Relu', '\0'], below)); // prettier-ignore
      break;
    case 4:
      each.type = below(16) - 1;
      break;
    default:
      of.attribute.splice(of.attribute.indexOf(each), 1);
  }
}

function changeTensor(each: TensorProto | undefined, below: Below): void {
  if (each === undefined) return;
  const at = below(each.dims.length + 1);
  switch (below(5)) {
    case 0:
      each.dims[at] = pick(numbersToTry, below)!;
      break;
    case 1:
      each.dims.splice(at, 1);
      break;
    case 2:
      each.dataType = below(30) - 2;
      break;
    case 3:
      if (each.rawData.length > 0) each.rawData = withChangedBytes(each.rawData, below);
      else if (each.int64Data.length > 0) each.int64Data[below(each.int64Data.length)] = pick(numbersToTry, below)!; // prettier-ignore
      else if (each.floatData.length > 0) each.floatData[below(each.floatData.length)] = pick(floatsToTry, below)!; // prettier-ignore
      break;
    default: {
      // One element of 8 bytes, as positions and sizes have them.
      const raw = Uint8Array.from(each.rawData);
      if (raw.length < 8) break;
      const view = new DataView(raw.buffer);
      view.setBigInt64(8 * below(Math.floor(raw.length / 8)), pick(numbersToTry, below)!, true);
      each.rawData = raw;
    }
  }
}

/** All graphs of a model. */
function graphsOf(graph: GraphProto): readonly GraphProto[] {
  const inner = graph.node.flatMap(({ attribute }) => attribute.flatMap(({ g }) => g ?? []));
  return [graph, ...inner.flatMap(graphsOf)];
}

/** Up to three changes of what the model says. */
export function withChangedParts(whole: Uint8Array, below: Below): Uint8Array {
  const { fromBinary, toBinary, schema } = protobufFor('test');
  const model = fromBinary(schema.ModelProtoSchema, whole);
  for (let count = 0; count <= below(3); count++) {
    const graph = pick(graphsOf(model.graph!), below)!;
    pick(changes, below)!(graph, model, below);
  }
  return toBinary(schema.ModelProtoSchema, model);
}

/**
 * Whether a model is read, as a program that is well formed.
 * @throws whatever is no refusal of a model.
 */
export function isRead(bytes: Uint8Array): boolean {
  try {
    verify(fromOnnx(bytes).program);
    return true;
  } catch (error) {
    if (error instanceof FormatError || error instanceof GraphError || error instanceof UnsupportedError) return false; // prettier-ignore
    throw error;
  }
}

/** Operators that take any model further than the ones it has. */
const operators: readonly string[] = [
  'Add', 'Attention', 'AveragePool', 'BatchNormalization', 'Cast', 'CenterCropPad', 'Col2Im', 'Compress', 'Concat',
  'ConstantOfShape', 'Conv', 'ConvTranspose', 'CumSum', 'DFT', 'DepthToSpace', 'Einsum', 'Expand', 'EyeLike',
  'Flatten', 'GRU', 'Gather', 'GatherElements', 'GatherND', 'Gemm', 'GridSample', 'GroupNormalization',
  'HannWindow', 'Hardmax', 'Identity', 'If', 'LRN', 'LSTM', 'LayerNormalization', 'Loop', 'LpPool', 'MatMul',
  'MatMulInteger', 'MaxPool', 'MaxRoiPool', 'MaxUnpool', 'MelWeightMatrix', 'Mod', 'NegativeLogLikelihoodLoss',
  'NonMaxSuppression', 'NonZero', 'OneHot', 'Pad', 'Pow', 'QLinearConv', 'QuantizeLinear', 'RandomNormal', 'Range',
  'ReduceSum', 'ReduceMax', 'Reshape', 'Resize', 'ReverseSequence', 'RoiAlign', 'RotaryEmbedding', 'STFT', 'Scan',
  'ScatterElements', 'ScatterND', 'SequenceAt', 'SequenceEmpty', 'Shape', 'Size', 'Slice', 'Softmax', 'SpaceToDepth', 'Split',
  'SplitToSequence', 'Squeeze', 'Tile', 'TopK', 'Transpose', 'Trilu', 'Unique', 'Unsqueeze', 'Upsample', 'Where',
]; // prettier-ignore
