import type { DType } from '../../../base/dtype.js';
import * as e from '../../../loop/build.js';
import type { Buffer, Expr, Stmt, Var } from '../../../loop/nodes.js';
import { indices, known, lesser, product, roundUp } from './sizes.js';
import type { Contraction } from './spec.js';

/**
 * Large products, after Goto and van de Geijn, "Anatomy of high-performance matrix multiplication"
 * (2008): the operands are copied block by block into panels that lie in the order in which the
 * innermost loop reads them, and that loop keeps a tile of the result in registers.
 *
 * An `a` panel holds `rows` rows as `[k][rows]`, a `b` panel `columns` columns as `[k][columns]`. At the
 * edges panels are filled up: with repeated rows and columns, whose sums are dropped, and with zeros
 * along `k`, so that the innermost loop has one form only.
 */
export interface Blocking {
  /** Rows and vector registers across one register tile. */
  readonly rows: number;
  readonly vectors: number;
  /** Extents of the blocks that are packed at a time; the first two in whole tiles. */
  readonly blockRows: number;
  readonly blockColumns: number;
  readonly blockDepth: number;
  /** Steps along k in straight-line code. */
  readonly unroll: number;
}

const wideDTypes: Readonly<Record<Contraction['scalar'], DType>> = {
  f32: 'float32',
  f64: 'float64',
  i32: 'int32',
  i64: 'int64',
};

/** The loops over blocks; `batch` is one batch entry. */
export function contractPacked(spec: Contraction, blocking: Blocking): Stmt {
  return e.forLoop('batch', 0, spec.batch, (batch) =>
    new PackedProduct(spec, blocking, batch).loops(),
  );
}

class PackedProduct {
  readonly #spec: Contraction;
  readonly #blocking: Blocking;
  readonly #batch: Expr;
  readonly #lanes: number;
  readonly #columns: number;
  /** Extents of one full block, no larger than the matrices need. */
  readonly #blockRows: Expr;
  readonly #blockColumns: Expr;
  readonly #blockDepth: Expr;
  readonly #left: Buffer;
  readonly #right: Buffer;
  /** One register tile, for tiles that reach beyond the edge. */
  readonly #edge: Buffer;
  /** The sums of a block while k is worked off in several blocks; null where one block is enough. */
  readonly #sums: Buffer | null;

