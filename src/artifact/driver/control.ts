import { addDim, type Dim, floorDivDim, maxDim, minDim, mulDim, subDim, substituteDim, symbol } from '../../base/dim/index.js'; // prettier-ignore
import { InternalError, UnsupportedError } from '../../base/errors.js';
import { type CallNode, typeToString } from '../../ir/program.js';
import { words } from '../../ir/requirement.js';
import type { TensorType } from '../../ir/types.js';
import type { ForeachForm, WhileForm } from '../../ops/declare/lowering.js';
import { controlOf } from '../../passes/lower/main/control.js';
import { givesOwnSizes } from '../../passes/rewrite/outputs.js';
import { type Chunk, chunkOf, mostBytes } from '../../runtime/dynamic/chunks.js';
import { leastCapacity } from '../../runtime/dynamic/rows.js';
import { aligned } from './layout.js';
import {
  bytesAt,
  type Control,
  type LocatedResult,
  type Located,
  type RoutineBuilder,
} from './builder.js';
import { boundFrom, type UpperBound, Unbounded } from './names.js';
import type { Statement } from './statements.js';

/** What the host does for loops and branches that no kernel can run: what `runtime/dynamic` does. */
export const hostControl: Control = (builder, call, operands) => {
  const lowering = controlOf(call);
  switch (lowering?.kind) {
    case 'foreach':
      return new Loop(builder, call).foreach(lowering.loop(call.attributes), operands);
    case 'while':
      return new Loop(builder, call).while(lowering.loop(call.attributes), operands);
    case 'branch':
      return branch(builder, call, operands);
    case undefined:
      throw new InternalError('the host runs loops and branches only', { op: call.op.name });
  }
};

/** What a region leaves stays where it is. */
function branch(
  builder: RoutineBuilder,
  call: CallNode,
  [predicate, ...captures]: readonly Located[],
): readonly LocatedResult[] {
  const callees = call.regions.map((region) => builder.around.region(region));
  const name = (hint: string): Dim => builder.names.fresh(hint);
  const addresses = call.types.map(() => name('result'));
  const extents = call.types.map(({ shape }, k) =>
    shape.map((_, axis) => {
      const most = callees.map((callee) => builder.mostOf(callee.most[k][axis], callee, captures));
      return { size: builder.names.fresh('extent', boundFrom(most, maxDim)), most: boundFrom(most, maxDim) }; // prettier-ignore
    }),
  );
  const end = name('end');
  const results = [...addresses, ...extents.flatMap((list) => list.map(({ size }) => size)), end].map(String); // prettier-ignore
  const flag = builder.load('flag', predicate.at, 'bool');
  builder.emit({ kind: 'declare', names: results });
  const [consequent, alternate] = callees.map((callee) =>
    builder.inside(() => builder.callInto(callee, captures, results)),
  );
  builder.emit({ kind: 'choose', when: { relation: '=', dim: flag }, consequent: alternate, alternate: consequent }); // prettier-ignore
  const bytes = callees.map((callee) => builder.mostOf(callee.bytes, callee, captures));
  builder.goOnAt(end, builder.behind(boundFrom(bytes, maxDim)));
  return addresses.map((at, k) => ({
    at,
    shape: extents[k].map(({ size }) => size),
    most: extents[k].map(({ most }) => most),
  }));
}

/** An array of as many rows as there is room for. */
interface Stack {
  readonly rowBytes: Dim;
  readonly rowShape: readonly Dim[];
}

/** A state, in memory of the loop's own. */
interface Home {
  readonly at: Dim;
  readonly type: TensorType;
  readonly bytes: Dim;
}

class Loop {
  readonly #builder: RoutineBuilder;
  readonly #call: CallNode;

  constructor(builder: RoutineBuilder, call: CallNode) {
    this.#builder = builder;
    this.#call = call;
  }

