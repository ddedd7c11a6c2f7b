import { addDim, type Dim, type DimExpr, mulDim, elementCount, subDim, symbolsOf } from '../../base/dim/index.js'; // prettier-ignore
import type { CallNode, Program } from '../../ir/program.js';
import { type Refusal, words, refusalWithin } from '../../ir/requirement.js';
import type { TensorType } from '../../ir/types.js';
import { undecidedSizes } from '../../ops/control/body.js';
import { sizesPassedBy } from '../../ops/declare/facets.js';
import type { RoutineBuilder } from './routine.js';
import type {
  HostCallee,
  HostResult,
  HostSite,
  HostStatementOf,
  StackedArray,
  Stretch,
} from './statements.js';

/**
 * Results of the iterations of a loop: rows, each in its place of a stack, and states, in memory of the loop's own.
 * A result with a size that the data of an iteration decides is made apart, checked, and copied.
 */
export class Iterations {
  readonly states: readonly Stretch[];
  readonly #builder: RoutineBuilder;
  readonly #call: CallNode;
  readonly #body: Program;
  /** The types of the rows, in sizes of the surroundings. */
  readonly #rows: readonly TensorType[];
  #stacks: readonly StackedArray[] = [];

  /** `initial` are the states before the first iteration; the body is the last region of `call`. */
  constructor(builder: RoutineBuilder, call: CallNode, initial: readonly Stretch[]) {
    this.#builder = builder;
    this.#call = call;
    this.#body = call.regions[call.regions.length - 1];
    this.#rows = call.types
      .slice(0, this.#body.outputs.length - initial.length)
      .map(({ dtype, shape }) => ({ dtype, shape: shape.slice(1) }));
    this.states = initial.map(({ of, shape }) => ({ of: builder.handle(of.dtype), shape }));
    if (initial.length === 0) return;
    const stacks = this.states.map(({ of, shape }) => ({ of, row: shape }));
    builder.emit({ kind: 'allocate', stacks, rows: 1 });
    initial.forEach((from, k) => builder.emit({ kind: 'copy', to: this.states[k], from }));
  }

  /** True if rows are stacked at all. */
  get hasRows(): boolean {
    return this.#rows.length > 0;
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

  /** Memory for so many rows of sizes that are known. */
  allocate(rows: Dim): void {
    this.#allocate(rows, this.#rows);
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
  first(operands: readonly Stretch[], iteration: Dim, row: Dim, rows: Dim): void {
    const made = this.#run(operands, this.#siteOf(iteration), () => null);
    const types = this.#rows.map(({ dtype }, k) => ({ dtype, shape: made[k].shape }));
    this.#allocate(rows, types);
    this.#stacks.forEach((_, k) => this.#copy(this.#rowsAt(k, row), made[k]));
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
      this.#requireLike(what, to.shape, from.shape, this.#siteOfOutput(k, site), {
        expected: words`${to.shape}, as in the iterations before`,
        advice:
          'reduce it, or write it into an array of fixed size, inside the body; rows that a loop inside pushes to a list may be any number if it has a bound: for (let i = 0; i < most; i++), left by break',
      });
      this.#copy(to, from);
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

  /** Rows that nobody has written are zero. */
  clear(from: Dim, to: Dim): void {
    this.#stacks.forEach((_, k) =>
      this.#builder.emit({ kind: 'clear', at: this.#rowsAt(k, from, subDim(to, from)) }),
    );
  }

  /** Room for `to` rows instead of as many as `rows` says, the first `kept` of which stay. */
  grow(rows: string, to: Dim, kept: Dim): void {
    this.#builder.emit({ kind: 'grow', stacks: this.#stacks, rows, to, kept });
  }

  /** There will be no more rows. */
  trim(rows: Dim): void {
    if (this.hasRows) this.#builder.emit({ kind: 'trim', stacks: this.#stacks, rows });
  }

  /** All rows, of which there are so many. */
  stacked(rows: Dim): readonly Stretch[] {
    return this.#stacks.map(({ of, row }) => ({ of, shape: [rows, ...row] }));
  }

  #allocate(rows: Dim, types: readonly TensorType[]): void {
    this.#stacks = types.map(({ dtype, shape }) => ({
      of: this.#builder.handle(dtype),
      row: shape,
    }));
    if (this.hasRows) this.#builder.emit({ kind: 'allocate', stacks: this.#stacks, rows });
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
    this.#rows.forEach((type, k) => {
      const to = rowAt(k);
      const isOpen = (axis: number): boolean => !builder.isKnown(type.shape[axis]);
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
        error: 'shape',
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

/** The rows of an array, one at a time. */
export function rowOf({ of, shape: [, ...row], offset = 0 }: Stretch, at: Dim): Stretch {
  return { of, shape: row, offset: addDim(offset, mulDim(at, elementCount(row))) };
}
