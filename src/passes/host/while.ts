import { addDim, type Dim, type DimExpr, floorDivDim, maxDim, minDim, mulDim, elementCount, subDim, symbol } from '../../base/dim/index.js'; // prettier-ignore
import { bytesOf } from '../../base/dtype.js';
import type { CallNode } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { sizesPassedBy } from '../../ops/declare/facets.js';
import type { WhileForm } from '../../ops/declare/lowering.js';
import { type Chunk, chunkOf } from './chunk.js';
import { Iterations, leastRows } from './iterations.js';
import type { RoutineBuilder } from './routine.js';
import type { HostCallee, HostStatement, Stretch } from './statements.js';

/** Chunks of rows grow up to so many bytes. */
const mostBytes: number = 2 ** 24;

/**
 * A loop that a condition ends: condition and body once for each iteration, or, where the rows are as many as the
 * iterations and that can be compiled, chunks of iterations, each longer than the one before.
 */
export function whileLoop(
  builder: RoutineBuilder,
  call: CallNode,
  form: WhileForm,
  operands: readonly Stretch[],
  types: readonly TensorType[],
): readonly Stretch[] {
  const { states, limit, padded, joined } = form;
  const iterations = builder.handle('int32');
  builder.emit({ kind: 'allocate', stacks: [{ of: iterations, row: [] }], rows: 1 });
  const loop = new Iterations(builder, call, operands.slice(0, states));
  const count = loop.counter('count', limit);
  const parts: Parts = { builder, call, form, loop, count, captures: operands.slice(states) };
  const chunk = chunkOf(call, form, types);
  if (padded) oneByOne(parts, limit!, null);
  else {
    const room = builder.name('room');
    const first = limit === null ? leastRows : minDim(leastRows, limit);
    const bound = { most: joined > 0 ? null : limit, call, isIterations: joined === 0 };
    builder.emit({ kind: 'set', name: room.key, value: first, bound });
    if (chunk === null) oneByOne(parts, room, room);
    else inChunks(parts, chunk, first, room);
  }
  loop.trim(count);
  builder.emit({ kind: 'store', to: { of: iterations, shape: [] }, value: count });
  if (padded) loop.clear(count, limit!);
  return [...loop.results(padded ? limit! : count), ...loop.states, { of: iterations, shape: [] }];
}

interface Parts {
  readonly builder: RoutineBuilder;
  readonly call: CallNode;
  readonly form: WhileForm;
  readonly loop: Iterations;
  readonly captures: readonly Stretch[];
  /** The iterations so far. */
  readonly count: DimExpr;
}

/** Allocates `rows` to begin with; where stacked ones grow, `room` is the name of how many there is memory for. */
function oneByOne(parts: Parts, rows: Dim, room: DimExpr | null): void {
  const { builder, form, loop, captures, count } = parts;
  const { limit } = form;
  const next: HostStatement = { kind: 'assign', name: count.key, value: addDim(count, 1) };
  if (loop.isUndecided) {
    if (limit !== null) loop.requireOne(limit);
    loop.requireOne(goes(parts));
    loop.first([...loop.states, ...captures], 0, 0, rows, room);
    builder.emit(next);
  } else loop.allocate(rows, room);
  const body = builder.inside(() => {
    if (limit !== null) builder.emit(leaveAtZero(subDim(limit, count)));
    builder.emit(leaveAtZero(goes(parts)));
    if (room !== null && loop.hasStacked) loop.grow(addDim(count, 1), count, limit);
    loop.run([...loop.states, ...captures], count, count);
    builder.emit(next);
  });
  builder.emit({ kind: 'repeat', body });
}

function inChunks(parts: Parts, { program, symbols }: Chunk, first: Dim, room: DimExpr): void {
  const { builder, call, form, loop, captures, count } = parts;
  const { limit } = form;
  loop.allocate(room, room);
  const { key } = builder.name('step');
  // It is not run for no iterations.
  const step = symbol(key, { min: 1 });
  const bound = { most: limit, call, isIterations: true };
  builder.emit({ kind: 'set', name: key, value: first, bound });
  const callee: HostCallee = { program, kind: 'chunk', isOptional: false };
  const rowBytes = call.types
    .slice(0, call.types.length - form.states - 1)
    .reduce<Dim>((sum, { dtype, shape }) => addDim(sum, mulDim(elementCount(shape.slice(1)), bytesOf(dtype))), 1); // prettier-ignore
  const most = maxDim(leastRows, floorDivDim(mostBytes, rowBytes));
  const body = builder.inside(() => {
    builder.emit(leaveAtZero(symbol(key)));
    const sizes = [...symbols.map((name) => builder.size(name)), step];
    const operands = [...loop.states, ...captures];
    const done = loop.runSeveral({ callee, operands, sizes }, count, step);
    builder.emit(
      { kind: 'assign', name: count.key, value: addDim(count, done) },
      { kind: 'leave', when: { relation: '>=', dim: subDim(subDim(step, done), 1) } },
    );
    if (limit !== null) builder.emit(leaveAtZero(subDim(limit, count)));
    builder.emit(leaveAtZero(goes(parts)));
    const more = minDim(mulDim(step, 2), most);
    const rest = limit === null ? more : minDim(more, subDim(limit, count));
    builder.emit({ kind: 'assign', name: key, value: rest });
    loop.grow(addDim(count, symbol(key)), count, limit);
  });
  builder.emit({ kind: 'repeat', body });
}

/** Runs the condition: 1 where the loop goes on, else 0. */
function goes({ builder, call, loop, captures, count }: Parts): DimExpr {
  const [condition] = call.regions;
  const flag = builder.handle('bool');
  builder.emit({
    kind: 'call',
    callee: { program: condition, kind: 'region', isOptional: false },
    operands: [...loop.states, ...captures],
    sizes: sizesPassedBy(call),
    results: [{ kind: 'own', as: flag, extents: condition.outputs[0].value.type.shape.map(() => null) }], // prettier-ignore
    site: { where: ['iteration ', count, ''], call },
  });
  const name = builder.name('goes');
  builder.emit({ kind: 'load', name: name.key, from: { of: flag, shape: [] }, dtype: 'bool' });
  builder.drop(flag);
  return name;
}

function leaveAtZero(dim: Dim): HostStatement {
  return { kind: 'leave', when: { relation: '=', dim } };
}
