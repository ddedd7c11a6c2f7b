import { evaluateDim } from '../../base/dim.js';
import { bytesOf, viewOf } from '../../base/dtype.js';
import { ArgumentError } from '../../base/errors.js';
import type { StaticGraph } from '../../front/staticgraph.js';
import { wasmTarget } from '../../loop/target.js';
import { bindShapes } from '../../ir/bind.js';
import { type Artifact, artifactOf } from '../artifact.js';
import { checkArtifact, type Elements, type Feeds } from '../check.js';
import { runTrial } from './trial.js';
import { artifactToC, type CFields, type CFiles } from './writer.js';

export type { CFiles } from './writer.js';

export interface ToCOptions {
  /** What functions and types begin with. */
  readonly name: string;
  /** Whether the graph may change its own state: a training step, for example. Default false. */
  readonly train?: boolean;
  /** Inputs on which the C, compiled and run here, must compute what the graph does before it is returned. */
  readonly check?: Feeds;
}

/**
 * A graph as one C99 file and its header. No allocation (the caller passes an arena), no dependency but
 * the C library; weights inside.
 *
 * @throws ArgumentError for a name that is none in C, and for graphs that update state without `train`;
 * UnsupportedError for graphs whose data decides sizes, and for a check where there is no C compiler;
 * InternalError when a check fails.
 */
export function toC(graph: StaticGraph, { name, train = false, check }: ToCOptions): CFiles {
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) {
    throw new ArgumentError('this is no name for functions and types of C', {
      op,
      expected: 'a letter, then letters, digits and underscores',
      actual: JSON.stringify(name),
    });
  }
  const artifact = artifactOf(graph, { op, target: wasmTarget, base: 0, train });
  const { source, header, fields } = artifactToC(artifact, name);
  const files = { source, header };
  if (check !== undefined) {
    checkArtifact(op, graph, check, (given) => runOnce(artifact, files, name, fields, given));
  }
  return files;
}

const op = 'toC';

/** What the compiled C makes of inputs. */
function runOnce(
  { inputs, outputs }: Artifact,
  files: CFiles,
  model: string,
  fields: CFields,
  given: Arrays,
): Arrays {
  const sizes = bindShapes<number>(
    inputs.map(({ name, shape }) => ({ name, declared: shape, actual: given[name].shape })),
    op,
  );
  const results = outputs.map((port) => {
    const shape = port.shape.map((dim) => evaluateDim(dim, sizes));
    const length = shape.reduce((product, extent) => product * extent, 1);
    return { ...port, shape, length, bytes: length * bytesOf(port.dtype) };
  });
  const written = runTrial(op, {
    files,
    model,
    sizes: [...fields.sizes.values()].map((symbol) => sizes.get(symbol)!),
    inputs: inputs.map(({ name }) => given[name].data),
    outputs: results.map(({ bytes }, i) => ({ id: fields.outputs[i], bytes })),
  });
  let at = 0;
  return Object.fromEntries(
    results.map(({ name, dtype, shape, length, bytes }) => {
      const { buffer } = new Uint8Array(written.subarray(at, (at += bytes)));
      return [name, { data: viewOf(dtype, buffer, 0, length), shape }];
    }),
  );
}

type Arrays = Readonly<Record<string, Elements>>;
