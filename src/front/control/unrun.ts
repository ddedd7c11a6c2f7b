import { isStatic } from '../../base/dim/index.js';
import { refusalError } from '../../ir/requirement.js';
import { undecidedSizes } from '../../ops/control/body.js';
import { linkedBy } from '../transforms/custom.js';
import { zeros } from '../arrays/creation.js';
import { mode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import { placedBeside } from '../devices/placing.js';
import { traceRegion } from '../graphs/region.js';
import { namesOf, type Nested } from './nesting.js';
import type { Returned } from './checks.js';

/** Results of a loop without iterations. */
export interface Unrun {
  readonly outputs: Nested;
  /** The stacked outputs: no rows, or the required number of zero rows. */
  readonly stacked: readonly NDArray[];
  readonly states: readonly NDArray[];
}

/**
 * The results of a loop whose body has not run. It is traced, without draws or writes, for the types of its
 * outputs. Everything that it would have used takes part in a recording all the same, so that gradients with
 * respect to it are zeros.
 */
export function unrun(
  op: string,
  data: readonly NDArray[],
  states: readonly NDArray[],
  rows: number,
  step: (slices: readonly NDArray[], states: readonly NDArray[]) => Returned,
): Unrun {
  const slices = data.map(({ dtype, shape }) => ({ dtype, shape: shape.slice(1) }));
  const types = [...slices, ...states.map(({ type }) => type)];
  let outputs: Nested | undefined;
  const region = traceRegion(op, types, (given) => {
    const returned = step(given.slice(0, data.length), given.slice(data.length));
    outputs = returned.outputs;
    return [returned.outputs.leaves, returned.states];
  });
  const names = namesOf(outputs!);
  const captured = region.parts.reads.flatMap((read) =>
    read.kind === 'array' && typeof read.of !== 'number' ? [read.of] : [],
  );
  const used = [...data, ...captured];
  const stacked = names.map((name, k) => {
    const { dtype, shape } = region.types[k];
    if (!shape.every(isStatic)) throw refusalError(undecidedSizes(op, name, region.types[k]));
    return placedBeside([...used, ...states], () => zeros([rows, ...shape], { dtype }));
  });
  if (mode.session === null) return { outputs: outputs!, stacked, states };
  const linked = linkedBy(
    ({ grads }) => [...grads.slice(0, states.length), ...used.map(() => null)],
    () => [...states, ...stacked],
    [...states, ...used],
  );
  return {
    outputs: outputs!,
    stacked: linked.slice(states.length),
    states: linked.slice(0, states.length),
  };
}
