import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Stmt } from '../../../loop/language/nodes.js';
import { divides } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';
import { highOf, invocationsOf, pitchOf, type ProductTile, wideOf } from './tile.js';

/*
 * Parts of both operands in memory of a workgroup: of the left one some steps for each row, of the right one all
 * columns for each step. Loads are clamped to the operand, and what is beyond its end along `k` is 0.
 */

/** Rows of the left operand, four steps of which are neighbors in memory. */
export class LeftPanel {
  readonly #operand: Pick<Contraction, 'a' | 'm' | 'k' | 'scalar'>;
  readonly #tile: ProductTile;
  readonly #memory: Buffer;
  readonly #isAlong: boolean;

  /** `isAlong`: steps along `k` are neighbors in the operand. The panel is at the start of `memory`. */
  constructor(
    operand: Pick<Contraction, 'a' | 'm' | 'k' | 'scalar'>,
    tile: ProductTile,
    memory: Buffer,
    isAlong: boolean,
  ) {
    this.#operand = operand;
    this.#tile = tile;
    this.#memory = memory;
    this.#isAlong = isAlong;
  }

  /** Four steps of a row. */
  at(row: Expr, kk: Expr): Expr {
    return e.load(this.#memory, this.#place(row, kk));
  }

  fill(own: Expr, entry: Expr, i0: Expr, k0: Expr): Stmt {
    const { a, m, k, scalar } = this.#operand;
    const { depth } = this.#tile;
    const [high, quads] = [highOf(this.#tile), depth / lanes];
    return byAll(this.#tile, own, high * quads, (flat) => {
      const [low, rest] = placeAndPart(flat, this.#isAlong ? quads : high);
      const [row, quad] = this.#isAlong ? [rest, low] : [low, rest];
      const [kk, i] = [e.mul(quad, lanes), clamped(e.add(i0, row), m, high, 1)];
      const at = e.add(k0, kk);
      const zeros = e.constant(scalar, 0, lanes);
      const value = ((): Expr => {
        if (divides(k, depth)) return a(entry, i, e.ramp(at, 1, lanes));
        if (divides(k, lanes)) {
          const inside = a(entry, i, e.ramp(clamped(at, k, depth, lanes), 1, lanes));
          return e.select(e.lt(at, k), inside, zeros);
        }
        const steps = e.ramp(at, 1, lanes);
        return e.select(e.lt(steps, k), a(entry, i, e.min(steps, e.sub(k, 1))), zeros);
      })();
      return e.store(this.#memory, this.#place(row, kk), e.broadcast(value, lanes));
    });
  }

  #place(row: Expr, kk: Expr): Expr {
    return e.ramp(e.add(e.mul(row, pitchOf(this.#tile)), kk), 1, lanes);
  }
}

/** Orders of the columns of the right operand. */
export interface ColumnOrder {
  /** Distance of the columns of a vector. */
  readonly distance: number;
  /** True where columns are neighbors in the operand. */
  readonly isAcross: boolean;
}

/** Banks of a workgroup's memory, in vectors. */
const banks = 8;

/**
 * Columns of the right operand, vectors of which are together in memory. Where neighbors in the operand are steps, the
 * vectors of a step are exchanged by its number, so that invocations beside each other, which store steps beside each
 * other, store to different banks.
 */
export class RightPanel {
  readonly #operand: Pick<Contraction, 'b' | 'n' | 'k' | 'scalar'>;
  readonly #tile: ProductTile;
  readonly #memory: Buffer;
  readonly #base: number;
  readonly #order: ColumnOrder;

  /** The panel begins at element `base` of `memory`. */
  constructor(
    operand: Pick<Contraction, 'b' | 'n' | 'k' | 'scalar'>,
    tile: ProductTile,
    memory: Buffer,
    base: number,
    order: ColumnOrder,
  ) {
    this.#operand = operand;
    this.#tile = tile;
    this.#memory = memory;
    this.#base = base;
    this.#order = order;
  }

  /** The columns of a vector at one step. */
  at(vector: Expr, kk: Expr): Expr {
    return e.load(this.#memory, this.#place(vector, kk));
  }

  fill(own: Expr, entry: Expr, j0: Expr, k0: Expr): Stmt {
    const { b, n, k, scalar } = this.#operand;
    const { across, depth } = this.#tile;
    const { distance, isAcross } = this.#order;
    const wide = wideOf(this.#tile);
    const quads = wide / lanes;
    return byAll(this.#tile, own, depth * quads, (flat) => {
      const [low, rest] = placeAndPart(flat, isAcross ? quads : depth);
      const [vector, kk] = isAcross ? [low, rest] : [rest, low];
      const at = e.add(k0, kk);
      const step = clamped(at, k, depth, 1);
      const columns = ((): Expr => {
        if (distance === 1) {
          const first = e.add(j0, e.mul(vector, lanes));
          return e.ramp(clamped(first, n, wide, lanes), 1, lanes);
        }
        const block = e.mul(e.shr(vector, Math.log2(across)), across * lanes);
        const first = e.add(j0, e.add(e.and(vector, across - 1), block));
        return clamped(e.ramp(first, distance, lanes), n, wide, 1);
      })();
      const value = b(entry, step, columns);
      const inside = divides(k, depth) ? value : e.select(e.lt(at, k), value, e.constant(scalar, 0)); // prettier-ignore
      return e.store(this.#memory, this.#place(vector, kk), e.broadcast(inside, lanes));
    });
  }

  #place(vector: Expr, kk: Expr): Expr {
    const mask = Math.min(this.#tile.across, banks) - 1;
    const own = this.#order.isAcross ? vector : e.xor(vector, e.and(kk, mask));
    const line = e.add(e.mul(kk, wideOf(this.#tile)), e.mul(own, lanes));
    return e.ramp(e.add(line, this.#base), 1, lanes);
  }
}

/** Vectors of a panel, by all invocations. */
function byAll(tile: ProductTile, own: Expr, count: number, each: (flat: Expr) => Stmt): Stmt {
  const invocations = invocationsOf(tile);
  const guarded = (flat: Expr): Stmt => count % invocations === 0 ? each(flat) : e.ifThen(e.lt(flat, count), each(flat)); // prettier-ignore
  if (count <= invocations) return guarded(own);
  return e.forLoop('part', 0, Math.ceil(count / invocations), (part) =>
    guarded(e.add(own, e.mul(part, invocations))),
  );
}

/** A number by a size: its place in a part, and the part. */
export function placeAndPart(flat: Expr, size: number): readonly [Expr, Expr] {
  const bits = Math.log2(size);
  if (Number.isInteger(bits)) return [e.and(flat, size - 1), e.shr(flat, bits)];
  return [e.rem(flat, size), e.div(flat, size)];
}

/** Indices that stay inside of an extent, of which `step` is what a tile covers and `size` what is read at once. */
function clamped(index: Expr, extent: Expr, step: number, size: number): Expr {
  return divides(extent, step) ? index : e.min(index, e.sub(extent, size));
}
