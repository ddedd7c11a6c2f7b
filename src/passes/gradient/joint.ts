import { GraphError } from '../../base/errors.js';
import type { Program } from '../../ir/program.js';
import type { PreparedProgram } from '../../ops/structure/call.js';
import { differentiated, floatOutputs } from './gradient.js';
import { inline } from '../rewrite/inline.js';
import type { SavePolicy } from './keep.js';
import { indicesOf } from '../rewrite/marks.js';
import { split } from './split.js';

/** Forward and backward of a program as two programs that share their work. */
export interface JointProgram extends PreparedProgram {
  /** How many outputs of `forward` are the program's own; saved values follow them. */
  readonly outputs: number;
}

/**
 * Differentiates a program and splits the result: `forward` computes its outputs and what `save` keeps
 * of what `backward` reads, as further outputs; backward computes the rest again. Values that are inputs
 * or outputs anyway are not saved again, constants are copied. `wrt` marks inputs, `flows` outputs (every
 * float one unless said).
 */
export function jointProgram(
  program: Program,
  wrt: readonly boolean[],
  flows: readonly boolean[] = floatOutputs(program),
  save: SavePolicy = 'all',
): JointProgram {
  if (!flows.includes(true))
    throw new GraphError('no output of this program has a gradient', { op: 'jointProgram' });
  // A call with a backward of its own keeps it.
  const flat = inline(program, ({ regions }) => regions.length === 1);
  const request = differentiated(flat, wrt, flows);
  return {
    ...split(request, save, true),
    gives: request.gives,
    flows: indicesOf(flows),
    wrt: indicesOf(wrt),
    outputs: program.outputs.length,
  };
}
