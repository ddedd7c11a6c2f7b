import { InternalError } from '../../base/errors.js';
import type {
  Assign, Barrier, BinaryExpr, BinaryOp, BlockStmt, Buffer, CallStmt, Const, Declare, Expr, ExprType, For, If, Kernel, Module,
  Parallel, Scalar, Stmt, ElementKind, Store, UnaryOp, Var, While, WorkgroupBarrier, WorkgroupMemory, Workgroups,
} from './nodes.js'; // prettier-ignore
import { binaryOps, comparisonOps, unaryOps } from './scalar.js';

/** An expression, or a number that becomes a constant of the type its neighbors have. */
export type ExprOperand = Expr | number | bigint;

/** By scalar kind and lane count. */
const types: Readonly<Record<Scalar, ExprType[]>> = {
  f32: [],
  f64: [],
  i32: [],
  i64: [],
  bool: [],
};

/** The interned type of a scalar kind and a lane count. */
export function exprType(scalar: Scalar, lanes: number = 1): ExprType {
  return (types[scalar][lanes] ??= { scalar, lanes });
}

/** Bytes that one lane takes in a vector register; bool counts as its narrowest mask. */
export function scalarBytes(scalar: Scalar): number {
  return scalar === 'f64' || scalar === 'i64' ? 8 : 4;
}

/** The compute type that elements of a storage kind load as. */
export function loadedScalar(storage: ElementKind): Scalar {
  return storage === 'i8' || storage === 'u8' || storage === 'u16' ? 'i32' : storage;
}

const bytesOfStorage: Readonly<Record<ElementKind, number>> = { f32: 4, f64: 8, i32: 4, i64: 8, i8: 1, u8: 1, u16: 2 }; // prettier-ignore

export function storageBytes(storage: ElementKind): number {
  return bytesOfStorage[storage];
}

function refuse(problem: string): never {
  throw new InternalError(`loop IR: ${problem}`);
}

function show(type: ExprType): string {
  return type.lanes === 1 ? type.scalar : `${type.scalar}x${type.lanes}`;
}

export function constant(scalar: Scalar, value: number | bigint, lanes: number = 1): Const {
  let exact = value;
  if (scalar === 'i64') exact = BigInt.asIntN(64, BigInt(value));
  else if (scalar === 'i32') exact = Number(value) | 0;
  else if (scalar === 'f32') exact = Math.fround(Number(value));
  else if (scalar === 'bool') exact = Number(value) === 0 ? 0 : 1;
  else exact = Number(value);
  return { kind: 'const', type: exprType(scalar, lanes), value: exact };
}

export const i32 = (value: number): Const => constant('i32', value);

export function variable(name: string, scalar: Scalar, lanes: number = 1): Var {
  return { kind: 'var', type: exprType(scalar, lanes), name };
}

export function buffer(
  name: string,
  storage: ElementKind,
  { isPrivate = false }: Partial<Pick<Buffer, 'isPrivate'>> = {},
): Buffer {
  return { kind: 'buffer', name, storage, isPrivate };
}

/** `x` with the given lane count: a scalar is broadcast, a vector must already fit. */
export function broadcast(x: Expr, lanes: number): Expr {
  if (x.type.lanes === lanes) return x;
  if (x.type.lanes !== 1) refuse(`${show(x.type)} cannot be broadcast to ${lanes} lanes`);
  if (x.kind === 'const')
    return { kind: 'const', type: exprType(x.type.scalar, lanes), value: x.value };
  return { kind: 'broadcast', type: exprType(x.type.scalar, lanes), x };
}

export function unary(op: UnaryOp, x: Expr): Expr {
  const { scalar } = x.type;
  if (!unaryOps[scalar].has(op)) refuse(`${op} of ${show(x.type)}`);
  return { kind: 'unary', type: x.type, op, x };
}

