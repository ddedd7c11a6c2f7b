import type { FoldedState, RowWork } from '../../../ops/nests/schedule.js';
import * as e from '../../../loop/language/build.js';
import type {
  Buffer,
  Const,
  Expr,
  Stmt,
  Var,
  WorkgroupMemory,
} from '../../../loop/language/nodes.js';
import { indexAt } from '../../../loop/language/team.js';
import { mulIndex, one } from '../../../ops/nests/access.js';
import {
  combine,
  declareState,
  type FoldLoops,
  type FoldStage,
  step,
} from '../../../ops/nests/fold.js';
import type { GroupShape } from './group-shape.js';
import { get, type GroupPlace, placeIn, put, sharedStorage } from './places.js';
import { mostStepsOfPartials, sumsIn } from '../../folds/long-sums.js';
import { joinLanes } from '../../folds/fold-row.js';
import { loopInBlocks } from '../../folds/stages.js';
import { declareTotals } from '../../folds/sum-totals.js';

/** The work of an invocation of a workgroup for one result. */
export interface GroupWork extends RowWork {
  readonly isFirst: Expr;
}

/** The most turns of a row whose elements may stay in registers from one pass to the next. */
const mostTurns = 16;

/** The most elements of an invocation in all turns that are told apart. */
const mostKept = 32;

/**
 * Workgroups that fold: the invocations of a result take its elements in turn, so that neighbors read neighbors, and
 * join their states pairwise in memory of the group. The order depends on the shape of the group alone. With `keeps`
 * elements wait for the next pass, so that turns are told apart where they are few.
 */
export function foldInWorkgroups(
  frame: FoldLoops,
  shape: GroupShape,
  body: (work: GroupWork) => Stmt,
  keeps: boolean = false,
): Stmt {
  const extents = frame.outer.map(({ extent }) => extent);
  const { width = 1 } = shape;
  if (width > 1) extents.push(e.i32(Number((extents.pop() as Const).value) / width));
  const results = extents.reduce((product, extent) => mulIndex(product, extent), one);
  const groups = e.div(e.add(results, shape.results - 1), shape.results);
  const memory: WorkgroupMemory[] = [];
  const size = shape.results * shape.partials;
  return e.workgroups(groups, size, memory, (group, invocation) => {
    const place = placeIn(shape, invocation);
    const result = e.variable('result', 'i32');
    const work = new Work(frame, shape, place, { result, results, extents }, memory, keeps);
    const first = e.mul(group, shape.results);
    return e.block(
      e.declare(result, shape.results === 1 ? first : e.add(first, place.result)),
      body(work),
    );
  });
}

class Work implements GroupWork {
  readonly keptAt: readonly Expr[];
  readonly isFirst: Expr;
  /** True where there is such a result. */
  readonly #isLive: Expr;
  readonly #shape: GroupShape;
  readonly #place: GroupPlace;
  readonly #memory: WorkgroupMemory[];
  /** A pass of which only the places in `frame` count. */
  readonly #frame: FoldLoops;
  readonly #count: Expr;
  readonly #keeps: boolean;
  #folds = 0;

