import { addDim, type Dim, type DimExpr, maxDim, minDim, mulDim, elementCount, subDim, symbolsOf } from '../../base/dim/index.js'; // prettier-ignore
import type { CallNode, Program } from '../../ir/program.js';
import { type Refusal, words, refusalWithin } from '../../ir/requirement.js';
import type { TensorType } from '../../ir/types.js';
import { undecidedSizes } from '../../ops/control/body.js';
import { declarationOf, sizesPassedBy } from '../../ops/declare/facets.js';
import type { RoutineBuilder } from './routine.js';
import type {
  HostCallee,
  HostResult,
  HostSite,
  HostStatementOf,
  NameBound,
  StackedArray,
  Stretch,
} from './statements.js';

/** The least number of rows that there is memory for where nobody knows how many there will be. */
export const leastRows = 64;

/**
 * Results of the iterations of a loop: rows, each in its place of a stack, joined rows, behind those of the iterations
 * before, and states, in memory of the loop's own. A result with a size that the data of an iteration decides is made
 * apart, checked, and copied.
 */
export class Iterations {
  readonly states: readonly Stretch[];
  readonly #builder: RoutineBuilder;
  readonly #call: CallNode;
  readonly #body: Program;
  /** The types of the rows, in sizes of the surroundings. */
  readonly #rows: readonly TensorType[];
  /** The number of results, from the first on, that join rows. */
  readonly #joined: number;
  #stacks: readonly StackedArray[] = [];
  /** The numbers of joined rows so far. */
  #used: readonly DimExpr[] = [];
  /** The stacks whose memory grows, and the name of the number of rows that each has memory for. */
  #growing: { readonly stacks: readonly StackedArray[]; readonly room: DimExpr } | null = null;

  /** `initial` are the states before the first iteration; the body is the last region of `call`. */
  constructor(builder: RoutineBuilder, call: CallNode, initial: readonly Stretch[]) {
    this.#builder = builder;
    this.#call = call;
    this.#body = call.regions[call.regions.length - 1];
    this.#rows = call.types
      .slice(0, this.#body.outputs.length - initial.length)
      .map(({ dtype, shape }) => ({ dtype, shape: shape.slice(1) }));
    this.#joined = joinedBy(call);
    this.states = initial.map(({ of, shape }) => ({ of: builder.handle(of.dtype), shape }));
    if (initial.length === 0) return;
    const stacks = this.states.map(({ of, shape }) => ({ of, row: shape }));
    builder.emit({ kind: 'allocate', stacks, rows: 1 });
    initial.forEach((from, k) => builder.emit({ kind: 'copy', to: this.states[k], from }));
  }

  /** True if rows are stacked at all. */
  get hasStacked(): boolean {
    return this.#rows.length > this.#joined;
  }

  /** True if it takes an iteration to know the sizes of rows. */
  get isUndecided(): boolean {
    return this.#rows.some(({ shape }) => !shape.every((dim) => this.#builder.isKnown(dim)));
  }

  /** A name that counts from zero; `most` as in `Bound`. */
  counter(hint: string, most: Dim | null): DimExpr {
    const name = this.#builder.name(hint);
    const bound = { most, call: this.#call, isIterations: true };
    this.#builder.emit({ kind: 'set', name: name.key, value: 0, bound });
    return name;
  }

  /**
   * Memory for so many rows of sizes that are known; where stacked ones grow, `room` is the name of the number of rows
   * that there is memory for.
   */
  allocate(rows: Dim, room: DimExpr | null): void {
    this.#allocate(rows, this.#rows, room);
  }

  /** Requires that there is an iteration where one decides sizes: that `count`, which is no more than it, is 1 or more. */
  requireOne(count: Dim): void {
    const k = this.#rows.findIndex(
      ({ shape }) => !shape.every((dim) => this.#builder.isKnown(dim)),
    );
    const refusal = undecidedSizes(this.#call.op.name, `output ${k}`, this.#rows[k]);
    const site = this.#siteOfOutput(k, { where: ['without an iteration'], call: this.#call });
    this.#builder.require(subDim(count, 1), '>=', refusalWithin(refusal, site.where, site.call));
  }

  /** Runs the iteration that decides the sizes of rows, and allocates for so many. */
  first(
    operands: readonly Stretch[],
    iteration: Dim,
    row: Dim,
    rows: Dim,
    room: DimExpr | null,
  ): void {
    const made = this.#run(operands, this.#siteOf(iteration), () => null);
    const types = this.#rows.map(({ dtype }, k) => ({ dtype, shape: this.#rowIn(made[k], k) }));
    this.#allocate(rows, types, room);
    this.#stacks.forEach((_, k) => {
      if (k < this.#joined) this.#join(k, made[k], row);
      else this.#copy(this.#rowsAt(k, row), made[k]);
    });
    this.#dropApart(made);
  }

  /** Runs the body once. */
  run(operands: readonly Stretch[], iteration: Dim, row: Dim): void {
    const site = this.#siteOf(iteration);
    const made = this.#run(operands, site, (k) => this.#rowsAt(k, row));
    made.slice(0, this.#rows.length).forEach((from, k) => {
      const to = this.#rowsAt(k, row);
      if (from.of === to.of) return;
      const { name } = this.#body.outputs[k];
      // Names that say more than a place.
      const what = /^y\d+$/.test(name) ? `output ${k}` : name;
      this.#requireLike(what, to.shape, this.#rowIn(from, k), this.#siteOfOutput(k, site), {
        expected: words`${to.shape}, as in the iterations before`,
        advice: 'reduce it, or write it into an array of fixed size, inside the body',
      });
      if (k < this.#joined) this.#join(k, from, row);
      else this.#copy(to, from);
    });
    this.#dropApart(made);
  }