  foreach(
    { data, states, reverse, counted }: ForeachForm,
    operands: readonly Located[],
  ): readonly LocatedResult[] {
    const builder = this.#builder;
    const body = builder.around.region(this.#call.regions[0]);
    const [length] = operands[0].type.shape;
    const end = operands.length - Number(counted);
    const captures = operands.slice(data + states, end);
    const stacks = this.#stacks(states);
    const rows = stacks.map(({ rowBytes }) => builder.take(mulDim(rowBytes, length)));
    const homes = this.#homes(operands.slice(data, data + states));
    let count = length;
    if (counted) {
      const { at, type } = operands[end];
      count = builder.load('rows', at, type.dtype === 'int64' ? 'int64' : 'int32');
      const problem = words`there are ${length} rows, not ${count}`;
      builder.emit(
        { kind: 'require', test: { relation: '>=', dim: count }, problem },
        { kind: 'require', test: { relation: '>=', dim: subDim(length, count) }, problem },
      );
    }
    builder.reserve();
    const i = this.#counter();
    const row = reverse ? subDim(subDim(count, 1), i) : i;
    const trip = builder.inside(() => {
      builder.emit(leaveAt(subDim(count, i)));
      const slices = operands.slice(0, data).map(({ at, type }): Located => {
        const slice = { dtype: type.dtype, shape: type.shape.slice(1) };
        return { at: addDim(at, mulDim(row, bytesAt(slice))), type: slice };
      });
      const made = builder.call(body, [...slices, ...homes, ...captures]);
      this.#keep(made, stacks, rows, homes, row, 1);
      builder.emit({ kind: 'assign', name: String(i), value: addDim(i, 1) });
    });
    builder.emit({ kind: 'repeat', body: trip });
    if (counted) this.#clear({ stacks, rows }, count, length);
    return [...stacksLeft(stacks, rows, length, builder.names.most(length)), ...homesLeft(homes)];
  }

  while(form: WhileForm, operands: readonly Located[]): readonly LocatedResult[] {
    const builder = this.#builder;
    const { names } = builder;
    const { states, limit, padded } = form;
    const homes = this.#homes(operands.slice(0, states));
    const iterations = builder.take(4);
    const most = limit === null ? this.#unlimited() : names.most(limit);
    const first = limit === null ? leastCapacity : minDim(leastCapacity, limit);
    const stacks = this.#stacks(states);
    /** The rows that there is memory for: all that may come, or some, and more when these are full. */
    const room = padded ? limit! : names.fresh('room', most);
    if (!padded) builder.emit({ kind: 'set', name: String(room), value: first });
    const rows = stackedAt(builder.end, stacks, room);
    for (const { rowBytes } of stacks) builder.take(mulDim(rowBytes, room));
    builder.reserve();
    const loop: WhileParts = { ...form, stacks, homes, room, rows, first, most, captures: operands.slice(states), count: this.#counter(most) }; // prettier-ignore
    const chunk = chunkOf(this.#call, form, operands.map(({ type }) => type)); // prettier-ignore
    if (chunk === null) this.#oneByOne(loop);
    else this.#inChunks(loop, chunk);
    const { count } = loop;
    builder.emit({ kind: 'store', to: iterations, value: count });
    if (padded) this.#clear(loop, count, limit!);
    return [
      ...stacksLeft(stacks, rows, padded ? limit! : count, most),
      ...homesLeft(homes),
      { at: iterations, shape: [], most: [] },
    ];
  }

  /** Condition and body once for each iteration. */
  #oneByOne(loop: WhileParts): void {
    const builder = this.#builder;
    const { limit, padded, stacks, homes, captures, room, rows, count } = loop;
    const body = builder.around.region(this.#call.regions[1]);
    const trip = builder.inside(() => {
      if (limit !== null) builder.emit(leaveAt(subDim(limit, count)));
      this.#leaveUnlessGoing(loop);
      if (!padded && stacks.length > 0) {
        const twice = mulDim(room, 2);
        const wanted = limit === null ? twice : minDim(twice, limit);
        const grow = builder.inside(() => this.#grow(loop, maxDim(wanted, addDim(room, 1))));
        const when = { relation: '=', dim: subDim(room, count) } as const;
        builder.emit({ kind: 'choose', when, consequent: grow, alternate: [] });
      }
      const made = builder.call(body, [...homes, ...captures]);
      this.#keep(made, stacks, rows, homes, count, 1);
      builder.emit({ kind: 'assign', name: String(count), value: addDim(count, 1) });
    });
    builder.emit({ kind: 'repeat', body: trip });
  }

  /** Compiled for some iterations at a time, more each time, until it ends before it has to. */
  #inChunks(loop: WhileParts, chunk: Chunk): void {
    const builder = this.#builder;
    const { limit, stacks, homes, captures, rows, count, first, most, room } = loop;
    const compiled = builder.around.program(chunk.program);
    const step = builder.names.fresh('step', most).key;
    // It is not run for no iterations.
    const iterations = symbol(step, { min: 1 });
    const given = chunk.symbols.slice(0, -1).map((name) => builder.size(name));
    const carrier: Located = {
      at: builder.base,
      type: { dtype: 'bool', shape: [0, ...given, iterations] },
    };
    const rowBytes = stacks.reduce<Dim>((sum, stack) => addDim(sum, stack.rowBytes), 1);
    const largest = maxDim(leastCapacity, floorDivDim(mostBytes, rowBytes));
    builder.emit({ kind: 'set', name: step, value: first });
    const trip = builder.inside(() => {
      builder.emit(leaveAt(symbol(step)));
      const made = builder.call(compiled, [...homes, ...captures, carrier]);
      const done = builder.load('done', made[made.length - 1], 'int32');
      this.#keep(made, stacks, rows, homes, count, done);
      builder.emit(
        { kind: 'assign', name: String(count), value: addDim(count, done) },
        { kind: 'leave', when: { relation: '>=', dim: subDim(subDim(iterations, done), 1) } },
      );
      if (limit !== null) builder.emit(leaveAt(subDim(limit, count)));
      this.#leaveUnlessGoing(loop);
      const more = minDim(mulDim(iterations, 2), largest);
      const next = limit === null ? more : minDim(more, subDim(limit, count));
      builder.emit({ kind: 'assign', name: step, value: next });
      this.#grow(loop, maxDim(room, addDim(count, symbol(step))));
    });
    builder.emit({ kind: 'repeat', body: trip });
  }

  #leaveUnlessGoing({ homes, captures }: WhileParts): void {
    const builder = this.#builder;
    const condition = builder.around.region(this.#call.regions[0]);
    const [flag] = builder.call(condition, [...homes, ...captures]);
    builder.emit(leaveAt(builder.load('goes', flag, 'bool')));
  }

  /** Makes room for more rows. Those that are there move up, the last first. */
  #grow({ stacks, room, rows, count }: WhileParts, wanted: Dim): void {
    const builder = this.#builder;
    const old = builder.names.fresh('old');
    const before = new Map([[String(room), old]]);
    builder.emit(
      { kind: 'set', name: old.key, value: room },
      { kind: 'assign', name: String(room), value: wanted },
    );
    builder.reserve();
    for (let k = stacks.length - 1; k > 0; k--) {
      const bytes = mulDim(stacks[k].rowBytes, count);
      builder.emit({ kind: 'move', to: rows[k], from: substituteDim(rows[k], before), bytes });
    }
  }

  /** Why nobody knows how often it runs. */
  #unlimited(): Unbounded {
    const { op, source, types } = this.#call;
    const size = types.length === 0 ? 'rows' : String(types[0].shape[0] ?? 'rows');
    const decides = this.#builder.decides(size) ?? { op: op.name, source };
    return new Unbounded(size, decides.op, decides.source);
  }

  /** Rows as they are in all that is stacked: the results that come before the states. */
  #stacks(states: number): readonly Stack[] {
    const { types, regions, op, source } = this.#call;
    const body = regions[regions.length - 1];
    const { outputs } = body;
    if (givesOwnSizes(body)) {
      throw new UnsupportedError(
        'rows whose sizes the data of each iteration decides stay in this process',
        {
          op: op.name,
          expected: 'results of iterations whose sizes are known before the loop runs',
          actual: types.map(typeToString).join(', '),
          advice: 'pad them to a size that is known, or export to ONNX',
          ...(source !== undefined && { source }),
        },
      );
    }
    return types.slice(0, outputs.length - states).map(({ dtype, shape }) => {
      const rowShape = shape.slice(1);
      return { rowShape, rowBytes: bytesAt({ dtype, shape: rowShape }) };
    });
  }

