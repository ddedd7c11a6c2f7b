import { GraphError } from '../../base/errors.js';
import type { Program } from '../../ir/program.js';
import type { PreparedProgram } from '../../ops/structure/call.js';
import { differentiated, floatOutputs } from './gradient.js';
import { hasOwnDerivative, inline } from '../rewrite/inline.js';
import type { SavePolicy } from './keep.js';
import { indicesOf } from '../rewrite/marks.js';
import { hasKnownSize, splitJoint } from './split.js';

/** Forward and backward programs that share their work. */
export interface JointProgram extends PreparedProgram {
  /** Number of the program's own outputs in `forward`; saved values follow them. */
  readonly outputs: number;
}

/**
 * Differentiates a program and splits the result: `forward` computes its outputs and the values that `save`
 * keeps for `backward`, as additional outputs; backward recomputes the rest. Inputs and outputs are not saved
 * again, constants are copied. `wrt` marks inputs, `flows` outputs (default: every float one). With `areSizesLate`
 * nothing is saved whose size the data decides: where elements are not there at once, backward could not be told it.
 */
export function jointProgram(
  program: Program,
  wrt: readonly boolean[],
  flows: readonly boolean[] = floatOutputs(program),
  save: SavePolicy = 'all',
  areSizesLate: boolean = false,
): JointProgram {
  if (!flows.includes(true))
    throw new GraphError('no output of this program has a gradient', { op: 'jointProgram' });
  // A call with a custom backward program is not inlined.
  const flat = inline(program, hasOwnDerivative);
  const request = differentiated(flat, wrt, flows);
  return {
    ...splitJoint(
      request,
      save,
      true,
      areSizesLate ? { isKeepable: hasKnownSize(request.joint) } : {},
    ),
    gives: request.gives,
    flows: indicesOf(flows),
    wrt: indicesOf(wrt),
    outputs: program.outputs.length,
  };
}
