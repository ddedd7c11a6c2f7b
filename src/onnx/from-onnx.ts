import { describe } from '../base/attributes/attribute.js';
import { ArgumentError } from '../base/errors.js';
import {
  callable,
  checkOptions,
  eitherRule,
  valueRule,
  textRule,
} from '../base/attributes/options.js';
import { type ExternalData, externalFrom } from '../formats/onnx/external.js';
import {
  importModel,
  type InputRequests,
  type ModelFacts,
} from '../formats/onnx/import/import-model.js';
import { arrayType } from '../front/core/array-type.js';
import type { GraphParts, ExternalRef } from '../front/graphs/graph.js';
import { arrayOf, NDArray } from '../front/core/ndarray.js';
import { onDefaultDevice } from '../front/devices/placing.js';
import { recordRule } from '../front/graphs/records.js';
import { StaticGraph } from '../front/graphs/static-graph.js';
import { evaluateConstant } from '../runtime/compile/compile.js';
import { folderOf } from './files.js';
import { constantView } from './state.js';

export type { ModelFacts } from '../formats/onnx/import/import-model.js';

const op = 'fromOnnx';

/** Request for an input: its sizes, or its value, which is built into the graph. */
export interface OnnxInput {
  /** Numbers, or names of sizes that vary from run to run. */
  readonly shape?: readonly (number | string)[];
  /** The input becomes a constant, for inputs that decide shapes: axes, split sizes and the like. */
  readonly value?: NDArray;
}

/** For a sequence, a list with an entry for each of its tensors; null for an absent optional input. */
export type OnnxInputs = OnnxInput | readonly OnnxInputs[] | null;

export interface FromOnnxOptions {
  /**
   * External data of the model: a folder (where there is a file system), or a function from the location
   * named in the model to bytes.
   */
  readonly externalData?: string | ((location: string) => Uint8Array);
  /** By the names of the model's inputs. */
  readonly inputs?: Readonly<Record<string, OnnxInputs>>;
}

/** A graph read from a model, with the facts of its file. */
export class OnnxGraph extends StaticGraph {
  /** Versions, producer, metadata, and the element types of inputs and outputs. */
  readonly model: ModelFacts;

  /** @internal Made by `fromOnnx`. */
  constructor(parts: GraphParts, model: ModelFacts) {
    super(parts);
    this.model = model;
  }
}

/**
 * Reads an ONNX model, opset 7 to 28, as a graph that runs, differentiates and compiles like any other. Float
 * initializers are its parameters; named sizes are symbols. Element types that Kaon lacks are carried by
 * wider ones: uint16 and int16 by int32, uint32 by int64, uint64 by the bits of int64, narrower integers by
 * int8 and uint8, and 8-bit and 4-bit floats by float32. Tensors of a sequence `x` are inputs and outputs
 * called `x.0`, `x.1` and so on. A model written by `toOnnx` reads back as the same graph, with its
 * parameters, state and symbols.
 *
 * @throws FormatError for damaged files, GraphError for ill-formed graphs, UnsupportedError for operators
 * without a counterpart, naming operator and opset, or when `@bufbuild/protobuf` is not installed.
 */
export function fromOnnx(bytes: Uint8Array, options: FromOnnxOptions = {}): OnnxGraph {
  checkOptions<FromOnnxOptions>(op, options, {
    externalData: eitherRule(textRule, callable),
    inputs: requestsRule,
  });
  const { program, reads, nexts, draws, facts } = importModel(bytes, {
    external: externalOf(options.externalData),
    evaluate: evaluateConstant,
    inputs: new Map(
      Object.entries(options.inputs ?? {}).map(([name, each]) => [name, requestOf(each)]),
    ),
  });
  const outside = reads.map((read): ExternalRef => {
    if (read.kind === 'random') return { kind: 'random', draws };
    const { type, data } = read.data;
    return { kind: 'array', of: onDefaultDevice(arrayOf(arrayType(type.dtype, type.shape), data)) };
  });
  const writes = nexts.map((k) => outside[k]);
  return new OnnxGraph({ program, reads: outside, writes }, facts);
}

const requestsRule = recordRule<OnnxInputs>('an object with a shape or value for each input');
const sizesRule = valueRule(
  'a list of numbers and names of sizes',
  (value): value is NonNullable<OnnxInput['shape']> =>
    Array.isArray(value) &&
    value.every(
      (size) => typeof size === 'string' || (Number.isSafeInteger(size) && (size as number) >= 0),
    ),
);
/** Any value: a value that is not an array gets its own error later. */
const arrayValue = valueRule('an array', (value): value is NDArray => value !== undefined);

function requestOf(input: OnnxInputs): InputRequests {
  if (input === null) return null;
  if (Array.isArray(input)) return (input as readonly OnnxInputs[]).map(requestOf);
  checkOptions<OnnxInput>(op, input, { shape: sizesRule, value: arrayValue });
  const { shape, value } = input;
  if (value !== undefined && !(value instanceof NDArray)) {
    throw new ArgumentError('the value of an input is not an array', {
      op,
      actual: describe(value),
    });
  }
  return {
    ...(shape !== undefined && { shape }),
    ...(value !== undefined && {
      value: constantView(value),
    }),
  };
}

function externalOf(given: FromOnnxOptions['externalData']): ExternalData | null {
  if (given === undefined) return null;
  return typeof given === 'string' ? folderOf(given) : externalFrom(given);
}