/** Both operands must have one scalar type; a scalar meets a vector by broadcasting. */
export function binary(op: BinaryOp, left: ExprOperand, right: ExprOperand): BinaryExpr {
  let a: Expr;
  let b: Expr;
  // Nearly all operands have one type already: the innermost of all constructors makes no list for them.
  if (typeof left === 'object' && typeof right === 'object' && left.type === right.type) {
    a = left;
    b = right;
  } else [a, b] = matched(op, left, right);
  const { scalar, lanes } = a.type;
  if (!binaryOps[scalar].has(op)) refuse(`${op} of ${scalar}`);
  return {
    kind: 'binary',
    type: comparisonOps.has(op) ? exprType('bool', lanes) : a.type,
    op,
    a,
    b,
  };
}

function matched(what: string, left: ExprOperand, right: ExprOperand): [Expr, Expr] {
  let a = left;
  let b = right;
  if (typeof a !== 'object') {
    if (typeof b !== 'object') return refuse(`${what} of two plain numbers`);
    a = constant(b.type.scalar, a);
  } else if (typeof b !== 'object') b = constant(a.type.scalar, b);
  if (a.type.scalar !== b.type.scalar) refuse(`${what} of ${show(a.type)} and ${show(b.type)}`);
  const lanes = Math.max(a.type.lanes, b.type.lanes);
  return [broadcast(a, lanes), broadcast(b, lanes)];
}

export const add = (a: ExprOperand, b: ExprOperand): Expr => binary('add', a, b);
export const sub = (a: ExprOperand, b: ExprOperand): Expr => binary('sub', a, b);
export const mul = (a: ExprOperand, b: ExprOperand): Expr => binary('mul', a, b);
export const div = (a: ExprOperand, b: ExprOperand): Expr => binary('div', a, b);
export const rem = (a: ExprOperand, b: ExprOperand): Expr => binary('rem', a, b);
export const min = (a: ExprOperand, b: ExprOperand): Expr => binary('min', a, b);
export const max = (a: ExprOperand, b: ExprOperand): Expr => binary('max', a, b);
export const and = (a: ExprOperand, b: ExprOperand): Expr => binary('and', a, b);
export const or = (a: ExprOperand, b: ExprOperand): Expr => binary('or', a, b);
export const xor = (a: ExprOperand, b: ExprOperand): Expr => binary('xor', a, b);
export const shl = (a: ExprOperand, b: ExprOperand): Expr => binary('shl', a, b);
export const shr = (a: ExprOperand, b: ExprOperand): Expr => binary('shr', a, b);
export const shrU = (a: ExprOperand, b: ExprOperand): Expr => binary('shrU', a, b);
export const eq = (a: ExprOperand, b: ExprOperand): Expr => binary('eq', a, b);
export const ne = (a: ExprOperand, b: ExprOperand): Expr => binary('ne', a, b);
export const lt = (a: ExprOperand, b: ExprOperand): Expr => binary('lt', a, b);
export const le = (a: ExprOperand, b: ExprOperand): Expr => binary('le', a, b);
export const gt = (a: ExprOperand, b: ExprOperand): Expr => binary('gt', a, b);
export const ge = (a: ExprOperand, b: ExprOperand): Expr => binary('ge', a, b);
export const neg = (x: Expr): Expr => unary('neg', x);
export const abs = (x: Expr): Expr => unary('abs', x);
export const sqrt = (x: Expr): Expr => unary('sqrt', x);
export const floor = (x: Expr): Expr => unary('floor', x);
export const ceil = (x: Expr): Expr => unary('ceil', x);
export const trunc = (x: Expr): Expr => unary('trunc', x);
export const nearest = (x: Expr): Expr => unary('nearest', x);
export const not = (x: Expr): Expr => unary('not', x);

