import { describe } from './base/attribute.js';
import { ArgumentError, FormatError, UnsupportedError } from './base/errors.js';
import { nodeModules } from './base/node.js';
import { type ExternalData, externalFrom } from './formats/onnx/external.js';
import { importModel, type InputRequests, type ModelFacts } from './formats/onnx/import.js';
import { arrayType } from './front/arraytype.js';
import type { GraphParts, Outside } from './front/graph.js';
import { arrayOf, NDArray } from './front/ndarray.js';
import { StaticGraph } from './front/staticgraph.js';
import { evaluateConstant } from './runtime/compile.js';

export type { ModelFacts } from './formats/onnx/import.js';

const op = 'fromOnnx';

/** What an import is told of an input: its sizes, or its value, which is built into the graph. */
export interface OnnxInput {
  /** Numbers, or names of sizes that vary from run to run. */
  readonly shape?: readonly (number | string)[];
  /** The input becomes a constant: for axes, numbers of parts and the like, which decide shapes. */
  readonly value?: NDArray;
}

/** For a sequence a list with an entry for each of its tensors; null for an optional input that is absent. */
export type OnnxInputs = OnnxInput | readonly OnnxInputs[] | null;

export interface FromOnnxOptions {
  /**
   * Where the data of a model lies that is not in its own file: a folder (where there are files), or a
   * function from the name that the model calls it by to its bytes.
   */
  readonly externalData?: string | ((location: string) => Uint8Array);
  /** By the names of the model's inputs. */
  readonly inputs?: Readonly<Record<string, OnnxInputs>>;
}

/** A graph that was read from a model, with what the file says of it. */
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
 * Reads an ONNX model, opset 7 to 28, as a graph that runs, differentiates and compiles like any other.
 * Initializers of floats are its parameters; named sizes are symbols. Element types that Kaon lacks are
 * carried by wider ones: uint16 and int16 by int32, uint32 by int64, uint64 by the bits of int64, narrower
 * integers by int8 and uint8, and 8-bit and 4-bit floats by float32. Tensors of a sequence `x` are inputs
 * and outputs called `x.0`, `x.1` and so on.
 *
 * @throws FormatError for damaged files, GraphError for ill-formed graphs, UnsupportedError for what has no
 * counterpart here, which names operator and opset, or where `@bufbuild/protobuf` is not installed.
 */
export function fromOnnx(bytes: Uint8Array, options: FromOnnxOptions = {}): OnnxGraph {
  const { program, reads, draws, facts } = importModel(bytes, {
    external: externalOf(options.externalData),
    evaluate: evaluateConstant,
    inputs: new Map(
      Object.entries(options.inputs ?? {}).map(([name, each]) => [name, requestOf(each)]),
    ),
  });
  const outside = reads.map((read): Outside => {
    if (read.kind === 'random') return { kind: 'random', draws };
    const { type, data } = read.data;
    return { kind: 'array', of: arrayOf(arrayType(type.dtype, type.shape), data) };
  });
  const writes: readonly Outside[] = draws === 0 ? [] : [{ kind: 'random', draws }];
  return new OnnxGraph({ program, reads: outside, writes }, facts);
}

function requestOf(input: OnnxInputs): InputRequests {
  if (input === null) return null;
  if (Array.isArray(input)) return (input as readonly OnnxInputs[]).map(requestOf);
  const { shape, value } = input as OnnxInput;
  if (value !== undefined && !(value instanceof NDArray)) {
    throw new ArgumentError('the value of an input is not an array', {
      op,
      actual: describe(value),
    });
  }
  return {
    ...(shape !== undefined && { shape }),
    ...(value !== undefined && {
      value: {
        type: { dtype: value.dtype, shape: value.shape },
        data: value.computed().storage.host,
      },
    }),
  };
}

function externalOf(given: FromOnnxOptions['externalData']): ExternalData | null {
  if (given === undefined) return null;
  return typeof given === 'string' ? folder(given) : externalFrom(given);
}

/** The files of a folder, read in parts: they may be larger than memory. */
function folder(path: string): ExternalData {
  const modules = nodeModules();
  if (modules === null) {
    throw new UnsupportedError('this place has no files', {
      op,
      advice: 'give a function from names to bytes as externalData',
    });
  }
  const { files, path: paths } = modules;
  const home = open(() => files.realpathSync(path), path);
  const fileAt = (location: string): string => {
    const found = open(() => files.realpathSync(paths.join(home, location)), location);
    // A link may lead anywhere.
    if (found.startsWith(`${home}${paths.sep}`)) return found;
    throw new FormatError('external data lies outside of its folder', { op, actual: location });
  };
  return {
    size: (location) => open(() => files.statSync(fileAt(location)).size, location),
    read: (location, offset, length) =>
      open(() => {
        const handle = files.openSync(fileAt(location), 'r');
        try {
          const bytes = new Uint8Array(length);
          let done = 0;
          while (done < length) {
            const count = files.readSync(handle, bytes, done, length - done, offset + done);
            if (count === 0) break;
            done += count;
          }
          return bytes.subarray(0, done);
        } finally {
          files.closeSync(handle);
        }
      }, location),
  };
}

function open<R>(read: () => R, location: string): R {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof FormatError) throw cause;
    throw new FormatError(`external data ${JSON.stringify(location)} cannot be read`, {
      op,
      actual: String((cause as Error).message),
      cause,
    });
  }
}
