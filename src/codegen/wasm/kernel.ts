import { unreachable } from '../../base/unreachable.js';
import * as e from '../../loop/language/build.js';
import { accumulationOf } from '../../loop/language/accumulation.js';
import type { Assign, Barrier, CallStmt, Const, Expr, For, If, Kernel, Load, Stmt, Var, While } from '../../loop/language/nodes.js'; // prettier-ignore
import type { AddressScalar } from '../../loop/language/target.js';
import { assignedVariables, refuseRange } from '../../loop/language/visit.js';
import { writeBarrier } from './encoding/barrier.js';
import { ByteWriter } from './encoding/bytes.js';
import { type Instr, writeInstr, writeMemoryInstr } from './encoding/instr.js';
import { Locals } from './locals.js';
import { selectStore } from './select/memory.js';
import { controlOpcodes, emptyBlock, opcodes, type ValueType } from './encoding/opcodes.js';
import { instr, valueType } from './select/selector.js';
import { StatementSelector } from './select/statement.js';
import { isKnownToRun } from './encoding/trips.js';
import { vectorAccumulation } from './select/vector.js';

export interface KernelOptions {
  /** True where a product may be added to a sum with one rounding. */
  readonly relaxed: boolean;
  readonly addresses: AddressScalar;
  /** The number of a kernel in the module's function index space. */
  functionOf(kernel: Kernel): number;
}

/** The types of a kernel's parameters; buffers are byte addresses. */
export function parameterTypes(kernel: Kernel, addresses: AddressScalar): readonly ValueType[] {
  return kernel.params.map((param) =>
    param.kind === 'buffer' ? addresses : valueType(param.type),
  );
}

/** A kernel as a function body: its locals, then its code. */
export function encodeKernel(kernel: Kernel, options: KernelOptions): Uint8Array {
  return new KernelPrinter(kernel, options).print();
}

class KernelPrinter {
  readonly #kernel: Kernel;
  readonly #options: KernelOptions;
  readonly #locals: Locals;
  readonly #code: ByteWriter = new ByteWriter(1024);
  /** Runs first: sets the locals of `#constants`. */
  readonly #prologue: ByteWriter = new ByteWriter();
  readonly #constants: Map<string, number> = new Map();
  #loopDepth = 0;
  /** Of the loops around, by their variables, where neither changes. */
  readonly #ends: Map<Var, Expr> = new Map();
  readonly #assigned: ReadonlySet<Var>;

  constructor(kernel: Kernel, options: KernelOptions) {
    this.#kernel = kernel;
    this.#options = options;
    this.#locals = new Locals(kernel.name);
    this.#assigned = assignedVariables(kernel.body);
  }

