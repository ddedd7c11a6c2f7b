import { InternalError } from '../../base/errors.js';
import { unreachable } from '../../base/unreachable.js';
import * as e from './build.js';
import type { Bitcast, Broadcast, CastExpr, Expr, Extract, Kernel, Module, Parallel, Stmt, UnaryExpr, Var, WorkgroupBarrier, Workgroups } from './nodes.js'; // prettier-ignore

/**
 * Walking and rebuilding. Expressions are DAGs: whatever recurses over one here visits a shared
 * sub-expression once, so every walk is linear in the number of distinct nodes. Most walks of a program
 * that compiles once run in the engine's interpreter, where iterators and destructured lists cost several
 * times what the walk itself does: loops here count.
 */

const none: readonly Expr[] = [];

/** The operands of an expression, in the order in which `withChildren` takes them. */
export function children(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'const':
    case 'var':
      return none;
    case 'unary':
    case 'cast':
    case 'bitcast':
    case 'broadcast':
    case 'extract':
      return [expr.x];
    case 'binary':
      return [expr.a, expr.b];
    case 'select':
      return [expr.condition, expr.a, expr.b];
    case 'load':
      return [expr.index];
    case 'ramp':
      return [expr.base, expr.stride];
  }
}

/**
 * The expression with other operands. Unchanged operands give the same object back; otherwise the
 * checked constructors run, so an operand that became a vector broadcasts its neighbors.
 */
export function withChildren(expr: Expr, operands: readonly Expr[]): Expr {
  let i = 0;
  return mapChildren(expr, () => operands[i++]);
}

/** Like `withChildren`, where each operand is replaced by what a function makes of it. */
export function mapChildren(expr: Expr, map: (child: Expr) => Expr): Expr {
  switch (expr.kind) {
    case 'const':
    case 'var':
      return expr;
    case 'binary': {
      const a = map(expr.a);
      const b = map(expr.b);
      return a === expr.a && b === expr.b ? expr : e.binary(expr.op, a, b);
    }
    case 'load': {
      const index = map(expr.index);
      return index === expr.index ? expr : e.load(expr.buffer, index);
    }
    case 'ramp': {
      const base = map(expr.base);
      const stride = map(expr.stride);
      if (base === expr.base && stride === expr.stride) return expr;
      return e.ramp(base, stride, expr.type.lanes);
    }
    case 'select': {
      const condition = map(expr.condition);
      const a = map(expr.a);
      const b = map(expr.b);
      if (condition === expr.condition && a === expr.a && b === expr.b) return expr;
      return e.select(condition, a, b);
    }
    default: {
      const x = map(expr.x);
      return x === expr.x ? expr : withOperand(expr, x);
    }
  }
}

function withOperand(expr: UnaryExpr | CastExpr | Bitcast | Broadcast | Extract, x: Expr): Expr {
  switch (expr.kind) {
    case 'unary':
      return e.unary(expr.op, x);
    case 'cast':
      return e.cast(expr.type.scalar, x);
    case 'bitcast':
      return e.bitcast(expr.type.scalar, x);
    case 'broadcast':
      return e.broadcast(x, expr.type.lanes);
    case 'extract':
      return e.extract(x, expr.lane);
  }
}

/** Calls `visit` once for every distinct node under the roots, operands before what uses them. */
export function visitExprs(roots: readonly Expr[], visit: (expr: Expr) => void): void {
  const seen = new Set<Expr>();
  visitNew(roots, seen, (expr) => {
    seen.add(expr);
    visit(expr);
  });
}

/** So deep a walk may recurse: far from what exhausts a call stack, far beyond what is usual. */
const deepest = 256;

/**
 * The walk behind everything here: nodes that are not `done` yet, operands first. `visit` must make
 * its node done. A chain of thousands of operations must not exhaust the call stack.
 */
export function visitNew(
  roots: readonly Expr[],
  done: { has(expr: Expr): boolean },
  visit: (expr: Expr) => void,
  depth: number = 0,
): void {
  for (let i = 0; i < roots.length; i++) {
    const expr = roots[i];
    if (done.has(expr)) continue;
    if (expr.kind === 'const' || expr.kind === 'var') visit(expr);
    else if (depth < deepest) {
      visitNew(children(expr), done, visit, depth + 1);
      visit(expr);
    } else visitDeep(expr, done, visit);
  }
}

