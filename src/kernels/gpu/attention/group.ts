import { InternalError } from '../../../base/errors.js';
import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';
import { unravel } from '../../../ops/contraction/unravel.js';
import {
  type Access,
  computeScalar,
  type KernelContext,
  type Sink,
} from '../../../ops/declare/lowering.js';
import {
  type AttentionAttributes,
  headIndex,
  maskedScore,
  scoreScale,
} from '../../../ops/normalization/attention-nests.js';
import { isContiguous } from '../../contraction/reach.js';
import { known, product } from '../../contraction/sizes.js';
import { multiplyPanels } from '../product/multiply.js';
import { LeftPanel, RightPanel } from '../product/panels.js';
import { invocationsOf, leftElements } from '../product/tile.js';
import { tilesOf } from '../product/tiled.js';
import {
  columnsAtOnce,
  elementsOf,
  heightOf,
  scorePanels,
  type ScoreTile,
  type TileWork,
} from './tile.js';

/*
 * Attention by workgroups: each has some rows of one side, and lets those of the other pass by as columns, so that
 * scores exist nowhere else (after Dao et al., FlashAttention, 2022). An invocation has a block of the scores in
 * registers, and a block of the results: both are products of panels in memory of the workgroup. Between the two,
 * scores go through a table there, which lies where the panels of the first were.
 */

type Context = KernelContext<AttentionAttributes>;

/**
 * A workgroup for each tile of `extent` rows of each head; `like` is the shape of an array with all of the batch.
 * `isReversed`: the last tiles, which have most to do, begin first.
 */
export function overTiles(
  context: Context,
  like: readonly Expr[],
  extent: Expr,
  { tile, work, mask, isReversed }: { readonly tile: ScoreTile; readonly work: TileWork; readonly mask: Access | undefined; readonly isReversed: boolean }, // prettier-ignore
  body: (group: AttentionGroup) => Stmt,
): Stmt {
  const outer = like.slice(0, -2);
  const below = tilesOf(extent, heightOf(tile));
  const memory = e.buffer('tile', 'f32');
  const groups = product(...outer, below);
  const shared = [{ buffer: memory, length: elementsOf(tile, work) }];
  return e.workgroups(groups, invocationsOf(tile), shared, (number, invocation) => {
    const [entry, first] = ['entry', 'first'].map((name) => e.variable(name, 'i32'));
    const [head, at] = unravel(number, [product(...outer), below]);
    const own = isReversed ? e.sub(e.sub(below, 1), at) : at;
    return e.block(
      e.declare(entry, head),
      e.declare(first, e.mul(own, heightOf(tile))),
      body(new AttentionGroup(context, tile, mask, memory, { invocation, head: unravel(entry, outer), first, extent })),
    );
  });
} // prettier-ignore

/** Place of an invocation: that in its workgroup, and the head and the rows of that. */
interface GroupPlace {
  readonly invocation: Expr;
  readonly head: readonly Expr[];
  readonly first: Expr;
  readonly extent: Expr;
}

/** One workgroup and an invocation of it. */
export class AttentionGroup {
  readonly tile: ScoreTile;
  readonly memory: Buffer;
  readonly invocation: Expr;
  /** The first row. */
  readonly first: Expr;
  readonly extent: Expr;
  readonly #context: Context;
  readonly #mask: Access | undefined;
  readonly #head: readonly Expr[];

  constructor(
    context: Context,
    tile: ScoreTile,
    mask: Access | undefined,
    memory: Buffer,
    { invocation, head, first, extent }: GroupPlace,
  ) {
    this.tile = tile;
    this.memory = memory;
    this.invocation = invocation;
    this.first = first;
    this.extent = extent;
    this.#context = context;
    this.#mask = mask;
    this.#head = head;
  }

  /** Place of this invocation among those beside each other. */
  get x(): Expr {
    return e.and(this.invocation, this.tile.across - 1);
  }

  /** The row of the tile that a row of this invocation is. */
  rowInTile(row: number): Expr {
    const { across, below } = this.tile;
    return e.add(e.shr(this.invocation, Math.log2(across)), row * below);
  }

  row(row: number): Expr {
    return e.add(this.first, this.rowInTile(row));
  }

  /** A row that is certainly there, for what is read of it. */
  rowThere(row: number): Expr {
    return e.min(this.row(row), e.sub(this.extent, 1));
  }

  /** True where a row of this invocation is there. */
  hasRow(row: number): Expr {
    return e.lt(this.row(row), this.extent);
  }

  /** The columns of this invocation, of those from one on. */
  columns(from: Expr): Expr {
    return e.ramp(e.add(from, this.x), this.tile.across, lanes);
  }

  /** Something of each row of this invocation. */
  perRow<T>(of: (row: number) => T): readonly T[] {
    return Array.from({ length: this.tile.rows }, (_, row) => of(row));
  }

  /** A local of each row of this invocation. */
  locals(name: string, count: number = 1): readonly Var[] {
    return this.perRow((row) => e.variable(`${name}${row}`, 'f32', count));
  }