  constructor(
    frame: FoldLoops,
    shape: GroupShape,
    place: GroupPlace,
    { result, results, extents }: { readonly result: Expr; readonly results: Expr; readonly extents: readonly Expr[] }, // prettier-ignore
    memory: WorkgroupMemory[],
    keeps: boolean,
  ) {
    this.#frame = frame;
    this.#keeps = keeps;
    this.#shape = shape;
    this.#place = place;
    this.#memory = memory;
    const keptAt = indexAt(result, extents);
    const { width } = shape;
    this.keptAt = width === undefined ? keptAt : [...keptAt.slice(0, -1), e.ramp(e.mul(keptAt[keptAt.length - 1], width), 1, width)]; // prettier-ignore
    this.#isLive = e.lt(result, results);
    this.isFirst = e.and(this.#isLive, e.eq(place.partial, 0));
    this.#count = this.#frame.inner.reduce((product, { extent }) => mulIndex(product, extent), one);
  }

  fold(stage: FoldStage): FoldedState {
    const { width = 1 } = this.#shape;
    const { state, declarations } = declareState('state', stage.initial, width);
    const isWide = this.#shape.together === stage.lanes && stage.lanes > 1;
    const wide = isWide ? declareState('lanes', stage.initial, stage.lanes) : null;
    const part = this.#foldPart(
      stage,
      wide?.state ?? state,
      isWide ? stage.lanes : 1,
      isWide ? stage.lanes : width,
    );
    const joined = wide === null ? [] : joinLanes(stage, wide.state, state);
    const own = e.ifThen(this.#isLive, e.block(...(wide?.declarations ?? []), part, ...joined));
    if (state.length === 0) return { total: [], statements: [own] };
    const buffers = this.#buffersFor(state);
    const total = state.map(({ name, type }) =>
      e.variable(`total_${name}`, type.scalar, type.lanes),
    );
    // What the invocations have read in the pass before is overwritten.
    const before = this.#folds++ === 0 ? [] : [e.workgroupBarrier];
    return {
      total,
      statements: [
        ...declarations,
        own,
        ...before,
        ...buffers.map((buffer, k) => put(buffer, this.#slot(this.#place.invocation), state[k])),
        e.workgroupBarrier,
        this.#tree(stage, buffers, state),
        ...total.map((local, k) =>
          e.declare(local, get(buffers[k], this.#slot(this.#place.first), local)),
        ),
      ],
    };
  }

  /** The places of the state of an invocation, of which that of the invocation is given. */
  #slot(invocation: Expr): Expr {
    const { width } = this.#shape;
    return width === undefined ? invocation : e.ramp(e.mul(invocation, width), 1, width);
  }

  /**
   * The elements of this invocation: some neighbors in each turn of all invocations, as many as there are `lanes` at
   * once, into states of vectors.
   */
  #foldPart(stage: FoldStage, state: readonly Var[], lanes: number, width: number): Stmt {
    const { partials, together } = this.#shape;
    const { partial } = this.#place;
    const sums = sumsIn(stage.parts);
    const steps = mostStepsOfPartials(partials * lanes);
    const extents = this.#frame.inner.map(({ extent }) => extent);
    const part = {
      position: (at: Expr): Expr => at,
      foldedAt: (at: Expr): readonly Expr[] => indexAt(at, extents),
    };
    const one = (at: Expr): Stmt => step({ ...stage, part }, this.keptAt, [at], state);
    const turn = partials * together;
    const turns = this.#count.kind === 'const' ? Math.ceil(Number(this.#count.value) / turn) : Infinity; // prettier-ignore
    const mode =
      this.#keeps && turns <= mostTurns && turns * together <= mostKept ? 'unroll' : 'serial';
    const each = (first: Expr): Stmt => {
      if (together === 1) return one(first);
      if (lanes === together) return one(e.ramp(first, 1, lanes));
      return e.forLoop('lane', 0, together, (lane) => one(e.add(first, lane)), { mode });
    };
    const first = e.mul(partial, together);
    const most = turns * (together / lanes);
    const isShort = sums.length === 0 || most <= steps;
    const range = { begin: first, end: this.#count, step: turn };
    if (isShort && mode === 'serial') {
      return e.forLoop('i', range.begin, range.end, each, { step: turn });
    }
    const inBlock = isShort ? turns : Math.max(Math.floor((steps * lanes) / together), 1);
    const blocks = { within: [], around: null, additions: Math.ceil(most / steps) };
    const totals = isShort ? null : declareTotals('part', stage, sums, width, blocks);
    const add = (): Stmt => totals?.add(state) ?? e.block();
    return e.block(
      ...(totals?.declarations ?? []),
      mode === 'serial'
        ? loopInBlocks('i', range, { steps: inBlock, isLast: false }, each, add)
        : e.block(...turnsInBlocks(turns, inBlock, (k) => this.#within(k, turn, first, each), add)),
      totals?.complete(state) ?? e.block(),
    );
  }

  /** The elements of this invocation in a turn: the last one may not be for all invocations. */
  #within(k: Expr, turn: number, first: Expr, each: (at: Expr) => Stmt): Stmt {
    const at = e.add(e.mul(k, turn), first);
    const isWhole = Number((this.#count as Const).value) % turn === 0;
    return isWhole ? each(at) : e.ifThen(e.lt(at, this.#count), each(at));
  }

  /**
   * Joins the states of a result pairwise, into the place of the first: by two levels of the tree between two barriers
   * where their number is even.
   */
  #tree(stage: FoldStage, buffers: readonly Buffer[], state: readonly Var[]): Stmt {
    const { partials } = this.#shape;
    const { invocation, partial, stride } = this.#place;
    const levels = Math.log2(partials);
    const together = levels % 2 === 0 ? 2 : 1;
    return e.forLoop('level', 0, levels / together, (level) => {
      const part = e.shr(e.i32(partials / 2 ** together), together === 1 ? level : e.shl(level, 1));
      const statements: Stmt[] = [];
      const declared = (name: string, values: readonly Expr[]): readonly Var[] => {
        const locals = state.map(({ type }, k) =>
          e.variable(`${name}_${k}`, type.scalar, type.lanes),
        );
        statements.push(...locals.map((local, k) => e.declare(local, values[k])));
        return locals;
      };
      const at = (distance: number): readonly Var[] =>
        declared(
          `part${distance}`,
          state.map((local, k) => {
            const place = e.add(invocation, e.mul(part, distance * stride));
            return get(buffers[k], this.#slot(distance === 0 ? invocation : place), local);
          }),
        );
      const joined = (name: string, a: readonly Var[], b: readonly Var[]): readonly Var[] =>
        declared(name, combine(stage, a, b));
      const next =
        together === 1
          ? joined('joined', at(0), at(1))
          : joined('joined', joined('even', at(0), at(2)), joined('odd', at(1), at(3)));
      statements.push(...next.map((local, k) => put(buffers[k], this.#slot(invocation), local)));
      return e.block(e.ifThen(e.lt(partial, part), e.block(...statements)), e.workgroupBarrier);
    });
  }

  /** Memory for the states of all invocations, which the passes share. */
  #buffersFor(state: readonly Var[]): readonly Buffer[] {
    const free = [...this.#memory];
    return state.map(({ type: { scalar } }) => {
      const storage = sharedStorage(scalar);
      const found = free.findIndex(({ buffer }) => buffer.storage === storage);
      if (found >= 0) return free.splice(found, 1)[0].buffer;
      const buffer = e.buffer(`partial${this.#memory.length}`, storage);
      const { results, partials, width = 1 } = this.#shape;
      this.#memory.push({ buffer, length: results * partials * width });
      return buffer;
    });
  }
}

/** Turns that are told apart, in blocks with something behind each but the last. */
function turnsInBlocks(
  turns: number,
  inBlock: number,
  each: (turn: Expr) => Stmt,
  behind: () => Stmt,
): readonly Stmt[] {
  return Array.from({ length: Math.ceil(turns / inBlock) }, (_, block) => {
    const [begin, end] = [block * inBlock, Math.min((block + 1) * inBlock, turns)];
    const loop = e.forLoop('turn', begin, end, each, { mode: 'unroll' });
    return end === turns ? loop : e.block(loop, behind());
  });
}