/** `visitNew` of one root in a loop: slower, since it looks at each node twice. */
function visitDeep(
  root: Expr,
  done: { has(expr: Expr): boolean },
  visit: (expr: Expr) => void,
): void {
  const stack = [root];
  while (stack.length > 0) {
    const expr = stack[stack.length - 1];
    const before = stack.length;
    if (!done.has(expr)) {
      const operands = children(expr);
      for (let i = operands.length - 1; i >= 0; i--) {
        if (!done.has(operands[i])) stack.push(operands[i]);
      }
      if (stack.length > before) continue;
      visit(expr);
    }
    stack.pop();
  }
}

/**
 * A function that rebuilds expressions from the leaves up: `rewrite` receives each distinct node
 * once, with its operands already rewritten. Results are remembered across calls.
 */
export function exprMapper(rewrite: (expr: Expr) => Expr): (expr: Expr) => Expr {
  const done = new Map<Expr, Expr>();
  const known = (child: Expr): Expr => done.get(child)!;
  return (root) => {
    visitNew([root], done, (expr) => {
      done.set(expr, rewrite(mapChildren(expr, known)));
    });
    return done.get(root)!;
  };
}

/** A function that replaces variables; lanes follow, see `withChildren`. */
export function substitution(replace: ReadonlyMap<Var, Expr>): (expr: Expr) => Expr {
  return exprMapper((expr) => (expr.kind === 'var' ? (replace.get(expr) ?? expr) : expr));
}

/** The expressions that a statement itself evaluates, without those of statements inside it. */
export function ownExprs(stmt: Stmt): readonly Expr[] {
  switch (stmt.kind) {
    case 'block':
    case 'workgroup barrier':
      return [];
    case 'for':
    case 'parallel':
      return [stmt.begin, stmt.end];
    case 'workgroups':
      return [stmt.count];
    case 'while':
    case 'if':
      return [stmt.condition];
    case 'declare':
    case 'assign':
      return [stmt.value];
    case 'store':
      return [stmt.index, stmt.value];
    case 'call':
      return stmt.args;
    case 'barrier':
      return [stmt.thread, stmt.threads];
  }
}

/** The statements directly inside a statement. */
export function ownStmts(stmt: Stmt): readonly Stmt[] {
  switch (stmt.kind) {
    case 'block':
      return stmt.body;
    case 'for':
    case 'parallel':
    case 'workgroups':
    case 'while':
      return [stmt.body];
    case 'if':
      return stmt.alternate === null ? [stmt.consequent] : [stmt.consequent, stmt.alternate];
    case 'declare':
    case 'assign':
    case 'store':
    case 'call':
    case 'barrier':
    case 'workgroup barrier':
      return [];
  }
}

/** Calls `visit` for a statement and every statement inside it, outer ones first. */
export function visitStmts(stmt: Stmt, visit: (stmt: Stmt) => void): void {
  visit(stmt);
  switch (stmt.kind) {
    case 'block':
      for (let i = 0; i < stmt.body.length; i++) visitStmts(stmt.body[i], visit);
      return;
    case 'for':
    case 'parallel':
    case 'workgroups':
    case 'while':
      return visitStmts(stmt.body, visit);
    case 'if':
      visitStmts(stmt.consequent, visit);
      if (stmt.alternate !== null) visitStmts(stmt.alternate, visit);
      return;
    case 'declare':
    case 'assign':
    case 'store':
    case 'call':
    case 'barrier':
    case 'workgroup barrier':
      return;
    default:
      return unreachable(stmt);
  }
}

/** The kernels that other kernels of a module call. */
export function calledKernels({ kernels }: Module): ReadonlySet<Kernel> {
  const called = new Set<Kernel>();
  for (const { body } of kernels) {
    visitStmts(body, (stmt) => {
      if (stmt.kind === 'call') called.add(stmt.kernel);
    });
  }
  return called;
}

/** Functions by which `mapStmt` replaces the parts of a statement. Absent ones keep their part. */
export interface StmtMapper {
  readonly expr?: (expr: Expr) => Expr;
  /** Applied to variables where they are bound or assigned. */
  readonly variable?: (variable: Var) => Var;
  /** Applied to each statement directly inside. */
  readonly stmt?: (stmt: Stmt) => Stmt;
}

const same = <T>(x: T): T => x;

/**
 * The statement with its own parts mapped; rebuilt through the checked constructors. Unchanged parts
 * give the same object back.
 */