  read(from: Access, row: Expr, column: Expr): Expr {
    return e.cast('f32', from.at(headIndex(from.shape, this.#head, row, column)));
  }

  store(to: Sink, row: Expr, column: Expr, value: Expr): Stmt {
    const element = e.cast(computeScalar(to.dtype), value);
    return to.store(headIndex(to.shape, this.#head, row, column), element);
  }

  /** Every tile of columns from `begin` to `end`. */
  overColumns(begin: Expr, end: Expr, body: (from: Expr) => Stmt): Stmt {
    return e.forLoop('from', begin, end, body, { step: columnsAtOnce(this.tile) });
  }

  /**
   * Products of the rows of `left` and rows of `right` from one on, which are columns here: a vector for each row of this
   * invocation. The statements end with a barrier.
   */
  products(
    name: string,
    left: Access,
    right: Access,
    width: number,
    from: Expr,
  ): { readonly values: readonly Var[]; readonly statements: readonly Stmt[] } {
    const panels = scorePanels(this.tile, width);
    const values = this.locals(name, lanes);
    const [k, scalar] = [e.i32(width), 'f32' as const];
    const [i, d] = ['i', 'd'].map((index) => e.variable(index, 'i32'));
    const a = (_: Expr, row: Expr, at: Expr): Expr => this.read(left, row, at);
    const b = (_: Expr, at: Expr, row: Expr): Expr => this.read(right, row, at);
    const [m, n] = [left, right].map(({ shape }) => shape.at(-2)!);
    const isAlong = isContiguous(this.read(left, i, e.ramp(d, 1, lanes)));
    const order = {
      distance: this.tile.across,
      isAcross: isContiguous(this.read(right, e.ramp(i, 1, lanes), d)),
    };
    const rows = new LeftPanel({ a, m, k, scalar }, panels, this.memory, isAlong);
    const columns = new RightPanel({ b, n, k, scalar }, panels, this.memory, leftElements(panels), order);
    const loop = e.forLoop('d0', 0, width, (d0) =>
      e.block(
        rows.fill(this.invocation, e.i32(0), this.first, d0),
        columns.fill(this.invocation, e.i32(0), from, d0),
        e.workgroupBarrier,
        multiplyPanels(
          values,
          panels,
          (row, kk) => rows.at(this.rowInTile(row), kk),
          (_, kk) => columns.at(this.x, kk),
        ),
        e.workgroupBarrier,
      ),
      { step: panels.depth },
    );
    return { values, statements: [...values.map(beginZero), loop] };
  } // prettier-ignore

  /** The factor of the scores. */
  get scale(): Expr {
    const { attributes, inputs } = this.#context;
    const size = known(inputs[0].shape.at(-1)!);
    if (size === null) throw new InternalError('a tile of attention for heads of unknown width');
    return scoreScale('f32', attributes.scale, e.i32(size));
  }

  /** Products of queries and keys as scores: scaled, and -Infinity where the query does not see the key. */
  score(value: Expr, query: Expr, key: Expr): Expr {
    const { attributes, inputs } = this.#context;
    const [q, k] = inputs;
    const [queries, keys] = [q, k].map(({ shape }) => shape.at(-2)!);
    const mask = this.#mask;
    const there = (at: Expr, extent: Expr): Expr => e.min(at, e.sub(extent, 1));
    const masked = (): Expr =>
      mask!.at(headIndex(mask!.shape, this.#head, there(query, queries), there(key, keys)));
    const scaled = e.mul(value, this.scale);
    const isThere = e.lt(key, keys);
    const isSeen = attributes.causal ? e.and(isThere, e.le(key, query)) : isThere;
    return maskedScore(scaled, mask, masked, isSeen);
  }

  /** Stores values of a row of this invocation into the table. */
  put(row: number, values: Expr): Stmt {
    return e.store(this.memory, this.#inTable(row, this.x), values);
  }

  /** Four neighboring columns of a row of this invocation in the table. */
  inTable(row: number, column: Expr): Expr {
    return e.load(this.memory, this.#inTable(row, e.shr(column, Math.log2(lanes))));
  }

  /** Vectors of a row are exchanged by its number, so that those of neighbors at one column lie in different banks. */
  #inTable(row: number, vector: Expr): Expr {
    const at = this.rowInTile(row);
    const own = e.xor(vector, e.and(at, this.tile.across - 1));
    return e.ramp(e.mul(e.add(e.mul(at, this.tile.across), own), lanes), 1, lanes);
  }

  /**
   * Joins what the invocations of each row have, in order: a vector of a lane for each row. The statements declare what
   * comes of it, begin where nobody reads memory, and end with a barrier.
   */
  joinRows(
    name: string,
    value: Expr,
    join: (a: Expr, b: Expr) => Expr,
  ): { readonly joined: Var; readonly statements: readonly Stmt[] } {
    const { across } = this.tile;
    const joined = e.variable(name, 'f32', lanes);
    const place = (invocation: Expr): Expr => e.ramp(e.mul(invocation, lanes), 1, lanes);
    const of = (x: Expr): Expr =>
      e.load(this.memory, place(e.add(e.sub(this.invocation, this.x), x)));
    return {
      joined,
      statements: [
        e.store(this.memory, place(this.invocation), value),
        e.workgroupBarrier,
        e.declare(joined, of(e.i32(0))),
        e.forLoop('other', 1, across, (x) => e.assign(joined, join(joined, of(x)))),
        e.workgroupBarrier,
      ],
    };
  }

  /** Private memory of this invocation. */
  scratch(name: string, length: number): Buffer {
    return this.#context.scratch(name, 'float32', e.i32(length));
  }
}

/** A local that begins as 0. */
export const beginZero = (local: Var): Stmt =>
  e.declare(local, e.constant('f32', 0, local.type.lanes));

/** The lanes of a vector joined in order. */
export function overLanes(vector: Expr, join: (a: Expr, b: Expr) => Expr): Expr {
  return Array.from({ length: lanes }, (_, lane) => e.extract(vector, lane)).reduce(join);
}

/** A vector of some scalars, the last of which is repeated. */
export function packed(values: readonly Expr[]): Expr {
  const lane = e.ramp(e.i32(0), 1, lanes);
  return values.reduceRight((rest, value, at) => e.select(e.eq(lane, at), value, rest));
}
