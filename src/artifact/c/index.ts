import { ArgumentError } from '../../base/errors.js';
import type { StaticGraph } from '../../front/staticgraph.js';
import { wasmTarget } from '../../loop/target.js';
import { artifactOf } from '../artifact.js';
import { artifactToC, type CFiles } from './writer.js';

export type { CFiles } from './writer.js';

export interface ToCOptions {
  /** What functions and types begin with. */
  readonly name: string;
  /** Whether the graph may change its own state: a training step, for example. Default false. */
  readonly train?: boolean;
}

/**
 * A graph as one C99 file and its header. No allocation (the caller passes an arena), no dependency but
 * the C library; weights inside.
 *
 * @throws ArgumentError for a name that is none in C, and for graphs that update state without `train`;
 * UnsupportedError for graphs whose data decides sizes.
 */
export function toC(graph: StaticGraph, { name, train = false }: ToCOptions): CFiles {
  const op = 'toC';
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) {
    throw new ArgumentError('this is no name for functions and types of C', {
      op,
      expected: 'a letter, then letters, digits and underscores',
      actual: JSON.stringify(name),
    });
  }
  return artifactToC(artifactOf(graph, { op, target: wasmTarget, base: 0, train }), name);
}