export function select(condition: Expr, left: ExprOperand, right: ExprOperand): Expr {
  if (condition.type.scalar !== 'bool') refuse(`select on ${show(condition.type)}`);
  const [a, b] = matched('select', left, right);
  const lanes = Math.max(condition.type.lanes, a.type.lanes);
  return {
    kind: 'select',
    type: exprType(a.type.scalar, lanes),
    condition: broadcast(condition, lanes),
    a: broadcast(a, lanes),
    b: broadcast(b, lanes),
  };
}

export function cast(scalar: Scalar, x: Expr): Expr {
  if (x.type.scalar === scalar) return x;
  return { kind: 'cast', type: exprType(scalar, x.type.lanes), x };
}

export function bitcast(scalar: Scalar, x: Expr): Expr {
  if (x.type.scalar === scalar) return x;
  if (
    scalar === 'bool' ||
    x.type.scalar === 'bool' ||
    scalarBytes(scalar) !== scalarBytes(x.type.scalar)
  ) {
    refuse(`bitcast of ${show(x.type)} to ${scalar}`);
  }
  return { kind: 'bitcast', type: exprType(scalar, x.type.lanes), x };
}

export function load(from: Buffer, index: ExprOperand): Expr {
  const isWide = typeof index === 'object' && index.type === exprType('i64');
  const at = isWide ? index : asIndex(index);
  return {
    kind: 'load',
    type: exprType(loadedScalar(from.storage), at.type.lanes),
    buffer: from,
    index: at,
  };
}

function asIndex(index: ExprOperand): Expr {
  const expr = typeof index === 'object' ? index : constant('i32', index);
  if (expr.type.scalar !== 'i32') refuse(`an index of type ${show(expr.type)}`);
  return expr;
}

export function ramp(base: ExprOperand, stride: ExprOperand, lanes: number): Expr {
  const start = asIndex(base);
  const step = asIndex(stride);
  if (start.type.lanes !== 1 || step.type.lanes !== 1 || lanes < 2)
    refuse('a ramp of vectors, or of one lane');
  return { kind: 'ramp', type: exprType('i32', lanes), base: start, stride: step };
}

export function extract(x: Expr, lane: number): Expr {
  if (x.type.lanes === 1 && lane === 0) return x;
  if (!(lane >= 0 && lane < x.type.lanes)) refuse(`lane ${lane} of ${show(x.type)}`);
  return { kind: 'extract', type: exprType(x.type.scalar), x, lane };
}

/** Statements in order; nested blocks that introduce no scope of their own are flattened. */
export function block(...statements: readonly Stmt[]): Stmt {
  const body: Stmt[] = [];
  for (const stmt of statements) {
    const isScope = stmt.kind !== 'block' || stmt.body.some((inner) => inner.kind === 'declare');
    if (isScope) body.push(stmt);
    else for (const inner of stmt.body) body.push(inner);
  }
  return body.length === 1 ? body[0] : ({ kind: 'block', body } satisfies BlockStmt);
}

/** A loop from `begin` to `end`; `body` receives the variable. */
export function forLoop(
  name: string,
  begin: ExprOperand,
  end: ExprOperand,
  body: (index: Var) => Stmt,
  options: { readonly step?: number; readonly mode?: For['mode'] } = {},
): For {
  const index = variable(name, 'i32');
  const step = options.step ?? 1;
  if (!(Number.isInteger(step) && step > 0)) refuse(`a loop step of ${step}`);
  const from = asIndex(begin);
  const to = asIndex(end);
  if (from.type.lanes !== 1 || to.type.lanes !== 1) refuse('a loop over vectors');
  return {
    kind: 'for',
    variable: index,
    begin: from,
    end: to,
    step,
    mode: options.mode ?? 'serial',
    body: body(index),
  };
}

/** A range that is divided; `body` receives where a stretch of it begins and ends. */
export function parallel(
  begin: ExprOperand,
  end: ExprOperand,
  step: number,
  body: (from: Var, to: Var) => Stmt,
): Parallel {
  if (!(Number.isInteger(step) && step > 0)) refuse(`stretches of ${step}`);
  const [first, last] = [asIndex(begin), asIndex(end)];
  if (first.type.lanes !== 1 || last.type.lanes !== 1) refuse('a range over vectors');
  const [from, to] = [variable('from', 'i32'), variable('to', 'i32')];
  return { kind: 'parallel', from, to, begin: first, end: last, step, body: body(from, to) };
}