export function mapStmt(stmt: Stmt, mapper: StmtMapper): Stmt {
  const { expr = same, variable = same, stmt: inside = same } = mapper;
  switch (stmt.kind) {
    case 'block': {
      const body = mapEach(stmt.body, inside);
      return body === stmt.body ? stmt : e.block(...body);
    }
    case 'for': {
      const begin = expr(stmt.begin);
      const end = expr(stmt.end);
      const index = variable(stmt.variable);
      const body = inside(stmt.body);
      if (body === stmt.body && index === stmt.variable && begin === stmt.begin && end === stmt.end)
        return stmt;
      return { ...stmt, variable: index, begin, end, body };
    }
    case 'parallel': {
      const [begin, end] = [expr(stmt.begin), expr(stmt.end)];
      const [from, to] = [variable(stmt.from), variable(stmt.to)];
      const body = inside(stmt.body);
      const isSame = begin === stmt.begin && end === stmt.end && body === stmt.body;
      if (isSame && from === stmt.from && to === stmt.to) return stmt;
      return { ...stmt, from, to, begin, end, body };
    }
    case 'workgroups': {
      const count = expr(stmt.count);
      const [group, invocation] = [variable(stmt.group), variable(stmt.invocation)];
      const body = inside(stmt.body);
      const isSame = count === stmt.count && body === stmt.body;
      if (isSame && group === stmt.group && invocation === stmt.invocation) return stmt;
      return { ...stmt, group, invocation, count, body };
    }
    case 'workgroup barrier':
      return stmt;
    case 'while': {
      const condition = expr(stmt.condition);
      const body = inside(stmt.body);
      if (condition === stmt.condition && body === stmt.body) return stmt;
      return e.whileLoop(condition, body);
    }
    case 'if': {
      const condition = expr(stmt.condition);
      const consequent = inside(stmt.consequent);
      const alternate = stmt.alternate === null ? null : inside(stmt.alternate);
      const isSame = consequent === stmt.consequent && alternate === stmt.alternate;
      if (isSame && condition === stmt.condition) return stmt;
      return e.ifThen(condition, consequent, alternate);
    }
    case 'declare': {
      const value = expr(stmt.value);
      const local = variable(stmt.variable);
      if (value === stmt.value && local === stmt.variable) return stmt;
      return e.declare(local, value);
    }
    case 'assign': {
      const local = variable(stmt.variable);
      const value = expr(stmt.value);
      if (value === stmt.value && local === stmt.variable) return stmt;
      return e.assign(local, value);
    }
    case 'store': {
      const index = expr(stmt.index);
      const value = expr(stmt.value);
      if (index === stmt.index && value === stmt.value) return stmt;
      return e.store(stmt.buffer, index, value);
    }
    case 'call': {
      const args = mapEach(stmt.args, expr);
      return args === stmt.args ? stmt : e.call(stmt.kernel, args);
    }
    case 'barrier': {
      const thread = expr(stmt.thread);
      const threads = expr(stmt.threads);
      if (thread === stmt.thread && threads === stmt.threads) return stmt;
      return e.barrier(stmt.meeting, thread, threads);
    }
  }
}

/** `items.map(map)`; the same array when nothing changed. */
function mapEach<T>(items: readonly T[], map: (item: T) => T): readonly T[] {
  let mapped: T[] | null = null;
  for (let i = 0; i < items.length; i++) {
    const item = map(items[i]);
    if (mapped !== null) mapped.push(item);
    else if (item !== items[i]) {
      mapped = items.slice(0, i);
      mapped.push(item);
    }
  }
  return mapped ?? items;
}

/** The distinct variables that expressions read. */
export function variablesOf(roots: readonly Expr[]): ReadonlySet<Var> {
  const found = new Set<Var>();
  visitExprs(roots, (expr) => {
    if (expr.kind === 'var') found.add(expr);
  });
  return found;
}

/** The variables that some statement inside assigns. */
export function assignedVariables(stmt: Stmt): ReadonlySet<Var> {
  const assigned = new Set<Var>();
  visitStmts(stmt, (inner) => {
    if (inner.kind === 'assign') assigned.add(inner.variable);
  });
  return assigned;
}

/** The kernel with another body; the same object when the body is the same. */
export function withBody(kernel: Kernel, body: Stmt): Kernel {
  return body === kernel.body ? kernel : e.kernel(kernel.name, kernel.params, body);
}

/** For code that is made for one thread: ranges have been divided by then (`optimize/divide.ts`). */
export function refuseRange({ kind }: Parallel | Workgroups | WorkgroupBarrier): never {
  throw new InternalError(`loop IR: a ${kind} statement in code for one thread`);
}
