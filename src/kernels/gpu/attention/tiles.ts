import { isStatic } from '../../../base/dim/index.js';
import * as e from '../../../loop/language/build.js';
import { addWithError } from '../../../loop/language/compensation.js';
import type {
  Buffer,
  Expr,
  Scalar,
  Stmt,
  Var,
  WorkgroupMemory,
} from '../../../loop/language/nodes.js';
import { workgroupLimits } from '../../../loop/language/verify-workgroups.js';
import { unravel } from '../../../ops/contraction/unravel.js';
import {
  type Access,
  computeScalar,
  type KernelContext,
  type Sink,
} from '../../../ops/declare/lowering.js';
import {
  type AttentionAttributes,
  attentionScalar,
  headIndex,
  maskedScore,
  scoreScale,
} from '../../../ops/normalization/attention-nests.js';
import { shortTerms } from '../../contraction/long-sums.js';
import { isWithin, known, product } from '../../contraction/sizes.js';
import { chosenCandidate, type KernelCall } from '../choices.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';

/*
 * Attention by workgroups: each holds the rows of a tile in memory, and streams those of the other side through it, so
 * that scores exist nowhere else (after Dao et al., FlashAttention, 2022). An invocation has one score of each tile of
 * `side` by `side`, and the results of one row in vectors of columns `side` apart, where widths allow it.
 */

/** Rows of a tile: the invocations of a workgroup are as many squared. */
export type TileSide = 16 | 8;

/** Most results of one invocation: each has locals and code of its own. */
const mostColumns = 16;

/** Widths of queries and keys, and of values. */
export interface HeadWidths {
  readonly size: number;
  readonly channels: number;
}

/** Rows of either width in memory of a workgroup, and tables of `side` by `side`. */
export interface TileMemory {
  readonly sizes: number;
  readonly channels: number;
  readonly tables: number;
}

/** The widths of heads; null where one is not known. */
export function widthsOf(q: Access, v: Access): HeadWidths | null {
  const [size, channels] = [known(q.shape.at(-1)!), known(v.shape.at(-1)!)];
  return size === null || channels === null ? null : { size, channels };
}

/** The tiles whose rows fit into the memory of a workgroup beside a panel of others, the usual one first. */
export function sidesFor(
  { size, channels }: HeadWidths,
  memory: TileMemory,
  scalar: Scalar,
): readonly TileSide[] {
  const widest = Math.max(size, channels);
  const fits = (side: TileSide): boolean => {
    const rows = memory.sizes * size + memory.channels * channels + widest + lanes;
    const elements = side * (rows + memory.tables * (side + 1));
    return (
      elements * e.scalarBytes(scalar) <= workgroupLimits.bytes && widest <= mostColumns * side
    );
  };
  return size === 0 || channels === 0 ? [] : ([16, 8] as const).filter(fits);
}

/** The tile of a call whose first operands are queries, keys and values; null where none fits. */
export function sideOf(
  call: KernelCall,
  widths: HeadWidths,
  memory: TileMemory,
  scalar: Scalar,
): TileSide | null {
  const sides = sidesFor(widths, memory, scalar);
  if (sides.length === 0) return null;
  const [queries, keys] = call.types.map(({ shape }) => shape.at(-2)!);
  return chosenCandidate(call, {
    kind: 'rows',
    traits: [(call.attributes as AttentionAttributes).causal ? 'causal' : 'all'], // of a call of attention
    sizes: [...[queries, keys].map((size) => (isStatic(size) ? size : null)), widths.size, widths.channels],
    candidates: new Map(sides.map((side) => [`${side} rows`, side])),
    // Exponentials are rounded; a last digit of the narrowest floats is the most.
    margin: call.types[0].dtype === 'float32' ? 2 ** -12 : 2 ** -6,
  }); // prettier-ignore
}

/** Rows in memory of a workgroup. */
export interface TileRows {
  readonly buffer: Buffer;
  readonly stride: number;
}

/** One workgroup: its tile, its memory, and the place of an invocation. */
export class AttentionTile {
  readonly side: TileSide;
  readonly scalar: 'f32' | 'f64';
  /** Columns that are read and multiplied together. */
  readonly lanes: number;
  readonly widths: HeadWidths;
  readonly memory: WorkgroupMemory[] = [];
  readonly #context: KernelContext<AttentionAttributes>;
  readonly #mask: Access | undefined;
  readonly #outer: readonly Expr[];
  #head: readonly Expr[] = [];
  #invocation: Expr = e.i32(0);

  /** `like` is the shape of an array with all of the batch. */
  constructor(
    context: KernelContext<AttentionAttributes>,
    like: readonly Expr[],
    mask: Access | undefined,
    widths: HeadWidths,
    side: TileSide,
  ) {
    this.#context = context;
    this.#outer = like.slice(0, -2);
    this.#mask = mask;
    this.scalar = attentionScalar(context.inputs[0]);
    this.widths = widths;
    this.side = side;
    const isWhole = [widths.size, widths.channels].every((width) => width % lanes === 0);
    this.lanes = isWhole && this.scalar === 'f32' ? lanes : 1;
  }

