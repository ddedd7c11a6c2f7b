import type { BinaryOp, Buffer, Expr, ExprType, UnaryOp, Var } from '../language/nodes.js';
import { children } from '../language/visit.js';

/** Hash consing: makes structurally equal expressions one object, so that identity decides equality. */
export class Interner {
  readonly #numbers: Map<Expr | Buffer, number> = new Map();
  /** By a hash of operation and operands; with open addressing. */
  readonly #known: Map<number, Expr> = new Map();

  /** The one object equal to `expr`, whose operands must be interned already. */
  intern(expr: Expr): Expr {
    if (this.#numbers.has(expr)) return expr;
    if (expr.kind !== 'var') {
      const operands = children(expr);
      let hash = operationHash(expr);
      for (let i = 0; i < operands.length; i++) hash = mixed(hash, this.number(operands[i]));
      for (;;) {
        const known = this.#known.get(hash);
        if (known === undefined) break;
        if (isSameOperation(known, expr) && haveSameElements(children(known), operands))
          return known;
        hash = (hash + 1) | 0;
      }
      this.#known.set(hash, expr);
    }
    this.number(expr);
    return expr;
  }

  /** A unique number of an object; earlier objects have smaller ones. */
  number(of: Expr | Buffer | Var): number {
    let number = this.#numbers.get(of);
    if (number === undefined) this.#numbers.set(of, (number = this.#numbers.size));
    return number;
  }
}

export function haveSameElements<T>(a: readonly T[], b: readonly T[]): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return a.length === b.length;
}

/** Combines a hash with a number; 31 bits, which engines hold without allocation. */
export function mixed(hash: number, number: number): number {
  const product = Math.imul(hash ^ number, 0x9e3779b1);
  return (product ^ (product >>> 15)) >> 1;
}

/** No operation has the name of a kind. */
const codes: Readonly<Record<UnaryOp | BinaryOp | Exclude<Expr['kind'], 'unary' | 'binary'>, number>> = {
  neg: 1, abs: 2, sqrt: 3, floor: 4, ceil: 5, trunc: 6, nearest: 7, not: 8, add: 9, sub: 10, mul: 11, div: 12, rem: 13, min: 14,
  max: 15, and: 16, or: 17, xor: 18, shl: 19, shr: 20, shrU: 21, eq: 22, ne: 23, lt: 24, le: 25, gt: 26, ge: 27,
  const: 28, var: 29, select: 30, cast: 31, bitcast: 32, load: 33, ramp: 34, broadcast: 35, extract: 36,
}; // prettier-ignore

const scalars: Readonly<Record<ExprType['scalar'], number>> = { f32: 1, f64: 2, i32: 3, i64: 4, bool: 5 }; // prettier-ignore

/**
 * A number for the kind, operation and type of a node: everything except operands, the value of a constant,
 * the buffer of a load and the lane of an extract. At least 512.
 */
export function operationCode(expr: Expr): number {
  const code = codes[expr.kind === 'unary' || expr.kind === 'binary' ? expr.op : expr.kind];
  return code + 64 * scalars[expr.type.scalar] + 512 * expr.type.lanes;
}

/** Equal for operations that are the same by `isSameOperation`. */
export function operationHash(expr: Expr): number {
  const code = operationCode(expr);
  if (expr.kind === 'const') return mixed(code, valueHash(expr.value));
  return expr.kind === 'extract' ? mixed(code, expr.lane) : code;
}

function valueHash(value: number | bigint): number {
  if (typeof value === 'bigint') return Number(BigInt.asIntN(31, value));
  // Small fractions and large exponents both affect the low 32 bits of one of these.
  return (value | 0) ^ ((value * 0x10000001) | 0) ^ ((value * 2 ** -31) | 0);
}

/** True when two nodes perform the same operation, regardless of operands. Not for variables. */
export function isSameOperation(a: Expr, b: Expr): boolean {
  if (a.kind !== b.kind || a.type !== b.type) return false;
  switch (a.kind) {
    case 'unary':
    case 'binary':
      return a.op === (b as typeof a).op;
    case 'const':
      return Object.is(a.value, (b as typeof a).value);
    case 'extract':
      return a.lane === (b as typeof a).lane;
    case 'load':
      return a.buffer === (b as typeof a).buffer;
    default:
      return true;
  }
}