  /**
   * Runs a program of several iterations, whose results are like the body's with `count` rows, and after these the
   * number of iterations that it has run, which this gives.
   */
  runSeveral(
    { callee, operands, sizes }: Pick<HostStatementOf<'call'>, 'callee' | 'operands' | 'sizes'>,
    row: Dim,
    count: Dim,
  ): DimExpr {
    const builder = this.#builder;
    const rows = this.#stacks.map((_, k) => this.#rowsAt(k, row, count));
    const counted = builder.handle('int32');
    const results: readonly HostResult[] = [
      ...[...rows, ...this.states].map((to) => ({ kind: 'into', to }) as const),
      { kind: 'own', as: counted, extents: [] },
    ];
    const site: HostSite = { where: words`from iteration ${row} on`, call: this.#call };
    builder.emit({ kind: 'call', callee, operands, sizes, results, site });
    const done = builder.name('done');
    builder.emit({ kind: 'load', name: done.key, from: { of: counted, shape: [] }, dtype: 'int32' }); // prettier-ignore
    builder.drop(counted);
    return done;
  }

  /** Stacked rows that nobody has written are zero. */
  clear(from: Dim, to: Dim): void {
    for (let k = this.#joined; k < this.#stacks.length; k++)
      this.#builder.emit({ kind: 'clear', at: this.#rowsAt(k, from, subDim(to, from)) });
  }

  /**
   * Memory for `needed` rows, and for some more, so that rows are moved seldom. `count` rows are stacked so far, of
   * which there are at most `limit`.
   */
  grow(needed: Dim, count: Dim, limit: Dim | null = null): void {
    if (this.#growing === null) return;
    const { stacks, room } = this.#growing;
    const doubled = mulDim(room, 2);
    const more = limit === null || this.#joined > 0 ? doubled : minDim(doubled, limit);
    const kept = this.#used.reduce<Dim>(maxDim, stacks.length > this.#joined ? count : 0);
    this.#builder.emit({ kind: 'grow', stacks, rows: room.key, needed, to: maxDim(more, needed), kept }); // prettier-ignore
  }

  /** There will be no more rows; `rows` are stacked. */
  trim(rows: Dim): void {
    const trimmed = this.#growing?.stacks ?? [];
    this.#used.forEach((used, k) =>
      this.#builder.emit({ kind: 'trim', stacks: [trimmed[k]], rows: used }),
    );
    const stacks = trimmed.slice(this.#joined);
    if (stacks.length > 0) this.#builder.emit({ kind: 'trim', stacks, rows });
  }

  /** All rows, of which there are so many where they are stacked. */
  results(rows: Dim): readonly Stretch[] {
    return this.#stacks.map(({ of, row }, k) => ({ of, shape: [this.#used[k] ?? rows, ...row] }));
  }

  #allocate(rows: Dim, types: readonly TensorType[], room: DimExpr | null): void {
    const builder = this.#builder;
    this.#stacks = types.map(({ dtype, shape }) => ({ of: builder.handle(dtype), row: shape }));
    const joined = this.#stacks.slice(0, this.#joined);
    const stacked = this.#stacks.slice(this.#joined);
    const growing = room === null ? joined : this.#stacks;
    if (room === null && stacked.length > 0) builder.emit({ kind: 'allocate', stacks: stacked, rows }); // prettier-ignore
    if (growing.length > 0) {
      this.#growing = { stacks: growing, room: room ?? this.#joinedRoom() };
      builder.emit({ kind: 'allocate', stacks: growing, rows: this.#growing.room });
    }
    this.#used = joined.map(() => {
      const used = builder.name('joined');
      builder.emit({ kind: 'set', name: used.key, value: 0, bound: this.#unbounded });
      return used;
    });
  }

  /** A name for the number of joined rows that there is memory for. */
  #joinedRoom(): DimExpr {
    const room = this.#builder.name('room');
    this.#builder.emit({ kind: 'set', name: room.key, value: leastRows, bound: this.#unbounded });
    return room;
  }

  get #unbounded(): NameBound {
    return { most: null, call: this.#call };
  }

  /** Puts rows behind those of the iterations before. Those that are stacked are there up to `row`. */
  #join(k: number, from: Stretch, row: Dim): void {
    const used = this.#used[k];
    const [own] = from.shape;
    this.grow(addDim(used, own), addDim(row, 1));
    this.#copy(this.#rowsAt(k, used, own), from);
    this.#builder.emit({ kind: 'assign', name: used.key, value: addDim(used, own) });
  }

  /** The shape of a row among those that an iteration has given. */
  #rowIn({ shape }: Stretch, k: number): readonly Dim[] {
    return k < this.#joined ? shape.slice(1) : shape;
  }

  #siteOf(iteration: Dim): HostSite {
    return { where: words`iteration ${iteration}`, call: this.#call };
  }

  /** The line that gives an output says more than that of the loop. */
  #siteOfOutput(k: number, { where, call }: HostSite): HostSite {
    const node = this.#body.node(this.#body.outputs[k].value.node);
    const source = node.kind === 'call' ? (node.source ?? call.source) : call.source;
    return { where, call: { ...call, source } };
  }

