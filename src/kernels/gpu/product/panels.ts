import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Stmt } from '../../../loop/language/nodes.js';
import { divides } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';
import { highOf, invocationsOf, panelElements, pitchOf, type ProductTile, wideOf } from './tile.js';

/** Orders of elements in memory. */
export interface PanelOrder {
  /** Distance of the columns of a vector. */
  readonly distance: number;
  /** True where steps along `k` are neighbors in the left operand. */
  readonly isAlongLeft: boolean;
  /** True where columns are neighbors in the right operand. */
  readonly isAcrossRight: boolean;
}

/**
 * Parts of both operands in memory of a workgroup: of the left one some steps for each row, of the right one all
 * columns for each step. Loads are clamped to the operand, and what is beyond its end along `k` is 0.
 */
export class Panels {
  readonly #spec: Contraction;
  readonly #tile: ProductTile;
  readonly #order: PanelOrder;
  readonly #high: number;
  readonly #wide: number;

  constructor(spec: Contraction, tile: ProductTile, order: PanelOrder) {
    this.#spec = spec;
    this.#tile = tile;
    this.#order = order;
    this.#high = highOf(tile);
    this.#wide = wideOf(tile);
  }

  get length(): number {
    return panelElements(this.#tile);
  }

  /** Four steps of a row. */
  left(memory: Buffer, row: Expr, kk: Expr): Expr {
    return e.load(memory, this.#leftAt(row, kk));
  }

  /** The columns of a vector at one step. */
  right(memory: Buffer, vector: Expr, kk: Expr): Expr {
    return e.load(memory, this.#rightAt(vector, kk));
  }

  fillLeft(memory: Buffer, own: Expr, entry: Expr, i0: Expr, k0: Expr): Stmt {
    const { a, m, k, scalar } = this.#spec;
    const { depth } = this.#tile;
    const [high, quads] = [this.#high, depth / lanes];
    return this.#fill(own, high * quads, (flat) => {
      const [row, quad] = this.#order.isAlongLeft
        ? [e.shr(flat, Math.log2(quads)), e.and(flat, quads - 1)]
        : [e.and(flat, high - 1), e.shr(flat, Math.log2(high))];
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
      return e.store(memory, this.#leftAt(row, kk), e.broadcast(value, lanes));
    });
  }

  fillRight(memory: Buffer, own: Expr, entry: Expr, j0: Expr, k0: Expr): Stmt {
    const { b, n, k, scalar } = this.#spec;
    const { across, depth } = this.#tile;
    const { distance, isAcrossRight } = this.#order;
    const quads = this.#wide / lanes;
    return this.#fill(own, depth * quads, (flat) => {
      const [vector, kk] = isAcrossRight
        ? [e.and(flat, quads - 1), e.shr(flat, Math.log2(quads))]
        : [e.shr(flat, Math.log2(depth)), e.and(flat, depth - 1)];
      const at = e.add(k0, kk);
      const step = clamped(at, k, depth, 1);
      const columns = ((): Expr => {
        if (distance === 1) {
          const first = e.add(j0, e.mul(vector, lanes));
          return e.ramp(clamped(first, n, this.#wide, lanes), 1, lanes);
        }
        const block = e.mul(e.shr(vector, Math.log2(across)), across * lanes);
        const first = e.add(j0, e.add(e.and(vector, across - 1), block));
        return clamped(e.ramp(first, distance, lanes), n, this.#wide, 1);
      })();
      const value = b(entry, step, columns);
      const inside = divides(k, depth) ? value : e.select(e.lt(at, k), value, e.constant(scalar, 0)); // prettier-ignore
      return e.store(memory, this.#rightAt(vector, kk), e.broadcast(inside, lanes));
    });
  }

  #leftAt(row: Expr, kk: Expr): Expr {
    return e.ramp(e.add(e.mul(row, pitchOf(this.#tile)), kk), 1, lanes);
  }

  #rightAt(vector: Expr, kk: Expr): Expr {
    const line = e.add(e.mul(kk, this.#wide), e.mul(vector, lanes));
    return e.ramp(e.add(line, this.#high * pitchOf(this.#tile)), 1, lanes);
  }

  /** Vectors of a panel, by all invocations. */
  #fill(own: Expr, count: number, each: (flat: Expr) => Stmt): Stmt {
    const invocations = invocationsOf(this.#tile);
    if (count < invocations) return e.ifThen(e.lt(own, count), each(own));
    const times = count / invocations;
    if (times === 1) return each(own);
    return e.forLoop('part', 0, times, (part) => each(e.add(own, e.mul(part, invocations))));
  }
}

/** Indices that stay inside of an extent, of which `step` is what a tile covers and `size` what is read at once. */
function clamped(index: Expr, extent: Expr, step: number, size: number): Expr {
  return divides(extent, step) ? index : e.min(index, e.sub(extent, size));
}