  constructor(spec: Contraction, blocking: Blocking, batch: Expr) {
    const { m, n, k, scalar, context } = spec;
    this.#spec = spec;
    this.#blocking = blocking;
    this.#batch = batch;
    this.#lanes = context.vectorBytes / e.scalarBytes(scalar);
    this.#columns = blocking.vectors * this.#lanes;
    this.#blockRows = lesser(roundUp(m, blocking.rows), blocking.blockRows);
    this.#blockColumns = lesser(roundUp(n, this.#columns), blocking.blockColumns);
    this.#blockDepth = lesser(roundUp(k, blocking.unroll), blocking.blockDepth);
    const scratch = (name: string, ...extents: readonly (Expr | number)[]): Buffer =>
      context.scratch(name, wideDTypes[scalar], product(...extents));
    this.#left = scratch('packedLeft', this.#blockRows, this.#blockDepth);
    this.#right = scratch('packedRight', this.#blockColumns, this.#blockDepth);
    this.#edge = scratch('edgeTile', blocking.rows, this.#columns);
    const depth = known(k);
    this.#sums =
      depth !== null && depth <= blocking.blockDepth
        ? null
        : scratch('partialSums', this.#blockRows, this.#blockColumns);
  }

  /** The block of `b` is packed again for every block of rows only where k takes several blocks. */
  loops(): Stmt {
    const { m, n, k } = this.#spec;
    const { blockRows, blockColumns, blockDepth } = this.#blocking;
    return e.forLoop(
      'columns',
      0,
      n,
      (j0) =>
        e.forLoop(
          'rows',
          0,
          m,
          (i0) => {
            const end = { i: upTo(i0, blockRows, m), j: upTo(j0, blockColumns, n) };
            const depthBlock = (k0: Expr, depth: Expr): Stmt => {
              const isStale = e.or(e.eq(i0, 0), e.gt(k, blockDepth));
              return e.block(
                known(k) !== null && known(k)! > blockDepth
                  ? this.#packRight(j0, end.j, k0, depth)
                  : e.ifThen(isStale, this.#packRight(j0, end.j, k0, depth)),
                this.#packLeft(i0, end.i, k0, depth),
                this.#tiles(i0, end.i, j0, end.j, k0, depth),
              );
            };
            if (this.#sums === null) return depthBlock(e.i32(0), k);
            // At least one block, so that with k = 0 the empty sums are stored.
            return e.forLoop(
              'depth',
              0,
              e.max(k, 1),
              (k0) => depthBlock(k0, e.sub(upTo(k0, blockDepth, k), k0)),
              { step: blockDepth },
            );
          },
          { step: blockRows },
        ),
      { step: blockColumns },
    );
  }

  /** Element `[k][row]` of a panel is in place `panel * depth + k * rows + row`. */
  #packLeft(i0: Expr, end: Expr, k0: Expr, depth: Expr): Stmt {
    const { rows, unroll } = this.#blocking;
    const { m, scalar } = this.#spec;
    const padded = roundUp(depth, unroll);
    return e.forLoop(
      'i',
      i0,
      end,
      (i) => {
        const panel = e.mul(e.sub(i, i0), padded);
        const from = indices(i, rows).map((row) =>
          divides(m, rows) ? row : lesser(row, e.sub(m, 1)),
        );
        const place = (k: Expr): Expr => e.add(panel, e.mul(k, rows));
        return e.block(
          e.forLoop('k', 0, depth, (k) =>
            e.block(
              ...from.map((row, r) =>
                e.store(
                  this.#left,
                  e.add(place(k), r),
                  this.#spec.a(this.#batch, row, e.add(k0, k)),
                ),
              ),
            ),
          ),
          e.forLoop('k', depth, padded, (k) =>
            e.block(
              ...indices(place(k), rows).map((at) =>
                e.store(this.#left, at, e.constant(scalar, 0)),
              ),
            ),
          ),
        );
      },
      { step: rows },
    );
  }

  #packRight(j0: Expr, end: Expr, k0: Expr, depth: Expr): Stmt {
    const { n, scalar } = this.#spec;
    const [lanes, columns] = [this.#lanes, this.#columns];
    const padded = roundUp(depth, this.#blocking.unroll);
    const vectorAt = (at: Expr): Expr => (lanes === 1 ? at : e.ramp(at, 1, lanes));
    const panel = (j: Expr, clamp: boolean): Stmt => {
      const place = (k: Expr): Expr => e.add(e.mul(e.sub(j, j0), padded), e.mul(k, columns));
      const from = indices(j, columns / lanes, lanes).map((start) => {
        const at = vectorAt(start);
        return clamp ? e.min(at, e.sub(n, 1)) : at;
      });
      return e.block(
        e.forLoop('k', 0, depth, (k) =>
          e.block(
            ...from.map((at, v) =>
              e.store(
                this.#right,
                vectorAt(e.add(place(k), v * lanes)),
                e.broadcast(this.#spec.b(this.#batch, e.add(k0, k), at), lanes),
              ),
            ),
          ),
        ),
        e.forLoop('k', depth, padded, (k) =>
          e.block(
            ...from.map((_, v) =>
              e.store(
                this.#right,
                vectorAt(e.add(place(k), v * lanes)),
                e.constant(scalar, 0, lanes),
              ),
            ),
          ),
        ),
      );
    };
    return e.forLoop(
      'j',
      j0,
      end,
      (j) =>
        divides(n, columns)
          ? panel(j, false)
          : e.ifThen(e.le(e.add(j, columns), n), panel(j, false), panel(j, true)),
      { step: columns },
    );
  }

  #tiles(i0: Expr, iEnd: Expr, j0: Expr, jEnd: Expr, k0: Expr, depth: Expr): Stmt {
    return e.forLoop(
      'j',
      j0,
      jEnd,
      (j) =>
        e.forLoop('i', i0, iEnd, (i) => this.#tile(i, e.sub(i, i0), j, e.sub(j, j0), k0, depth), {
          step: this.#blocking.rows,
        }),
      { step: this.#columns },
    );
  }

  /** One register tile: all its sums live in locals while a block of k is worked off. */
  #tile(i: Expr, row: Expr, j: Expr, column: Expr, k0: Expr, depth: Expr): Stmt {
    const { rows, vectors, unroll, blockDepth } = this.#blocking;
    const { scalar, k } = this.#spec;
    const [lanes, columns] = [this.#lanes, this.#columns];
    const vector = (name: string): Var => e.variable(name, scalar, lanes);
    const at = (start: Expr): Expr => (lanes === 1 ? start : e.ramp(start, 1, lanes));
    const sums = Array.from({ length: rows }, () =>
      Array.from({ length: vectors }, () => vector('sum')),
    );
    const padded = roundUp(depth, unroll);
    // Pointers that advance: whatever is added to them can be the constant offset of an access.
    const [left, right] = [e.variable('left', 'i32'), e.variable('right', 'i32')];
    const rightEnd = e.variable('rightEnd', 'i32');
    const step = (leftAt: Expr, rightAt: Expr): Stmt => {
      const b = Array.from({ length: vectors }, () => vector('b'));
      return e.block(
        ...b.map((value, v) =>
          e.declare(value, e.load(this.#right, at(e.add(rightAt, v * lanes)))),
        ),
        ...sums.flatMap((line, r) => {
          const a = vector('a');
          return [
            e.declare(a, e.broadcast(e.load(this.#left, e.add(leftAt, r)), lanes)),
            ...line.map((sum, v) => e.assign(sum, e.add(sum, e.mul(a, b[v])))),
          ];
        }),
      );
    };
    const saved = (r: number, v: number): Expr =>
      at(
        e.add(
          e.add(
            e.mul(row, this.#blockColumns),
            e.mul(column, rows), // tiles of one row of tiles follow each other
          ),
          r * columns + v * lanes,
        ),
      );
    const each = (visit: (sum: Var, r: number, v: number) => Stmt): Stmt[] =>
      sums.flatMap((line, r) => line.map((sum, v) => visit(sum, r, v)));
    const partial = this.#sums;
    const finish = this.#storeTile(i, j, sums);
    return e.block(
      ...each((sum) => e.declare(sum, e.constant(scalar, 0, lanes))),
      ...(partial === null
        ? []
        : [
            e.ifThen(
              e.gt(k0, 0),
              e.block(...each((sum, r, v) => e.assign(sum, e.load(partial, saved(r, v))))),
            ),
          ]),
      e.declare(left, e.mul(row, padded)),
      e.declare(right, e.mul(column, padded)),
      e.declare(rightEnd, e.add(right, e.mul(padded, columns))),
      e.whileLoop(
        e.lt(right, rightEnd),
        e.block(
          ...Array.from({ length: unroll }, (_, u) =>
            step(e.add(left, u * rows), e.add(right, u * columns)),
          ),
          e.assign(left, e.add(left, unroll * rows)),
          e.assign(right, e.add(right, unroll * columns)),
        ),
      ),
      partial === null
        ? finish
        : e.ifThen(
            e.ge(e.add(k0, blockDepth), k),
            finish,
            e.block(...each((sum, r, v) => e.store(partial, saved(r, v), sum))),
          ),
    );
  }

  /** Tiles inside the result are stored from registers, others through memory, as far as they reach. */
  #storeTile(i: Expr, j: Expr, sums: readonly (readonly Var[])[]): Stmt {
    const { rows } = this.#blocking;
    const { m, n, store } = this.#spec;
    const [lanes, columns] = [this.#lanes, this.#columns];
    const at = (start: Expr): Expr => (lanes === 1 ? start : e.ramp(start, 1, lanes));
    const inside = e.block(
      ...indices(i, rows).flatMap((row, r) =>
        indices(j, columns / lanes, lanes).map((start, v) =>
          store(this.#batch, row, at(start), sums[r][v]),
        ),
      ),
    );
    if (divides(m, rows) && divides(n, columns)) return inside;
    const edge = this.#edge;
    const some = e.block(
      ...sums.flatMap((line, r) =>
        line.map((sum, v) => e.store(edge, at(e.i32(r * columns + v * lanes)), sum)),
      ),
      e.forLoop('r', 0, e.min(e.sub(m, i), rows), (r) => {
        const reach = e.min(e.sub(n, j), columns);
        const whole = e.sub(reach, e.rem(reach, lanes));
        const copy = (c: Expr, index: (start: Expr) => Expr): Stmt =>
          store(
            this.#batch,
            e.add(i, r),
            index(e.add(j, c)),
            e.load(edge, index(e.add(e.mul(r, columns), c))),
          );
        return e.block(
          e.forLoop('c', 0, whole, (c) => copy(c, at), { step: lanes }),
          e.forLoop('c', whole, reach, (c) => copy(c, (start) => start)),
        );
      }),
    );
    const fits = e.and(e.le(e.add(i, rows), m), e.le(e.add(j, columns), n));
    return e.ifThen(fits, inside, some);
  }
}

/** Where a block that starts at `start` ends. */
function upTo(start: Expr, step: number, extent: Expr): Expr {
  const size = known(extent);
  return size !== null && size <= step ? extent : e.min(e.add(start, step), extent);
}

function divides(size: Expr, step: number): boolean {
  const value = known(size);
  return value !== null && value % step === 0;
}
