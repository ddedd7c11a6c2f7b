import { unflatten } from '../../base/tree.js';
import { foreach, type LoopSave } from '../../ops/control/index.js';
import { closeRegions } from '../region.js';
import type { Step } from './loop.js';
import type { Nested } from './nesting.js';
import { parted, traceBody } from './tracing.js';

/** One operator for the loop. */
export function capturedForeach(
  data: Nested,
  init: Nested,
  step: Step,
  save: LoopSave,
): [unknown, unknown] {
  const op = 'foreach';
  const slices = data.leaves.map(({ type: { dtype, shape } }) => ({
    dtype,
    shape: shape.slice(1),
  }));
  const { region, outputs } = traceBody(op, slices, init.leaves, step);
  const { programs, carried, captures } = closeRegions(op, [region]);
  const results = foreach(programs[0], {
    data: data.leaves,
    states: [...init.leaves, ...carried.map(({ before }) => before)],
    captures,
    save,
  });
  const [stacked, states, after] = parted(results, [outputs.leaves.length, init.leaves.length]);
  carried.forEach(({ put }, k) => put(after[k]));
  return [unflatten(outputs.structure, stacked), unflatten(init.structure, states)];
}