/** Workgroups; `body` receives the numbers of a group and of an invocation in it. */
export function workgroups(
  count: ExprOperand,
  size: number,
  memory: readonly WorkgroupMemory[],
  body: (group: Var, invocation: Var) => Stmt,
): Workgroups {
  if (!(Number.isInteger(size) && size > 0)) refuse(`workgroups of ${size}`);
  const groups = asIndex(count);
  if (groups.type.lanes !== 1) refuse('a vector of workgroups');
  const [group, invocation] = [variable('group', 'i32'), variable('invocation', 'i32')];
  const inside = body(group, invocation);
  return { kind: 'workgroups', group, invocation, count: groups, size, memory, body: inside };
}

/** A barrier of a workgroup. */
export const workgroupBarrier: WorkgroupBarrier = { kind: 'workgroup barrier' };

export function whileLoop(condition: Expr, body: Stmt): While {
  checkCondition(condition);
  return { kind: 'while', condition, body };
}

export function ifThen(condition: Expr, consequent: Stmt, alternate: Stmt | null = null): If {
  checkCondition(condition);
  return { kind: 'if', condition, consequent, alternate };
}

function checkCondition(condition: Expr): void {
  if (condition.type.scalar !== 'bool' || condition.type.lanes !== 1)
    refuse(`a branch on ${show(condition.type)}`);
}

export function declare(local: Var, value: Expr): Declare {
  checkLocal(local, value);
  return { kind: 'declare', variable: local, value };
}

export function assign(local: Var, value: Expr): Assign {
  checkLocal(local, value);
  return { kind: 'assign', variable: local, value };
}

function checkLocal(local: Var, value: Expr): void {
  if (local.type !== value.type)
    refuse(`${show(value.type)} given to ${local.name}, a ${show(local.type)}`);
}

export function store(to: Buffer, index: ExprOperand, value: Expr): Store {
  const at = asIndex(index);
  if (value.type.scalar !== loadedScalar(to.storage))
    refuse(`${show(value.type)} stored as ${to.storage}`);
  if (at.type.lanes === 1 && value.type.lanes !== 1) refuse('a vector stored to one index');
  return { kind: 'store', buffer: to, index: at, value: broadcast(value, at.type.lanes) };
}

export function call(callee: Kernel, args: readonly Expr[]): CallStmt {
  if (args.length !== callee.params.length)
    refuse(`${callee.name} takes ${callee.params.length} arguments, not ${args.length}`);
  callee.params.forEach((param, i) => {
    const { type } = args[i];
    const isAddress = param.kind === 'buffer' && type === exprType('i64');
    const wanted = param.kind === 'buffer' ? exprType('i32') : param.type;
    if (type !== wanted && !isAddress)
      refuse(`argument ${param.name} of ${callee.name} is ${show(type)}, not ${show(wanted)}`);
  });
  return { kind: 'call', kernel: callee, args };
}

export function barrier(meeting: Buffer, thread: ExprOperand, threads: ExprOperand): Barrier {
  if (meeting.storage !== 'i32') refuse(`a barrier in a buffer of ${meeting.storage}`);
  const [own, all] = [asIndex(thread), asIndex(threads)];
  if (own.type.lanes !== 1 || all.type.lanes !== 1) refuse('a barrier of vectors');
  return { kind: 'barrier', meeting, thread: own, threads: all };
}

export function kernel(name: string, params: readonly (Buffer | Var)[], body: Stmt): Kernel {
  return { kind: 'kernel', name, params, body };
}

export function moduleOf(kernels: readonly Kernel[]): Module {
  return { kind: 'module', kernels };
}