  print(): Uint8Array {
    const types = parameterTypes(this.#kernel, this.#options.addresses);
    this.#kernel.params.forEach((param, i) => this.#locals.parameter(param, types[i]));
    this.#scoped(this.#kernel.body);
    this.#code.u8(controlOpcodes.end);
    const body = new ByteWriter(this.#code.length + this.#prologue.length + 64);
    this.#locals.write(body);
    body.append(this.#prologue.bytes);
    body.append(this.#code.bytes);
    return body.bytes;
  }

  #statement(stmt: Stmt): void {
    switch (stmt.kind) {
      case 'block': {
        stmt.body.forEach((inner) => this.#statement(inner));
        return stmt.body.forEach((inner) => this.#endScope(inner));
      }
      case 'for':
        return this.#for(stmt);
      case 'while':
        return this.#while(stmt);
      case 'if':
        return this.#if(stmt);
      case 'declare': {
        const { nonNegative } = this.#push(stmt.value);
        this.#set(this.#introduce(stmt.variable, nonNegative));
        return;
      }
      case 'assign':
        return this.#assign(stmt);
      case 'store':
        return this.#emit((s) => selectStore(s, stmt));
      case 'call':
        return this.#call(stmt);
      case 'barrier':
        return this.#barrier(stmt);
      case 'parallel':
      case 'workgroups':
      case 'workgroup barrier':
        return refuseRange(stmt);
      default:
        return unreachable(stmt);
    }
  }

  #assign(stmt: Assign): void {
    const { variable, value } = stmt;
    const isVector = variable.type.lanes > 1;
    const accumulation = this.#options.relaxed && isVector ? accumulationOf(stmt) : null;
    if (accumulation === null) this.#push(value);
    else this.#emit((s) => [vectorAccumulation(s, variable, accumulation)]);
    this.#set(this.#locals.variable(variable).local);
  }

  /** Bottom-tested, so that one iteration costs one branch. */
  #for({ variable, begin, end, step, body }: For): void {
    const { nonNegative } = this.#push(begin);
    const local = this.#introduce(variable, nonNegative);
    this.#set(local);
    const limit = this.#limit(end);
    this.#open(controlOpcodes.block);
    if (!isKnownToRun(begin, end, this.#ends)) {
      this.#get(local);
      this.#push(limit);
      this.#code.u8(opcodes['i32.ge_s']);
      this.#branchIf(0);
    }
    this.#open(controlOpcodes.loop);
    this.#loopDepth++;
    const isFixed = limit === end && !this.#assigned.has(variable);
    if (isFixed) this.#ends.set(variable, end);
    this.#scoped(body);
    this.#ends.delete(variable);
    this.#get(local);
    this.#push(e.i32(step));
    this.#code.u8(opcodes['i32.add']);
    this.#code.u8(controlOpcodes.localTee);
    this.#code.u32(local);
    this.#push(limit);
    this.#code.u8(opcodes['i32.lt_s']);
    this.#closeLoop();
    this.#locals.unbind(variable);
    if (limit !== end && limit.kind === 'var') this.#locals.unbind(limit);
  }

  /** The end of a loop, evaluated once: into a local, unless it cannot change. */
  #limit(end: Expr): Expr {
    if (end.kind === 'const' || (end.kind === 'var' && !this.#assigned.has(end))) return end;
    const limit = e.variable('limit', 'i32');
    this.#push(end);
    this.#set(this.#introduce(limit, false));
    return limit;
  }

  #while({ condition, body }: While): void {
    this.#open(controlOpcodes.block);
    this.#push(condition);
    this.#code.u8(opcodes['i32.eqz']);
    this.#branchIf(0);
    this.#open(controlOpcodes.loop);
    this.#loopDepth++;
    this.#scoped(body);
    this.#push(condition);
    this.#closeLoop();
  }

  /** Goes round again if the condition on the stack holds; ends the loop and the block around it. */
  #closeLoop(): void {
    this.#branchIf(0);
    this.#loopDepth--;
    this.#code.u8(controlOpcodes.end);
    this.#code.u8(controlOpcodes.end);
  }

  #if({ condition, consequent, alternate }: If): void {
    this.#push(condition);
    this.#open(controlOpcodes.if);
    this.#scoped(consequent);
    if (alternate !== null) {
      this.#code.u8(controlOpcodes.else);
      this.#scoped(alternate);
    }
    this.#code.u8(controlOpcodes.end);
  }

  #scoped(stmt: Stmt): void {
    this.#statement(stmt);
    this.#endScope(stmt);
  }

  #endScope(stmt: Stmt): void {
    if (stmt.kind === 'declare') this.#locals.unbind(stmt.variable);
  }