  /** States in memory that the loop may write. */
  #homes(operands: readonly Located[]): readonly Home[] {
    const builder = this.#builder;
    const homes = operands.map(({ type }): Home => {
      const bytes = bytesAt(type);
      return { at: builder.take(bytes), type, bytes };
    });
    builder.reserve();
    homes.forEach(({ at, bytes }, k) =>
      builder.emit({ kind: 'move', to: at, from: operands[k].at, bytes }),
    );
    return homes;
  }

  #counter(most?: UpperBound): Dim {
    const name = this.#builder.names.fresh('count', most);
    this.#builder.emit({ kind: 'set', name: name.key, value: 0 });
    return name;
  }

  /** Puts what one call has made, some rows and the states, where it is to be. */
  #keep(
    made: readonly Dim[],
    stacks: readonly Stack[],
    rows: readonly Dim[],
    homes: readonly Home[],
    row: Dim,
    count: Dim,
  ): void {
    stacks.forEach(({ rowBytes }, k) => {
      const to = addDim(rows[k], mulDim(row, rowBytes));
      this.#builder.emit({ kind: 'move', to, from: made[k], bytes: mulDim(count, rowBytes) });
    });
    homes.forEach(({ at, bytes }, k) =>
      this.#builder.emit({ kind: 'move', to: at, from: made[stacks.length + k], bytes }),
    );
  }

  /** Rows that nobody has written are zero. */
  #clear({ stacks, rows }: Pick<WhileParts, 'stacks' | 'rows'>, from: Dim, to: Dim): void {
    stacks.forEach(({ rowBytes }, k) => {
      const at = addDim(rows[k], mulDim(from, rowBytes));
      this.#builder.emit({ kind: 'clear', to: at, bytes: mulDim(subDim(to, from), rowBytes) });
    });
  }
}

