import { describe } from '../base/attributes/attribute.js';
import { ArgumentError } from '../base/errors.js';
import {
  callable,
  checkOptions,
  eitherRule,
  flag,
  integerFrom,
  oneOfValues,
  valueRule,
  textRule,
} from '../base/attributes/options.js';
import { exportProgram } from '../formats/onnx/export/export.js';
import type { DataFile } from '../formats/onnx/export/external.js';
import { structureKey, structureText } from '../formats/onnx/structure.js';
import { checkGraph, type StaticGraph } from '../front/graphs/static-graph.js';
import { symbolsOfTypes } from '../ir/bind.js';
import { namedInputs } from '../ir/program.js';
import { checkModel, feedsRule, type Feeds, type WrittenModel } from './check.js';
import { fileIn, type OpenFile } from './files.js';
import { layOutStates, statesOf } from './state.js';

export type { Feeds } from './check.js';

export interface ToOnnxOptions {
  /** The version of ONNX's operators to write, 17 to 22. Default 18. */
  readonly opset?: number;
  /** Inputs to validate on: the model must compute the same as the graph before it is returned. */
  readonly check?: Feeds;
  /**
   * Representation of state: as inputs whose current values are `defaults`, so that a first run may omit
   * them, or as plain `inputs`, for runtimes that accept no values for inputs with defaults (onnxruntime in
   * JavaScript and Java). `statesOf` has the initial values of plain ones. Default `defaults`.
   */
  readonly states?: 'defaults' | 'inputs';
  /**
   * Destination of large tensors: a folder (where there is a file system), or a function that receives the
   * name and the bytes of the one file. Needed beyond 2 GB. Default: inside the model.
   */
  readonly externalData?: string | ((location: string, bytes: Uint8Array) => void);
  /**
   * Handling of `check` and of `throw` on paths that arrays decide: a model cannot refuse what it computes. `omit`
   * leaves them out. Default `refuse`.
   */
  readonly checks?: 'refuse' | 'omit';
  /** The name of that file, or its path within the folder. Default `weights.bin`. */
  readonly dataFile?: string;
  /** @internal Refuse operators in dtypes that onnxruntime lacks. Default false. */
  readonly isForOnnxruntime?: boolean;
}

/**
 * A graph as an ONNX model. Its parameters are initializers, its symbolic dimensions are named, and any
 * runtime of the model computes the same as the graph. A model has no memory: state that the graph changes
 * (that of the random generator, too) is an input with the current value as its default, and its next value
 * is an output, for `w` called `w.next`. Gradients that the graph writes are outputs called `w.grad`.
 *
 * @throws UnsupportedError for computations that the opset cannot express, naming the operator, or when
 * `@bufbuild/protobuf` is not installed; InternalError when a check fails.
 */
export function toOnnx(graph: StaticGraph, options: ToOnnxOptions = {}): Uint8Array {
  checkGraph(op, graph);
  checkOptions<ToOnnxOptions>(op, options, {
    opset: integerFrom(1),
    check: feedsRule,
    states: anyStates,
    externalData: eitherRule(textRule, callable),
    dataFile: textRule,
    checks: oneOfValues('refuse', 'omit'),
    isForOnnxruntime: flag,
  });
  const { opset = 18, check, externalData, dataFile = 'weights.bin' } = options;
  const isPlain = statesArePlain(options.states);
  const { program, writes } = graph.parts;
  const { reads: all, outputs } = layOutStates(op, graph.parts);
  const reads = all.filter(({ mayBeGiven }) => !(isPlain && mayBeGiven));
  const nexts = new Set(reads.flatMap(({ next }) => next ?? []));
  const returned = program.outputs.slice(0, program.outputs.length - writes.length);
  const leftOver = outputs.slice(returned.length).filter((name) => !nexts.has(name));
  const structure = structureText({
    reads,
    outputs: [...returned.map(({ name }) => name), ...leftOver],
    symbols: symbolsOfTypes(namedInputs(program).map(({ type }) => type)),
  });
  const write = (file: DataFile | null): Uint8Array =>
    exportProgram({
      program,
      outputs,
      stored: new Map(reads.map(({ name, value }) => [name, value])),
      defaults: new Set(reads.flatMap(({ name, mayBeGiven }) => (mayBeGiven ? [name] : []))),
      metadata: new Map([[structureKey, structure]]),
      opset,
      file,
      omitsChecks: options.checks === 'omit',
      ...(options.isForOnnxruntime && { isForOnnxruntime: true }),
    });
  const model = withData(externalData, dataFile, write);
  if (check !== undefined) {
    const states = isPlain ? statesOf(graph) : {};
    checkModel(graph, { ...model, outputs, states }, check);
  }
  return model.bytes;
}

const op = 'toOnnx';

/** Any value: the choice is checked where it is interpreted. */
const anyStates = valueRule(
  'a way to write states',
  (value): value is 'defaults' => value !== undefined,
);

function statesArePlain(states: ToOnnxOptions['states'] = 'defaults'): boolean {
  if (states === 'inputs' || states === 'defaults') return states === 'inputs';
  throw new ArgumentError('the representation of states is unknown', {
    op,
    expected: "'defaults' or 'inputs'",
    actual: describe(states),
  });
}

function withData(
  externalData: ToOnnxOptions['externalData'],
  location: string,
  write: (file: DataFile | null) => Uint8Array,
): Omit<WrittenModel, 'outputs' | 'states'> {
  if (externalData === undefined) return { bytes: write(null) };
  if (typeof externalData === 'string') {
    const file: OpenFile = fileIn(externalData, location);
    try {
      return { bytes: write(file), externalData };
    } finally {
      file.close();
    }
  }
  const file = new BytesFile(location);
  const bytes = write(file);
  const data = file.bytes();
  externalData(location, data);
  return { bytes, externalData: () => data };
}

/** A file in memory. */
class BytesFile implements DataFile {
  readonly location: string;
  readonly #parts: { readonly offset: number; readonly bytes: Uint8Array }[] = [];

  constructor(location: string) {
    this.location = location;
  }

  write(offset: number, bytes: Uint8Array): void {
    this.#parts.push({ offset, bytes });
  }

  bytes(): Uint8Array {
    const last = this.#parts.at(-1);
    const whole = new Uint8Array(last === undefined ? 0 : last.offset + last.bytes.length);
    for (const { offset, bytes } of this.#parts) whole.set(bytes, offset);
    return whole;
  }
}