  #call({ kernel, args }: CallStmt): void {
    // An address of 32 bits is one of 64, too.
    const isExtended = (arg: Expr, i: number): boolean =>
      this.#options.addresses === 'i64' &&
      kernel.params[i].kind === 'buffer' &&
      arg.type.scalar === 'i32';
    if (args.every(isAtHand) && !args.some(isExtended))
      for (let i = 0; i < args.length; i++) this.#atHand(args[i]);
    else
      this.#emit((s) =>
        args.map((arg, i) => {
          const value = s.value(arg);
          return isExtended(arg, i) ? instr(s, 'i64.extend_i32_u', [value]) : value;
        }),
      );
    this.#code.u8(controlOpcodes.call);
    this.#code.u32(this.#options.functionOf(kernel));
  }

  #barrier({ meeting, thread, threads }: Barrier): void {
    const [passed, left] = [this.#locals.take('i32'), this.#locals.take('i32')];
    writeBarrier(this.#code, {
      meeting: this.#locals.buffer(meeting).local,
      passed,
      left,
      thread: () => this.#push(thread),
      threads: () => this.#push(threads),
    });
    this.#locals.release(passed);
    this.#locals.release(left);
  }

  /** Shortcut of `#emit`, with the same code: the `main` of a large program passes thousands of these. */
  #atHand(arg: AtHand): void {
    if (arg.kind === 'const') {
      this.#code.u8(opcodes['i32.const']);
      this.#code.s32(Number(arg.value));
      return;
    }
    this.#get(this.#locals.buffer(arg.buffer).local);
    const op = arg.type.scalar === 'i64' ? 'i64.load' : 'i32.load';
    writeMemoryInstr(this.#code, op, { offset: e.scalarBytes(arg.type.scalar) * Number(arg.index.value) }); // prettier-ignore
  }

  /** Leaves the value of an expression on the stack. */
  #push(expr: Expr): Pick<Instr, 'nonNegative'> {
    if (isIndexConst(expr)) {
      this.#atHand(expr);
      return { nonNegative: Number(expr.value) >= 0 };
    }
    let root: Instr | undefined;
    this.#emit((s) => [(root = s.value(expr))]);
    return root!;
  }

  /**
   * Writes the instructions that `select` returns, in order. An instruction that several others use is
   * computed where it is first needed and kept in a local until the statement ends.
   */
  #emit(select: (s: StatementSelector) => readonly Instr[]): void {
    const roots = select(new StatementSelector(this.#locals, this.#options.addresses));
    const uses = countUses(roots);
    const kept = new Map<Instr, number>();
    const write = (instr: Instr): void => {
      const local = kept.get(instr);
      if (local !== undefined) return this.#get(local);
      if (this.#loopDepth > 0 && isCostlyConstant(instr)) return this.#get(this.#constant(instr));
      for (let i = 0; i < instr.args.length; i++) write(instr.args[i]);
      writeInstr(this.#code, instr);
      if (uses.get(instr) === 1 || isFree(instr)) return;
      const home = this.#locals.take(instr.type);
      kept.set(instr, home);
      this.#code.u8(controlOpcodes.localTee);
      this.#code.u32(home);
    };
    roots.forEach(write);
    for (const local of kept.values()) this.#locals.release(local);
  }

  /**
   * The local that holds a vector constant from the start. V8's newer compiler makes a vector constant
   * anew at every use, which costs as much as two operations; a local stays in a register or on the stack.
   */
  #constant(instr: Instr): number {
    const key = String(instr.immediate);
    let local = this.#constants.get(key);
    if (local === undefined) {
      this.#constants.set(key, (local = this.#locals.fresh('v128')));
      writeInstr(this.#prologue, instr);
      this.#prologue.u8(controlOpcodes.localSet);
      this.#prologue.u32(local);
    }
    return local;
  }

  #introduce(variable: Var, nonNegative: boolean): number {
    const local = this.#locals.take(valueType(variable.type));
    this.#locals.bind(variable, {
      local,
      nonNegative: nonNegative && !this.#assigned.has(variable),
    });
    return local;
  }

  #get(local: number): void {
    this.#code.u8(opcodes['local.get']);
    this.#code.u32(local);
  }

  #set(local: number): void {
    this.#code.u8(controlOpcodes.localSet);
    this.#code.u32(local);
  }

  #open(opcode: number): void {
    this.#code.u8(opcode);
    this.#code.u8(emptyBlock);
  }

  #branchIf(depth: number): void {
    this.#code.u8(controlOpcodes.brIf);
    this.#code.u32(depth);
  }
}

/** A word or two at a fixed index, as `main` reads sizes and addresses. */
interface TableEntry extends Load {
  readonly index: Const;
}

/** Argument that `main` passes to a kernel: an element of its table, or a known size. */
type AtHand = TableEntry | Const;

function isAtHand(expr: Expr): expr is AtHand {
  return isIndexConst(expr) || isTableEntry(expr);
}

function isIndexConst(expr: Expr): expr is Const {
  return expr.kind === 'const' && expr.type.scalar === 'i32' && expr.type.lanes === 1;
}

function isTableEntry(expr: Expr): expr is TableEntry {
  if (expr.kind !== 'load' || expr.index.kind !== 'const') return false;
  const { storage } = expr.buffer;
  if (storage !== 'i32' && storage !== 'i64') return false;
  const index = Number(expr.index.value);
  return expr.type.lanes === 1 && index >= 0 && index < 2 ** 28;
}

/** Vectors of equal bits, zero among them, are one machine instruction and better made in place. */
function isCostlyConstant({ op, immediate }: Instr): boolean {
  if (op !== 'v128.const' || !(immediate instanceof Uint8Array)) return false;
  return !immediate.every((byte) => byte === immediate[0] && (byte === 0 || byte === 0xff));
}

/** Reading a local or a small constant again is as cheap as keeping it. */
function isFree({ op }: Instr): boolean {
  return op === 'local.get' || op === 'i32.const' || op === 'f32.const';
}

function countUses(roots: readonly Instr[]): ReadonlyMap<Instr, number> {
  const uses = new Map<Instr, number>();
  const visit = (instr: Instr): void => {
    const known = uses.get(instr) ?? 0;
    uses.set(instr, known + 1);
    if (known > 0) return;
    for (let i = 0; i < instr.args.length; i++) visit(instr.args[i]);
  };
  roots.forEach(visit);
  return uses;
}