/** A loop that a condition ends, laid out. */
interface WhileParts extends WhileForm {
  readonly stacks: readonly Stack[];
  readonly homes: readonly Home[];
  readonly captures: readonly Located[];
  readonly room: Dim;
  /** Where the rows begin. */
  readonly rows: readonly Dim[];
  readonly count: Dim;
  /** The iterations, or rows, to begin with. */
  readonly first: Dim;
  readonly most: UpperBound;
}

/** Where stacks begin that lie behind one another. */
function stackedAt(from: Dim, stacks: readonly Stack[], room: Dim): readonly Dim[] {
  let end = from;
  return stacks.map(({ rowBytes }) => {
    const at = end;
    end = addDim(end, aligned(mulDim(rowBytes, room)));
    return at;
  });
}

function leaveAt(zero: Dim): Statement {
  return { kind: 'leave', when: { relation: '=', dim: zero } };
}

function stacksLeft(
  stacks: readonly Stack[],
  rows: readonly Dim[],
  length: Dim,
  most: UpperBound,
): readonly LocatedResult[] {
  return stacks.map(({ rowShape }, k) => ({
    at: rows[k],
    shape: [length, ...rowShape],
    most: [most, ...rowShape],
  }));
}

function homesLeft(homes: readonly Home[]): readonly LocatedResult[] {
  return homes.map(({ at, type: { shape } }) => ({ at, shape, most: shape }));
}
