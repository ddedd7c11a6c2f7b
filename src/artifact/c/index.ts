import { type Dim, type DimBindings, evaluateDim } from '../../base/dim/index.js';
import { bytesOf, viewOf } from '../../base/dtype.js';
import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError, UnsupportedError } from '../../base/errors.js';
import {
  checkArgument,
  checkOptions,
  flag,
  valueRule,
  textRule,
} from '../../base/attributes/options.js';
import { checkGraph, type StaticGraph } from '../../front/graphs/static-graph.js';
import { bindShapes } from '../../ir/bind.js';
import { wasmTarget } from '../../loop/language/target.js';
import { type Artifact, artifactOf } from '../artifact.js';
import { joinedBytes } from '../bytes.js';
import { checkArtifact, feedsRule, type CheckedArray, type Feeds } from '../check.js';
import { Unbounded } from '../driver/names.js';
import { runTrial } from './trial.js';
import { artifactToC, type CFields, type CText } from './writer.js';

/** A C file, its header, and the weights if they are separate. */
export interface CFiles extends CText {
  /** Contents of the weights file; null when weights are in the source. */
  readonly weights: Uint8Array | null;
}

export interface ToCOptions {
  /** Prefix of functions and types. */
  readonly name: string;
  /** Allow a graph that changes its own state: a training step, for example. Default false. */
  readonly train?: boolean;
  /**
   * Location of weights: in the source, or in a file of their own, whose bytes the program passes to the
   * model once. Default `source`.
   */
  readonly weights?: 'source' | 'file';
  /** Inputs on which the compiled C is run here and compared with the graph before it is returned. */
  readonly check?: Feeds;
}

/**
 * A graph as one C99 file and its header. No allocation (the caller passes an arena), no dependency but the C
 * library; weights inside, or as a file of their own.
 *
 * @throws ArgumentError for a name that is not valid in C, and for graphs that update state without `train`;
 * UnsupportedError for graphs with unbounded data-dependent sizes, and for a check without a C compiler;
 * InternalError when a check fails.
 */
export function toC(graph: StaticGraph, options: ToCOptions): CFiles {
  checkGraph(op, graph);
  checkOptions<ToCOptions>(op, options, {
    name: textRule,
    train: flag,
    weights: anyPlace,
    check: feedsRule,
  });
  checkArgument(op, 'name', options.name, textRule);
  const { name, train = false, weights: place = 'source', check } = options;
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) {
    throw new ArgumentError('this is not a C identifier', {
      op,
      expected: 'a letter, then letters, digits and underscores',
      actual: describe(name),
    });
  }
  if (place !== 'source' && place !== 'file') {
    throw new ArgumentError('the location of weights is unknown', {
      op,
      expected: "weights: 'source' or 'file'",
      actual: describe(place),
    });
  }
  const artifact = artifactOf(graph, { op, target: wasmTarget, base: 0, train });
  const { bytes } = artifact;
  if (bytes instanceof Unbounded) throw unbounded(bytes);
  const weights = place === 'file' ? joinedBytes(artifact.residents.map(({ data }) => data)) : null;
  const { source, header, fields } = artifactToC({ artifact, bytes, name, weights });
  const files = { source, header, weights };
  if (check !== undefined) {
    checkArtifact(op, graph, check, (given) => runOnce(artifact, files, name, fields, given));
  }
  return files;
}

const op = 'toC';

/** Any value: the choice is checked where it is interpreted. */
const anyPlace = valueRule('a place', (value): value is 'source' | 'file' => value !== undefined);

function unbounded({ size, op: by, source }: Unbounded): UnsupportedError {
  const place = source === undefined ? {} : { source };
  if (size === null)
    return new UnsupportedError(`nothing bounds the number of iterations of ${by}`, {
      op,
      ...place,
      expected:
        'a limit, since C has one arena for the rows of all iterations, those for gradients too',
      actual: 'a loop that may go on for ever',
      advice: 'give the loop maxIterations, or export a module or ONNX',
    });
  return new UnsupportedError(`nothing bounds a size that the data of ${by} decides`, {
    op,
    ...place,
    expected: 'sizes of which a run knows the most from its inputs, since C has one arena for all',
    actual: size,
    advice: 'bound it (a mask instead of counts), or export a module or ONNX',
  });
}

/** Results of the compiled C on inputs. */
function runOnce(
  { inputs, outputs, found }: Artifact,
  files: CFiles,
  model: string,
  fields: CFields,
  given: Arrays,
): Arrays {
  const sizes = bindShapes<number>(
    inputs.map(({ name, shape }) => ({ name, declared: shape, actual: given[name].shape })),
    op,
  );
  const most = new Map(sizes);
  for (const [name, bound] of found) most.set(name, evaluateDim(bound as Dim, sizes));
  const shapesAt = (at: DimBindings): readonly number[][] =>
    outputs.map(({ shape }) => shape.map((dim) => evaluateDim(dim, at)));
  const room = shapesAt(most).map((shape, k) => elementCount(shape) * bytesOf(outputs[k].dtype));
  const written = runTrial(op, {
    files,
    model,
    sizes: [...fields.sizes.values()].map((symbol) => sizes.get(symbol)!),
    inputs: inputs.map(({ name }) => given[name].data),
    outputs: room.map((bytes, k) => ({ id: fields.outputs[k], bytes })),
    found: [...fields.found.keys()],
  });
  let at = 0;
  const next = (bytes: number): ArrayBuffer => new Uint8Array(written.subarray(at, (at += bytes))).buffer; // prettier-ignore
  for (const symbol of fields.found.values()) sizes.set(symbol, new Int32Array(next(4))[0]);
  return Object.fromEntries(
    shapesAt(sizes).map((shape, k) => {
      const { name, dtype } = outputs[k];
      return [name, { data: viewOf(dtype, next(room[k]), 0, elementCount(shape)), shape }];
    }),
  );
}

const elementCount = (shape: readonly number[]): number =>
  shape.reduce((product, extent) => product * extent, 1);

type Arrays = Readonly<Record<string, CheckedArray>>;
