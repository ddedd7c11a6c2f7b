import { boundsOf } from '../../base/dim/index.js';
import { unflattenTree } from '../../base/attributes/tree.js';
import { foreach } from '../../ops/control/index.js';
import { carryOut, closeRegions } from '../graphs/region.js';
import type { RowLoop } from './loop.js';
import { parted, someValues, traceBody } from './tracing.js';

/** Captures a loop over rows as one operator. */
export function capturedForeach({
  data,
  states: init,
  step,
  save,
  reverse,
}: RowLoop): [unknown, unknown] {
  const { name: op } = foreach.declaration;
  const slices = data.leaves.map(({ type: { dtype, shape } }) => ({
    dtype,
    shape: shape.slice(1),
  }));
  let rows = 0;
  const { region, outputs, joined } = traceBody(op, slices, init.leaves, (given, before) => {
    const { outputs, states } = step(given, before);
    const leaves = states.length > 0 ? outputs.leaves : someValues(outputs.leaves);
    rows = outputs.leaves.length;
    return { outputs: { ...outputs, leaves }, states };
  });
  const { programs, carried, captures, sizes } = closeRegions(op, [region]);
  const results = foreach(programs[0], {
    data: data.leaves,
    states: [...init.leaves, ...carried.map(({ before }) => before)],
    captures,
    joined,
    save,
    reverse,
    sizes,
  });
  const [stacked, states, after] = parted(results, [outputs.leaves.length, init.leaves.length]);
  const [length] = data.leaves[0].type.shape;
  const runs =
    length === 1 ? 'once' : boundsOf(length).min >= 1 ? 'at least once' : 'any number of times';
  carryOut(carried, after, [region], runs);
  return [
    unflattenTree(outputs.structure, stacked.slice(0, rows)),
    unflattenTree(init.structure, states),
  ];
}
