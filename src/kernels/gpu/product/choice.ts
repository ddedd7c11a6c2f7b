import * as e from '../../../loop/language/build.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';
import { isContiguous } from '../../contraction/reach.js';
import { divides, known } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';
import { chosenCandidate, type KernelCall } from '../choices.js';

/** The candidate for a contraction. The best one depends on sizes, and on what is read at once. */
export function chosenForProduct<C>(
  spec: Contraction,
  call: KernelCall,
  kind: string,
  candidates: ReadonlyMap<string, C>,
): C {
  if (call.tuning === undefined) return [...candidates.values()][0];
  const [entry, i, j, k] = ['b', 'i', 'j', 'k'].map((name) => e.variable(name, 'i32'));
  const isAlong = isContiguous(spec.a(entry, i, e.ramp(k, 1, lanes)));
  const isAcross = isContiguous(spec.b(entry, k, e.ramp(j, 1, lanes)));
  const isWhole = [spec.n, spec.k].map((extent) => (divides(extent, lanes) ? 'whole' : 'cut'));
  return chosenCandidate(call, {
    kind,
    traits: [isAlong ? 'rows' : 'turned', isAcross ? 'rows' : 'turned', ...isWhole],
    sizes: [spec.batch, spec.m, spec.n, spec.k].map(known),
    candidates,
    ...(call.mayTurn && { turned: [!isAlong, !isAcross] }),
  });
}