  #rowsAt(k: number, at: Dim, count?: Dim): Stretch {
    const { of, row } = this.#stacks[k];
    const shape = count === undefined ? row : [count, ...row];
    return { of, shape, offset: mulDim(at, elementCount(row)) };
  }

  /** Calls the body. Gives where its rows are: there where they are wanted, or in arrays of their own. */
  #run(
    operands: readonly Stretch[],
    site: HostSite,
    rowAt: (k: number) => Stretch | null,
  ): readonly Stretch[] {
    const builder = this.#builder;
    const results: HostResult[] = [];
    const made: Stretch[] = [];
    const into = (to: Stretch): void => {
      results.push({ kind: 'into', to });
      made.push(to);
    };
    const apart = ({ dtype, shape }: TensorType, isOpen: (axis: number) => boolean): void => {
      const names = shape.map((_, axis) => (isOpen(axis) ? builder.name('extent') : null));
      const as = builder.handle(dtype);
      results.push({ kind: 'own', as, extents: names.map((name) => name?.key ?? null) });
      made.push({ of: as, shape: shape.map((dim, axis) => names[axis] ?? dim) });
    };
    this.#rows.forEach((row, k) => {
      const isJoined = k < this.#joined;
      const to = isJoined ? null : rowAt(k);
      const type = isJoined ? { ...row, shape: [0, ...row.shape] } : row;
      const isOpen = (axis: number): boolean =>
        (isJoined && axis === 0) || !builder.isKnown(type.shape[axis]);
      if (to !== null && !type.shape.some((_, axis) => isOpen(axis))) into(to);
      else apart(type, isOpen);
    });
    const { outputs, decidedSizes } = this.#body;
    this.states.forEach((state, k) => {
      const { dtype, shape } = outputs[this.#rows.length + k].value.type;
      const isOpen = (axis: number): boolean =>
        [...symbolsOf(shape[axis])].some((name) => decidedSizes.has(name));
      if (shape.some((_, axis) => isOpen(axis))) apart({ dtype, shape: state.shape }, isOpen);
      else into(state);
    });
    const callee: HostCallee = { program: this.#body, kind: 'region', isOptional: false };
    const sizes = sizesPassedBy(this.#call);
    builder.emit({ kind: 'call', callee, operands, sizes, results, site });
    this.states.forEach((to, k) => {
      const from = made[this.#rows.length + k];
      if (from.of === to.of) return;
      this.#requireLike(`state ${k}`, to.shape, from.shape, site, {
        expected: words`${to.shape}`,
        advice: 'a state keeps its shape from one iteration to the next',
      });
      this.#copy(to, from);
    });
    return made;
  }

  /** Drops the results of an iteration that were made apart. */
  #dropApart(made: readonly Stretch[]): void {
    const stays = new Set([...this.#stacks, ...this.states].map(({ of }) => of));
    this.#builder.drop(...made.map(({ of }) => of).filter((of) => !stays.has(of)));
  }

  #copy(to: Stretch, from: Stretch): void {
    this.#builder.emit({ kind: 'copy', to, from });
  }

  #requireLike(
    what: string,
    wanted: readonly Dim[],
    actual: readonly Dim[],
    site: HostSite,
    said: Pick<Refusal, 'expected' | 'advice'>,
  ): void {
    wanted.forEach((dim, axis) => {
      const refusal: Refusal = {
        op: this.#call.op.name,
        problem: [`${what} changes its shape`],
        actual: words`${actual}`,
        ...said,
      };
      this.#builder.require(
        subDim(actual[axis], dim),
        '=',
        refusalWithin(refusal, site.where, site.call),
      );
    });
  }
}

/** The number of results of a loop, from the first on, that join rows. */
function joinedBy({ op, attributes }: CallNode): number {
  const { lowering } = declarationOf(op);
  return lowering.kind === 'foreach' || lowering.kind === 'while'
    ? lowering.loop(attributes).joined
    : 0;
}

/** The rows of an array, one at a time. */
export function rowOf({ of, shape: [, ...row], offset = 0 }: Stretch, at: Dim): Stretch {
  return { of, shape: row, offset: addDim(offset, mulDim(at, elementCount(row))) };
}
