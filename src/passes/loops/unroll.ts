import type { Program, Value } from '../../ir/program.js';
import { refusalWithin } from '../../ir/requirement.js';
import type { TensorType } from '../../ir/types.js';
import { concat } from '../../ops/movement/concat.js';
import { fill } from '../../ops/movement/fill.js';
import { expandDims } from '../../ops/movement/reshape.js';
import { slice } from '../../ops/movement/slice.js';
import { givesOwnSizes } from '../rewrite/outputs.js';
import { instantiate } from '../rewrite/transform.js';
import { withSizesOf } from './batching.js';
import { editLoops, type Loop } from './loop.js';

/** Limit of trip counts. */
const mostIterations = 8;
/** Limit of the calls after unrolling, those of nested regions included. */
const mostCalls = 96;

/**
 * Unrolls short loops: a loop with a small static trip count and few calls in all becomes its bodies one
 * after the other; a loop without iterations becomes its initial states. No result changes.
 */
export function unrollLoops(program: Program): Program {
  return editLoops(program, (loop) => {
    const { condition, count, lead, body, joined } = loop;
    if (condition !== null || count !== null || typeof lead !== 'number') return undefined;
    if (joined > 0 || givesOwnSizes(body)) return undefined;
    const isShort = lead <= 1 || (lead <= mostIterations && lead * callsIn(body) <= mostCalls);
    return isShort ? unrolled(loop, lead) : undefined;
  });
}

function callsIn(program: Program): number {
  let calls = 0;
  for (const [, node] of program.calls()) {
    calls += node.regions.reduce((sum, region) => sum + callsIn(region), 1);
  }
  return calls;
}

function unrolled(loop: Loop, length: number): readonly Value[] {
  const { into, node, body, data, states, captures, rows, reverse, dims } = loop;
  const made: (readonly Value[])[] = [];
  let carried = states.map(({ operand }) => operand);
  for (let i = 0; i < length; i++) {
    const t = reverse ? length - 1 - i : i;
    const slices = data.map(({ operand }) => slice(operand, t));
    const inputs = [...slices, ...carried, ...captures.map(({ operand }) => operand)];
    const results = instantiate(body, into, inputs, new Map(dims), (requirement) =>
      refusalWithin(requirement, [`iteration ${i}`], node),
    );
    made[t] = results.slice(0, rows.length);
    carried = states.map(({ operand }, k) => withSizesOf(results[rows.length + k], operand.type));
  }
  const { types } = node;
  return [
    ...rows.map((_, k) =>
      stacked(
        into,
        made.map((values) => values[k]),
        types[k],
      ),
    ),
    ...carried,
  ];
}

function stacked(into: Program, rows: readonly Value[], { dtype, shape }: TensorType): Value {
  if (rows.length === 0) return into.append(fill.declaration, [], { shape, value: 0, dtype })[0];
  const type = { dtype, shape: shape.slice(1) };
  return concat(rows.map((row) => expandDims(withSizesOf(row, type), 0)));
}
