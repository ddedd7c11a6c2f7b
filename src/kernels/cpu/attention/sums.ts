import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { type BlockSums, addBlock, blockTerms, carriedSum } from '../gemm/blocks.js'; // prettier-ignore
import { shortTerms } from '../../contraction/long-sums.js';
import { isWithin } from '../../contraction/sizes.js';
import type { Heads } from './heads.js';

/**
 * A table of sums to which products of a few terms each are added: compensated where they are many (decision
 * 46).
 */
export class SumTable {
  readonly #buffer: Buffer;
  readonly #columns: Expr;
  readonly #carry: Expr | null;

  /** `terms` is the number of terms of all products that are added to an element. */
  constructor(heads: Heads, name: string, rows: Expr, columns: Expr, terms: Expr) {
    const isLong = !isWithin(terms, shortTerms);
    this.#buffer = heads.scratch(name, rows, columns, isLong ? 2 : 1);
    this.#columns = columns;
    this.#carry = isLong ? e.mul(rows, columns) : null;
  }

  /** Zeroes the sums of the first rows. */
  clear(rows: Expr): Stmt {
    const length = e.mul(rows, this.#columns);
    const zero = e.constant(e.loadedScalar(this.#buffer.storage), 0);
    const zeros = (start: Expr): Stmt =>
      e.forLoop('at', 0, length, (at) => e.store(this.#buffer, e.add(start, at), zero), {
        mode: 'vector',
      });
    const carry = this.#carry;
    return carry === null ? zeros(e.i32(0)) : e.block(zeros(e.i32(0)), zeros(carry));
  }

  add(row: Expr, column: Expr, value: Expr): Stmt {
    const at = this.#place(row, column);
    if (this.#carry === null)
      return e.store(this.#buffer, at, e.add(e.load(this.#buffer, at), value));
    const memory: BlockSums = { buffer: this.#buffer, carry: this.#carry };
    const term = e.variable('term', value.type.scalar, value.type.lanes);
    return e.block(e.declare(term, value), addBlock(memory, at, term));
  }

  at(row: Expr, column: Expr): Expr {
    const at = this.#place(row, column);
    const sum = e.load(this.#buffer, at);
    if (this.#carry === null) return sum;
    return e.add(sum, e.load(this.#buffer, e.add(at, this.#carry)));
  }

  #place(row: Expr, column: Expr): Expr {
    return e.add(e.mul(row, this.#columns), column);
  }
}

/** The sum of the vectors of a row in order: in blocks where they are many (decision 46). */
export class RowSum {
  readonly begin: readonly Stmt[];
  /** After all vectors. */
  readonly finish: readonly Stmt[];
  readonly total: Expr;
  readonly #sum: Var;
  readonly #carry: Var | null;
  readonly #lanes: number;

  /** `length` is the greatest number of elements of a row. */
  constructor(scalar: 'f32' | 'f64', lanes: number, length: Expr) {
    const zero = e.constant(scalar, 0, lanes);
    this.#lanes = lanes;
    this.#sum = e.variable('sum', scalar, lanes);
    this.#carry = isWithin(length, shortTerms) ? null : e.variable('carry', scalar, lanes);
    const carry = this.#carry;
    if (carry === null) {
      this.begin = [e.declare(this.#sum, zero)];
      this.finish = [];
    } else {
      this.begin = [e.declare(this.#sum, zero), e.declare(carry, zero)];
      this.finish = [e.assign(this.#sum, e.add(this.#sum, carry))];
    }
    this.total = lanesIn(this.#sum).reduce((a, b) => e.add(a, b));
  }

  /**
   * Covers a row of whole vectors from `start`; `body` gets their positions, and a function that adds to the
   * sum.
   */
  over(start: Expr, length: Expr, body: (at: Expr, add: (value: Expr) => Stmt) => Stmt): Stmt {
    const [sum, carry, lanes] = [this.#sum, this.#carry, this.#lanes];
    const addTo =
      (to: Var) =>
      (value: Expr): Stmt =>
        e.assign(to, e.add(to, value));
    if (carry === null) return overRow(start, length, lanes, (at) => body(at, addTo(sum)));
    const step = lanes * blockTerms;
    return e.forLoop(
      'block',
      0,
      length,
      (from) => {
        const block = e.variable('block', sum.type.scalar, lanes);
        const next = carriedSum(block, sum, carry);
        return e.block(
          e.declare(block, e.constant(sum.type.scalar, 0, lanes)),
          overRow(e.add(start, from), e.min(e.sub(length, from), step), lanes, (at) =>
            body(at, addTo(block)),
          ),
          ...next.compute,
          e.assign(carry, next.carry),
          e.assign(sum, next.total),
        );
      },
      { step },
    );
  }
}

/** Vectors of a row from `start`, `length` elements in whole vectors. */
export function overRow(start: Expr, length: Expr, lanes: number, body: (at: Expr) => Stmt): Stmt {
  return e.forLoop(
    'at',
    0,
    length,
    (at) => {
      const first = e.add(start, at);
      return body(lanes === 1 ? first : e.ramp(first, 1, lanes));
    },
    { step: lanes },
  );
}

export function lanesIn(vector: Expr): readonly Expr[] {
  return Array.from({ length: vector.type.lanes }, (_, lane) => e.extract(vector, lane));
}
