import { addDim, type Dim, subDim } from '../../base/dim/index.js';
import type { CallNode } from '../../ir/program.js';
import { words } from '../../ir/requirement.js';
import type { ForeachForm } from '../../ops/declare/lowering.js';
import { Iterations, rowOf } from './iterations.js';
import type { RoutineBuilder } from './routine.js';
import type { Stretch } from './statements.js';

/** A loop over rows: one call of the body for each. */
export function foreachLoop(
  builder: RoutineBuilder,
  call: CallNode,
  { data, states, reverse, counted }: ForeachForm,
  operands: readonly Stretch[],
): readonly Stretch[] {
  const [length] = operands[0].shape;
  const end = operands.length - Number(counted);
  const count = counted ? rowCount(builder, call, operands[end], length) : length;
  const loop = new Iterations(builder, call, operands.slice(data, data + states));
  const captures = operands.slice(data + states, end);
  const i = loop.counter('i', length);
  const rowAt = (iteration: Dim): Dim =>
    reverse ? subDim(subDim(count, 1), iteration) : iteration;
  const operandsAt = (row: Dim): readonly Stretch[] => [
    ...operands.slice(0, data).map((operand) => rowOf(operand, row)),
    ...loop.states,
    ...captures,
  ];
  if (loop.isUndecided) {
    loop.requireOne(count);
    loop.first(operandsAt(rowAt(0)), 0, rowAt(0), length, null);
    builder.emit({ kind: 'assign', name: i.key, value: 1 });
  } else loop.allocate(length, null);
  const body = builder.inside(() => {
    builder.emit({ kind: 'leave', when: { relation: '=', dim: subDim(count, i) } });
    loop.run(operandsAt(rowAt(i)), i, rowAt(i));
    builder.emit({ kind: 'assign', name: i.key, value: addDim(i, 1) });
  });
  builder.emit({ kind: 'repeat', body });
  loop.trim(length);
  if (counted) loop.clear(count, length);
  return [...loop.results(length), ...loop.states];
}

/** The number of rows that an operand holds, which cannot be more than there are. */
function rowCount(
  builder: RoutineBuilder,
  { op, source }: CallNode,
  from: Stretch,
  length: Dim,
): Dim {
  const count = builder.name('rows');
  const dtype = from.of.dtype === 'int64' ? 'int64' : 'int32';
  builder.emit({ kind: 'load', name: count.key, from, dtype });
  const refusal = {
    error: 'argument',
    op: op.name,
    problem: ['there are not so many rows'],
    expected: words`a count from 0 to ${length}`,
    actual: words`${count}`,
    source,
  } as const;
  builder.require(count, '>=', refusal);
  builder.require(subDim(length, count), '>=', refusal);
  return count;
}
