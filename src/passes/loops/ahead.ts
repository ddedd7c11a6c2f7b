import type { Program, Value } from '../../ir/program.js';
import { reshaped } from '../../ops/movement/reshape.js';
import { nodesBehind } from '../../ir/behind.js';
import { rowBytes, dependences, isDear } from './dependence.js';
import { build, editLoops, type LoopOperand, type Loop, mayStoreRows } from './loop.js';
import { type OutsideValue, BatchedRows } from './rows.js';

/**
 * Hoists row-parallel work before a loop: computes for all rows at once whatever depends on rows of the data
 * and not on earlier iterations: `for t: f(x_t @ w, s)` becomes `y = x @ w; for t: f(y_t, s)`, where the T
 * products are one. Rows of results that depend on nothing else need no loop at all. Results are equal up to
 * the order of summation in products and reductions.
 *
 * Values stored for the loop are results of products, reductions and other kernels, and elementwise values
 * derived from those as long as they need no more memory. Elementwise work on the data alone stays inside,
 * where it costs only itself. Loops over a count of rows stay unchanged: rows beyond the count would be
 * wasted work.
 */
export function hoistRowWork(program: Program): Program {
  return editLoops(program, batchAhead);
}

function batchAhead(loop: Loop): readonly Value[] | undefined {
  if (!mayStoreRows(loop) || loop.count !== null) return undefined;
  const { rows, states, data } = loop;
  const depends = dependences(loop);
  const isRow = (value: Value): boolean => depends.get(value) !== 'past';
  const stored = storedValues(loop, isRow);
  const whole = rows.filter(({ value }) => isRow(value));
  const rest = rows.filter(({ value }) => !isRow(value));
  const found = new Set<Value>();
  nodesBehind(
    loop.body,
    [...rest.map(({ value }) => value), ...states.map(({ next }) => next.value)],
    (value) => {
      if (!isRow(value) || !stored.has(value)) return false;
      found.add(value);
      return true;
    },
  );
  if (whole.length === 0 && found.size === 0) return undefined;
  const outside = valuesAtEntry(loop);
  const inOrder = [...found].sort((a, b) => a.node - b.node || a.port - b.port);
  const ahead = inOrder.map((value): LoopOperand => ({
    operand: outside.stacked(value),
    name: 'ahead',
    stands: [value],
  }));
  const direct = whole.map(({ value }) => outside.stacked(value));
  const made =
    rest.length + states.length === 0
      ? { rows: [], states: [] }
      : build({ ...loop, data: [...data, ...ahead], rows: rest });
  return [
    ...rows.map((row) => {
      const place = whole.indexOf(row);
      return place < 0 ? made.rows[rest.indexOf(row)] : direct[place];
    }),
    ...made.states,
  ];
}

/** Loop values available before it starts. */
export function valuesAtEntry(
  { body, into, dims, lead, data, captures }: Loop,
  given: ReadonlyMap<Value, OutsideValue> = new Map(),
): BatchedRows {
  const known = new Map(given);
  const length = lead ?? 0;
  const add = (stands: readonly Value[], value: Value, isBatched: boolean): void => {
    for (const each of stands) known.set(each, { value, isBatched });
  };
  // That there are as many rows of all data may be a requirement, which types do not show.
  for (const { stands, operand } of data) {
    add(stands, reshaped(operand, [length, ...operand.type.shape.slice(1)]), true);
  }
  for (const { stands, operand } of captures) add(stands, operand, false);
  return new BatchedRows(body, into, dims, length, known);
}

/** The values that are cheaper to read than to recompute in every iteration. */
function storedValues(loop: Loop, isRow: (value: Value) => boolean): ReadonlySet<Value> {
  const { body } = loop;
  const stored = new Set<Value>();
  /** By value: bytes of stored values that recomputing it reads. */
  const read = new Map<Value, number>();
  for (const id of body.graph.nodes()) {
    if (body.node(id).kind !== 'call') continue;
    const below = [...new Set(body.operands(id))].reduce(
      (sum, value) => sum + (read.get(value) ?? 0),
      0,
    );
    for (const value of body.results(id)) {
      if (!isRow(value)) continue;
      const own = rowBytes(value);
      const isStored = isDear(body, id) || (below > 0 && own <= below);
      if (isStored) stored.add(value);
      read.set(value, isStored ? own : below);
    }
  }
  return stored;
}
