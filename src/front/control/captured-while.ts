import { unflattenTree } from '../../base/attributes/tree.js';
import { whileLoop } from '../../ops/control/index.js';
import { mayCheck } from '../../passes/simplify/checks.js';
import { array } from '../arrays/creation.js';
import { mode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import { carryOut, closeRegions, traceRegion, writesState } from '../graphs/region.js';
import { inIteration } from './checks.js';
import { cond } from './cond.js';
import type { WhileLoop } from './loop.js';
import { parted, traceBody } from './tracing.js';

/** Captures a while loop as one operator. */
export function capturedWhile(loop: WhileLoop): [unknown, unknown, NDArray] {
  const { name: op } = whileLoop.declaration;
  const { vars, holds, step, limit, padded, save } = loop;
  const condition = traceRegion(
    op,
    vars.leaves.map(({ type }) => type),
    (given) => inIteration(op, 0, () => holds(given)),
  );
  if (writesState(condition) || mayCheck(condition.parts.program)) return rotated(loop);
  const { region, outputs, joined } = traceBody(op, [], vars.leaves, step);
  const { programs, carried, captures, sizes } = closeRegions(op, [region, condition], 1);
  const results = whileLoop(programs[1], programs[0], {
    states: [...vars.leaves, ...carried.map(({ before }) => before)],
    captures,
    limit,
    padded,
    joined,
    save,
    sizes,
  });
  const [stacked, states, after, [iterations]] = parted(results, [
    outputs.leaves.length,
    vars.leaves.length,
    carried.length,
  ]);
  carryOut(carried, after, [region], 'any number of times');
  return [
    unflattenTree(outputs.structure, stacked),
    unflattenTree(vars.structure, states),
    iterations,
  ];
}

/**
 * A loop whose condition draws random numbers, writes state or may refuse elements, which the operator's condition
 * cannot return: the loop is rotated, so the body evaluates the next condition, and the operator's condition reads the
 * result. As in eager code the condition is not evaluated once the limit is reached.
 */
function rotated({
  vars,
  holds,
  step,
  limit,
  padded,
  save,
}: WhileLoop): [unknown, unknown, NDArray] {
  const { name: op } = whileLoop.declaration;
  const no = (): NDArray => array([false], { dtype: 'bool' });
  const asked = (states: readonly NDArray[]): NDArray => holds(states).reshape([1]);
  const first = limit === 0 ? no() : inIteration(op, 0, () => asked(vars.leaves));
  const count = array(0, { dtype: 'int32' });
  const [outputs, [, , ...states], iterations] = capturedWhile({
    vars: {
      ...vars,
      leaves: [first, count, ...vars.leaves],
      structure: {
        kind: 'list',
        entries: [first, count, ...vars.leaves].map(() => ({ kind: 'leaf' })),
      },
    },
    holds: ([goesOn]) => goesOn,
    step: (_, [, done, ...before]) => {
      const returned = step([], before);
      // The results of the body are captured before the condition writes state.
      const now = (array: NDArray): NDArray => mode.capture?.state.current(array) ?? array;
      const outputs = { ...returned.outputs, leaves: returned.outputs.leaves.map(now) };
      const after = returned.states.map(now);
      const next = done.add(1);
      const goesOn = limit === null ? asked(after) : cond(next.less(limit), () => asked(after), no);
      return { outputs, states: [goesOn, next, ...after] };
    },
    limit,
    padded,
    save,
  }) as [unknown, NDArray[], NDArray];
  return [outputs, unflattenTree(vars.structure, states), iterations];
}