  /** Row and column of the score of this invocation in each tile. */
  get row(): Expr {
    return e.shr(this.#invocation, Math.log2(this.side));
  }

  get column(): Expr {
    return e.and(this.#invocation, this.side - 1);
  }

  /** Memory for `side` rows; rows that neighbors read at one column lie in different banks. */
  rows(name: string, width: number, isPadded: boolean = false): TileRows {
    const storage = this.scalar;
    const stride = isPadded ? width + this.lanes : width;
    const buffer = e.buffer(name, storage);
    this.memory.push({ buffer, length: this.side * stride });
    return { buffer, stride };
  }

  /** Memory for a table of `side` by `side`. */
  table(name: string): TileRows {
    const [buffer, stride] = [e.buffer(name, this.scalar), this.side + 1];
    this.memory.push({ buffer, length: this.side * stride });
    return { buffer, stride };
  }

  /** Neighboring columns from one on. */
  columns(first: Expr): Expr {
    return this.lanes === 1 ? first : e.ramp(first, 1, this.lanes);
  }

  /** A workgroup for each tile of `extent` rows of each head; `body` gets the first row. */
  over(extent: Expr, body: (first: Var) => Stmt): Stmt {
    const { side } = this;
    const tiles = e.div(e.add(extent, side - 1), side);
    const groups = product(...this.#outer, tiles);
    return e.workgroups(groups, side * side, this.memory, (group, invocation) => {
      const first = e.variable('first', 'i32');
      this.#head = unravel(e.div(group, e.max(tiles, 1)), this.#outer);
      this.#invocation = invocation;
      const inside = body(first);
      return e.block(e.declare(first, e.mul(e.rem(group, e.max(tiles, 1)), side)), inside);
    });
  }

  read(from: Access, row: Expr, column: Expr): Expr {
    return e.cast(this.scalar, from.at(headIndex(from.shape, this.#head, row, column)));
  }

  store(to: Sink, row: Expr, column: Expr, value: Expr): Stmt {
    const element = e.cast(computeScalar(to.dtype), value);
    return to.store(headIndex(to.shape, this.#head, row, column), element);
  }

  /** Fills `side` rows of memory with those of an operand from `first` on, and with zeros beyond its end. */
  fill({ buffer, stride }: TileRows, from: Access, first: Expr, width: number): Stmt {
    const { side, lanes } = this;
    const extent = from.shape.at(-2)!;
    const count = (side * width) / lanes;
    const put = (flat: Expr): Stmt => {
      const [row, vector] = unravel(flat, [e.i32(side), e.i32(width / lanes)]);
      const [at, column] = [e.add(first, row), e.mul(vector, lanes)];
      const value = this.read(from, e.min(at, e.sub(extent, 1)), this.columns(column));
      const inside = e.select(e.lt(at, extent), value, e.constant(this.scalar, 0));
      const place = this.columns(e.add(e.mul(row, stride), column));
      return e.store(buffer, place, e.broadcast(inside, lanes));
    };
    const each = side * side;
    return e.forLoop('part', 0, Math.ceil(count / each), (part) => {
      const flat = e.variable('flat', 'i32');
      const guarded = count % each === 0 ? put(flat) : e.ifThen(e.lt(flat, count), put(flat));
      return e.block(e.declare(flat, e.add(this.#invocation, e.mul(part, each))), guarded);
    });
  }

  /** Declares the product of the own row of `left` and the row of `right` at the own column. */
  dot(
    name: string,
    left: TileRows,
    right: TileRows,
    width: number,
  ): { readonly value: Var; readonly statements: readonly Stmt[] } {
    // prettier-ignore
    const { lanes, scalar } = this;
    const sum = e.variable(`${name}Lanes`, scalar, lanes);
    const value = e.variable(name, scalar);
    const at = ({ buffer, stride }: TileRows, row: Expr, d: Expr): Expr =>
      e.load(buffer, this.columns(e.add(e.mul(row, stride), d)));
    const add = (d: Expr): Stmt =>
      e.assign(sum, e.add(sum, e.mul(at(left, this.row, d), at(right, this.column, d))));
    const loop = e.forLoop('d', 0, width, add, { step: lanes });
    const parts = Array.from({ length: lanes }, (_, lane) => e.extract(sum, lane));
    const total = parts.reduce((a, b) => e.add(a, b));
    return {
      value,
      statements: [e.declare(sum, e.constant(scalar, 0, lanes)), loop, e.declare(value, total)],
    };
  }

  /** The factor of the scores. */
  get scale(): Expr {
    return scoreScale(this.scalar, this.#context.attributes.scale, e.i32(this.widths.size));
  }

  /** A product of query and key as a score: scaled, and -Infinity where the query does not see the key. */
  score(value: Expr, query: Expr, key: Expr): Expr {
    const { attributes, inputs } = this.#context;
    const [, k] = inputs;
    const keys = k.shape.at(-2)!;
    const isThere = e.lt(key, keys);
    const mask = this.#mask;
    return maskedScore(
      e.mul(value, this.scale),
      mask,
      () => mask!.at(headIndex(mask!.shape, this.#head, query, e.min(key, e.sub(keys, 1)))),
      attributes.causal ? e.and(isThere, e.le(key, query)) : isThere,
    );
  }

  /** Stores a value into the own place of a table. */
  put({ buffer, stride }: TileRows, value: Expr): Stmt {
    return e.store(buffer, e.add(e.mul(this.row, stride), this.column), value);
  }

  /** Sums for the own row in columns `side` apart. `terms`: of which each is the sum. */
  sums(name: string, width: number, terms: Expr): ColumnSums {
    return new ColumnSums(this, name, width, terms);
  }
}

/** A sum that may be scaled on the way, and carries what it rounds away where it has many terms (decision 46). */
export class RunningSum {
  readonly #sum: Var;
  readonly #error: Var | null;

  constructor(name: string, scalar: Scalar, terms: Expr, lanes: number = 1) {
    this.#sum = e.variable(name, scalar, lanes);
    this.#error = isWithin(terms, shortTerms) ? null : e.variable(`${name}Error`, scalar, lanes);
  }

  get locals(): readonly Var[] {
    return this.#error === null ? [this.#sum] : [this.#sum, this.#error];
  }

  get result(): Expr {
    return this.#error === null ? this.#sum : e.add(this.#sum, this.#error);
  }

  get begin(): readonly Stmt[] {
    return this.locals.map((local) =>
      e.declare(local, e.constant(local.type.scalar, 0, local.type.lanes)),
    );
  }

  scale(factor: Expr): readonly Stmt[] {
    return this.locals.map((local) => e.assign(local, e.mul(local, factor)));
  }

  add(term: Expr): Stmt {
    return this.#error === null
      ? e.assign(this.#sum, e.add(this.#sum, term))
      : addWithError(this.#sum, this.#error, term);
  }
}

/** The results of an invocation: sums over the rows of panels. */
class ColumnSums {
  readonly #tile: AttentionTile;
  readonly #width: number;
  readonly #sums: readonly RunningSum[];

  constructor(tile: AttentionTile, name: string, width: number, terms: Expr) {
    this.#tile = tile;
    this.#width = width;
    const count = Math.ceil(width / (tile.side * tile.lanes));
    this.#sums = Array.from(
      { length: count },
      (_, k) => new RunningSum(`${name}${k}`, tile.scalar, terms, tile.lanes),
    );
  }

  get begin(): readonly Stmt[] {
    return this.#sums.flatMap(({ begin }) => begin);
  }

  scale(factor: Expr): readonly Stmt[] {
    return this.#sums.flatMap((sum) => sum.scale(factor));
  }

  /** Adds the product of the own row of a table and a panel; `beside` gets each factor of the row. */
  addProduct(table: TileRows, panel: TileRows, beside?: (factor: Expr) => Stmt): Stmt {
    const { side, scalar, row, lanes } = this.#tile;
    const parts = this.#sums.map((_, k) => e.variable(`part${k}`, scalar, lanes));
    const factor = e.variable('factor', scalar);
    const loop = e.forLoop('other', 0, side, (other) =>
      e.block(
        e.declare(factor, e.load(table.buffer, e.add(e.mul(row, table.stride), other))),
        ...(beside === undefined ? [] : [beside(factor)]),
        ...parts.map((part, k) => {
          const column = e.min(this.#column(k), this.#width - lanes);
          const place = this.#tile.columns(e.add(e.mul(other, panel.stride), column));
          const element = e.load(panel.buffer, place);
          return e.assign(part, e.add(part, e.mul(factor, element)));
        }),
      ),
    );
    return e.block(
      ...parts.map((part) => e.declare(part, e.constant(scalar, 0, lanes))),
      loop,
      ...this.#sums.map((sum, k) => sum.add(parts[k])),
    );
  }

  /** Stores the results of the own row, if it is one of `extent`. */
  store(to: Sink, at: Expr, extent: Expr, finish: (sum: Expr) => Expr): Stmt {
    const isWhole = this.#width % (this.#tile.side * this.#tile.lanes) === 0;
    const stores = this.#sums.map((sum, k) => {
      const column = this.#column(k);
      const store = this.#tile.store(to, at, this.#tile.columns(column), finish(sum.result));
      return isWhole ? store : e.ifThen(e.lt(column, this.#width), store);
    });
    return e.ifThen(e.lt(at, extent), e.block(...stores));
  }

  #column(k: number): Expr {
    const { column, side, lanes } = this.#tile;
    return e.mul(e.add(column, k * side), lanes);
  }
}
