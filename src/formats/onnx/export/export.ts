import { DimExpr } from '../../../base/dim/index.js';
import { ArgumentError, UnsupportedError } from '../../../base/errors.js';
import { namedInputs, type Program } from '../../../ir/program.js';
import type { ConstantData, Shape } from '../../../ir/types.js';
import { hasRootCall } from '../../../ops/declare/facets.js';
import type { OnnxValue } from '../../../ops/declare/onnx.js';
import { protobufFor } from '../proto/library.js';
import { type DataFile, storedParts } from './external.js';
import { graphParts, type NamedValue, exportOp, type Subgraph } from './parts.js';
import { writeProgram } from './program.js';
import { usedFor } from './prune.js';
import { Sizes } from './sizes.js';
import { GraphWriter } from './writer.js';

/** Opset versions that can be written, with the file versions that belong to them. */
const fileVersions: ReadonlyMap<number, bigint> = new Map([
  [17, 8n], [18, 8n], [19, 9n], [20, 9n], [21, 10n], [22, 10n],
]); // prettier-ignore

export const opsets: readonly number[] = [...fileVersions.keys()];

/** Request to write a program as a model. */
export interface OnnxExportRequest {
  readonly program: Program;
  /** The names of the outputs, all distinct. */
  readonly outputs: readonly string[];
  /** The program's inputs that the model stores, by name: its initializers. */
  readonly stored: ReadonlyMap<string, ConstantData>;
  /** Stored inputs that a run may override: state, whose value here is that of the first run. */
  readonly defaults: ReadonlySet<string>;
  readonly metadata: ReadonlyMap<string, string>;
  readonly opset: number;
  /** File for large tensors; null to store them in the model. */
  readonly file: DataFile | null;
  /** Leave out checks, which a model cannot make, rather than refuse the program. Default false. */
  readonly omitsChecks?: boolean;
  /** Refuse operators in dtypes that onnxruntime lacks. Default false. */
  readonly isForOnnxruntime?: boolean;
}

/** The sizes that a model declares: numbers, and the text of symbolic ones. */
function declaredSizes(shape: Shape): readonly (number | string)[] {
  return shape.map((dim) => (dim instanceof DimExpr ? String(dim) : dim));
}

/**
 * The bytes of a model that computes a program.
 * @throws UnsupportedError for computations that the opset cannot express.
 */
export function exportProgram(request: OnnxExportRequest): Uint8Array {
  const { program, stored, opset } = request;
  const { create, toBinary, schema } = protobufFor(exportOp);
  const irVersion = fileVersions.get(opset);
  if (irVersion === undefined) {
    throw new ArgumentError('this opset cannot be written', {
      op: exportOp,
      expected: `opset ${opsets[0]} to ${opsets[opsets.length - 1]}`,
      actual: String(opset),
    });
  }
  if (request.omitsChecks !== true && hasRootCall(program)) {
    throw new UnsupportedError('the graph checks conditions, which a model cannot', {
      op: exportOp,
      expected: 'a graph without kn.check and throw',
      actual: 'a graph that refuses some inputs',
      advice: "pass { checks: 'omit' } to leave them out",
    });
  }
  const onnx = new GraphWriter(opset, request.isForOnnxruntime);
  for (const name of request.outputs) onnx.reserve(name);
  const inputs = namedInputs(program).map(({ name, type }) => {
    const data = stored.get(name);
    const value =
      data === undefined
        ? onnx.given(name, type.dtype)
        : onnx.constant(type.dtype, data.data, data.type.shape, name);
    const isGiven = data === undefined || request.defaults.has(name);
    return { value, shape: declaredSizes(type.shape), isGiven };
  });
  const operands = inputs.map(({ value }) => value);
  const outputs = writeProgram(onnx, program, operands, new Sizes());
  const named = nameOutputs(onnx, request.outputs, outputs, operands);
  const used = usedFor(named, onnx.written);
  const graph: Subgraph = {
    name: 'kaon',
    nodes: used.nodes,
    inputs: inputs.filter(({ isGiven }) => isGiven),
    outputs: named.map((value, i) => ({
      value,
      shape: declaredSizes(program.outputs[i].value.type.shape),
    })),
  };
  const message = create(schema.ModelProtoSchema, {
    irVersion,
    opsetImport: [{ domain: '', version: BigInt(opset) }],
    producerName: 'kaon',
    graph: {
      ...graphParts(graph),
      initializer: storedParts(
        onnx.stored.filter(({ value }) => used.values.has(value) || stored.has(value.name)),
        request.file,
      ),
    },
    metadataProps: [...request.metadata].map(([key, value]) => ({ key, value })),
  });
  return toBinary(schema.ModelProtoSchema, message);
}

/**
 * Names the outputs. A value that has a name already (an input, a stored tensor or another output) is copied;
 * where an input has the output's name, the output is renamed.
 */
function nameOutputs(
  onnx: GraphWriter,
  names: readonly string[],
  outputs: readonly OnnxValue[],
  inputs: readonly OnnxValue[],
): readonly OnnxValue[] {
  const free = new Set(onnx.written.flatMap((node) => node.outputs));
  return names.map((name, i) => {
    const input = inputs.find((each) => each.name === name);
    if (input === outputs[i]) return input;
    const value: NamedValue = free.has(outputs[i])
      ? outputs[i]
      : onnx.append('Identity', [outputs[i]], [outputs[i].dtype])[0];
    free.delete(value);
    if (input === undefined) value.name = name;
    return value;
  });
}
