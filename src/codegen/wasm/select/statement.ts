import type { Buffer, Expr, Var } from '../../../loop/language/nodes.js';
import type { AddressScalar } from '../../../loop/language/target.js';
import { type Instr, InstrPool } from '../encoding/instr.js';
import { analyzeLinear } from './linear.js';
import { selectMask, storedWidth, widenMask } from './masks.js';
import { selectScalar } from './scalar.js';
import { type LinearIndex, type Mask, type Selector, valueType } from './selector.js';
import { selectVector } from './vector.js';

/** Storage of a variable or of the address of a buffer. */
export interface Home {
  readonly local: number;
  readonly nonNegative: boolean;
}

/** The homes that are in scope. */
export interface LocalScope {
  variable(variable: Var): Home;
  buffer(buffer: Buffer): Home;
}

/**
 * Instruction selection for one statement. Between the statement's instructions nothing is assigned and
 * nothing is stored, so equal instructions have equal values and are one object.
 */
export class StatementSelector implements Selector {
  readonly pool: InstrPool = new InstrPool();
  readonly addresses: AddressScalar;
  readonly #scope: LocalScope;
  readonly #lowered: Map<Expr, Instr> = new Map();
  // Few statements have any: made when there is the first.
  #masks: Map<Expr, Mask> | null = null;
  #linear: Map<Expr, LinearIndex | null> | null = null;

  constructor(scope: LocalScope, addresses: AddressScalar) {
    this.#scope = scope;
    this.addresses = addresses;
  }

  /** The value as it is kept in locals and passed to kernels. */
  value(expr: Expr): Instr {
    const { scalar, lanes } = expr.type;
    if (scalar !== 'bool' || lanes === 1) return this.lower(expr);
    return widenMask(this, this.mask(expr), storedWidth(expr.type));
  }

  lower(expr: Expr): Instr {
    let instr = this.#lowered.get(expr);
    if (instr === undefined) this.#lowered.set(expr, (instr = this.#select(expr)));
    return instr;
  }

  mask(expr: Expr): Mask {
    const masks = (this.#masks ??= new Map<Expr, Mask>());
    let mask = masks.get(expr);
    if (mask === undefined) masks.set(expr, (mask = selectMask(this, expr)));
    return mask;
  }

  linear(expr: Expr): LinearIndex | null {
    const known = (this.#linear ??= new Map<Expr, LinearIndex | null>());
    let linear = known.get(expr);
    if (linear === undefined) known.set(expr, (linear = analyzeLinear(this, expr)));
    return linear;
  }

  base(buffer: Buffer): Instr {
    const { local, nonNegative } = this.#scope.buffer(buffer);
    return this.pool.get(local, this.addresses, nonNegative);
  }

  #select(expr: Expr): Instr {
    if (expr.kind === 'var') {
      const { local, nonNegative } = this.#scope.variable(expr);
      return this.pool.get(local, valueType(expr.type), nonNegative);
    }
    return expr.type.lanes === 1 ? selectScalar(this, expr) : selectVector(this, expr);
  }
}
