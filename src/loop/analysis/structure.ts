import { operationCode } from './intern.js';
import type { Buffer, Const, Expr, Kernel, Stmt, ElementKind, Var } from '../language/nodes.js';
import { children, ownExprs, ownStmts, visitNew } from '../language/visit.js';

/**
 * A string that is equal for two kernels only if they do the same to their parameters in the same way: all
 * but names is encoded. Linear in the distinct nodes of the kernel. It distinguishes whether an expression
 * that occurs twice is one object, which a lowering does in the same way each time. Null for a kernel that
 * calls others, has workgroups, or whose ranges have not been divided.
 */
export function structureOf(kernel: Kernel): string | null {
  const skeleton = skeletonOf(kernel);
  if (skeleton === null) return null;
  let values = '';
  for (const { value } of skeleton.constants) values += ` ${Number(value)}`;
  return `${skeleton.text}${values}`;
}

/** Structure of kernels up to the values of scalar i32 constants. */
export interface Skeleton {
  /** The structure without those values. */
  readonly text: string;
  /** The omitted constants, in an order that kernels of one skeleton share. */
  readonly constants: readonly Const[];
}

/** The skeleton of a kernel; null where its structure is. Computed once for each object. */
export function skeletonOf(kernel: Kernel): Skeleton | null {
  let skeleton = skeletons.get(kernel);
  if (skeleton === undefined) {
    const constants: Const[] = [];
    const text = new StructureWriter(constants).write(kernel);
    skeletons.set(kernel, (skeleton = text === null ? null : { text, constants }));
  }
  return skeleton;
}

const skeletons = new WeakMap<Kernel, Skeleton | null>();

const storages: Readonly<Record<ElementKind, number>> = { f32: 1, f64: 2, i32: 3, i64: 4, i8: 5, u8: 6, u16: 7 }; // prettier-ignore
const modes = { serial: 1, vector: 2, unroll: 3 } as const;
/** Below the codes of expressions, so that an item's first number tells what follows. */
const heads = {
  end: 1, block: 2, for: 3, while: 4, if: 5, declare: 6, assign: 7, store: 8, buffer: 9, barrier: 10,
} as const; // prettier-ignore

/**
 * Encodes a kernel as numbers that could be decoded. Variables, buffers and expressions are numbered in order
 * of appearance; each is written once, before its first use.
 */
class StructureWriter {
  readonly #units: number[] = [];
  readonly #numbers: Map<Expr | Buffer, number> = new Map();
  /** Receives the scalar i32 constants in the place of their values. */
  readonly #leftOut: Const[];

  constructor(leftOut: Const[]) {
    this.#leftOut = leftOut;
  }

  write(kernel: Kernel): string | null {
    for (const param of kernel.params) this.#leaf(param);
    return this.#stmt(kernel.body) ? textOf(this.#units) : null;
  }

  /** A number below 65535 takes one unit. */
  #put(number: number): void {
    if (number < 0xffff) this.#units.push(number);
    else this.#units.push(0xffff, number >>> 16, number & 0xffff);
  }

  #leaf(of: Var | Buffer): number {
    let number = this.#numbers.get(of);
    if (number === undefined) {
      this.#numbers.set(of, (number = this.#numbers.size));
      if (of.kind === 'var') this.#put(operationCode(of));
      else this.#units.push(heads.buffer, storages[of.storage]);
    }
    return number;
  }

  /** False when there is a call, a range or a workgroup in it. */
  #stmt(stmt: Stmt): boolean {
    if (stmt.kind === 'call' || stmt.kind === 'parallel' || stmt.kind === 'workgroups')
      return false;
    if (stmt.kind === 'workgroup barrier') return false;
    const operands = ownExprs(stmt);
    visitNew(operands, this.#numbers, this.#expr);
    const bound = 'variable' in stmt ? this.#leaf(stmt.variable) : 0;
    this.#units.push(heads[stmt.kind]);
    for (let i = 0; i < operands.length; i++) this.#put(this.#numbers.get(operands[i])!);
    if (stmt.kind === 'for') {
      this.#units.push(modes[stmt.mode]);
      this.#put(stmt.step);
    } else if (stmt.kind === 'store') this.#put(this.#leaf(stmt.buffer));
    else if (stmt.kind === 'barrier') this.#put(this.#leaf(stmt.meeting));
    if ('variable' in stmt) this.#put(bound);
    const inside = ownStmts(stmt);
    if (inside.length === 0 && stmt.kind !== 'block') return true;
    for (let i = 0; i < inside.length; i++) if (!this.#stmt(inside[i])) return false;
    this.#units.push(heads.end);
    return true;
  }

  readonly #expr = (expr: Expr): void => {
    if (expr.kind === 'var') {
      this.#leaf(expr);
      return;
    }
    const buffer = expr.kind === 'load' ? this.#leaf(expr.buffer) : 0;
    this.#put(operationCode(expr));
    if (expr.kind === 'const') this.#constant(expr);
    else {
      const operands = children(expr);
      for (let i = 0; i < operands.length; i++) this.#put(this.#numbers.get(operands[i])!);
    }
    if (expr.kind === 'load') this.#put(buffer);
    else if (expr.kind === 'extract') this.#put(expr.lane);
    this.#numbers.set(expr, this.#numbers.size);
  };

  #constant(constant: Const): void {
    const { type, value } = constant;
    if (type.scalar === 'i32' && type.lanes === 1) {
      this.#leftOut.push(constant);
      return;
    }
    if (typeof value === 'bigint') bits.setBigInt64(0, value);
    else bits.setFloat64(0, value);
    for (let at = 0; at < 8; at += 2) this.#units.push(bits.getUint16(at));
  }
}

const bits = new DataView(new ArrayBuffer(8));

/** In pieces, since the number of arguments of a call is limited. */
function textOf(units: readonly number[]): string {
  let text = '';
  for (let at = 0; at < units.length; at += 4096) {
    text += String.fromCharCode(...units.slice(at, at + 4096));
  }
  return text;
}
