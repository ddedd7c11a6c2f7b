import { InternalError } from '../../base/errors.js';
import { unreachable } from '../../base/unreachable.js';
import type { Buffer, Expr, ExprType, For, Kernel, Module, Parallel, Stmt, Var } from './nodes.js';
import { problemOfRanges } from './verify-ranges.js';
import { problemOfWorkgroups } from './verify-workgroups.js';
import { children, ownExprs, visitExprs, withChildren } from './visit.js';

/**
 * Checks the rules of a module that constructors of nodes cannot:
 *
 * 1. a variable is read or assigned only inside the scope that binds it;
 * 2. a binding never hides another binding of the same variable;
 * 3. parameters and loop variables are never assigned;
 * 4. buffers that are read or written are parameters of the kernel or memory of the workgroup, each listed once;
 * 5. conditions are scalar bool, bounds scalar i32, steps positive integers, and a local has the type
 *    of its values (passes copy statements without their constructors);
 * 6. a broadcast or ramp has at least two lanes, an operand has the lanes its user has;
 * 7. kernels of a module have different names, and call only kernels above them;
 * 8. parallel ranges are as `problemOfRanges` wants them, and workgroups as `problemOfWorkgroups` does.
 *
 * An `InternalError` names the kernel and what it breaks.
 */
export function verifyModule(module: Module): void {
  const above = new Set<Kernel>();
  const names = new Set<string>();
  for (const kernel of module.kernels) {
    if (names.has(kernel.name)) throw new InternalError(`loop IR: two kernels ${kernel.name}`);
    verifyKernel(kernel, above);
    above.add(kernel);
    names.add(kernel.name);
  }
}

/** Checks one kernel; `callable`, where given, are the kernels it may call. */
export function verifyKernel(kernel: Kernel, callable?: ReadonlySet<Kernel>): void {
  new Verifier(kernel, callable).run();
}

class Verifier {
  readonly #kernel: Kernel;
  readonly #callable: ReadonlySet<Kernel> | undefined;
  readonly #scope: Map<Var, 'fixed' | 'local'> = new Map();
  readonly #buffers: Set<Buffer> = new Set();
  /** Expressions checked in the current scope; cleared when a scope ends. */
  #checked: Set<Expr> = new Set();

  constructor(kernel: Kernel, callable: ReadonlySet<Kernel> | undefined) {
    this.#kernel = kernel;
    this.#callable = callable;
  }

  run(): void {
    for (const param of this.#kernel.params) {
      if (param.kind === 'var') this.#bind(param, 'fixed');
      else if (this.#buffers.has(param)) this.#refuse(`buffer ${param.name} is listed twice`);
      else this.#buffers.add(param);
    }
    this.#scoped(this.#kernel.body);
    const { body } = this.#kernel;
    const problem = problemOfRanges(body) ?? problemOfWorkgroups(body);
    if (problem !== null) this.#refuse(problem);
  }

  #refuse(problem: string): never {
    throw new InternalError(`loop IR: kernel ${this.#kernel.name}: ${problem}`);
  }

  #bind(variable: Var, how: 'fixed' | 'local'): void {
    if (this.#scope.has(variable)) this.#refuse(`${variable.name} is bound inside its own scope`);
    this.#scope.set(variable, how);
  }

  #scoped(stmt: Stmt, ...loopVariables: readonly Var[]): void {
    const outer = [...this.#scope.keys()];
    for (const variable of loopVariables) this.#bind(variable, 'fixed');
    for (const inner of stmt.kind === 'block' ? stmt.body : [stmt]) this.#stmt(inner);
    if (this.#scope.size === outer.length) return;
    for (const bound of [...this.#scope.keys()].slice(outer.length)) this.#scope.delete(bound);
    this.#checked = new Set();
  }

  #stmt(stmt: Stmt): void {
    visitExprs(
      ownExprs(stmt).filter((expr) => !this.#checked.has(expr)),
      (expr) => this.#expr(expr),
    );
    switch (stmt.kind) {
      case 'block':
        this.#scoped(stmt);
        break;
      case 'for':
        this.#range(stmt);
        this.#scoped(stmt.body, stmt.variable);
        break;
      case 'parallel':
        this.#range(stmt);
        this.#scoped(stmt.body, stmt.from, stmt.to);
        break;
      case 'workgroups':
        this.#typed('a number of workgroups', stmt.count.type, { scalar: 'i32', lanes: 1 });
        for (const { buffer } of stmt.memory) {
          if (this.#buffers.has(buffer)) this.#refuse(`buffer ${buffer.name} is listed twice`);
          this.#buffers.add(buffer);
        }
        this.#scoped(stmt.body, stmt.group, stmt.invocation);
        for (const { buffer } of stmt.memory) this.#buffers.delete(buffer);
        break;
      case 'workgroup barrier':
        break;
      case 'while':
      case 'if':
        this.#typed('a condition', stmt.condition.type, { scalar: 'bool', lanes: 1 });
        if (stmt.kind === 'while') this.#scoped(stmt.body);
        else {
          this.#scoped(stmt.consequent);
          if (stmt.alternate !== null) this.#scoped(stmt.alternate);
        }
        break;
      case 'declare':
        this.#typed(stmt.variable.name, stmt.value.type, stmt.variable.type);
        this.#bind(stmt.variable, 'local');
        break;
      case 'assign':
        this.#typed(stmt.variable.name, stmt.value.type, stmt.variable.type);
        if (this.#scope.get(stmt.variable) !== 'local')
          this.#refuse(`${stmt.variable.name} is assigned, but is no local in scope`);
        break;
      case 'store':
        this.#buffer(stmt.buffer);
        this.#lanes('a stored value', stmt.value.type.lanes, stmt.index.type.lanes);
        break;
      case 'call':
        if (this.#callable?.has(stmt.kernel) === false)
          this.#refuse(`it calls ${stmt.kernel.name}, which is not above it`);
        break;
      case 'barrier':
        this.#buffer(stmt.meeting);
        this.#typed('a number of threads', stmt.thread.type, { scalar: 'i32', lanes: 1 });
        this.#typed('a number of threads', stmt.threads.type, { scalar: 'i32', lanes: 1 });
        break;
      default:
        unreachable(stmt);
    }
  }

  #expr(expr: Expr): void {
    this.#checked.add(expr);
    if (expr.kind === 'var' && !this.#scope.has(expr))
      this.#refuse(`${expr.name} is read outside its scope`);
    if (expr.kind === 'load') this.#buffer(expr.buffer);
    if (expr.kind === 'broadcast' || expr.kind === 'ramp') {
      if (expr.type.lanes < 2) this.#refuse(`a ${expr.kind} of ${expr.type.lanes} lanes`);
      for (const child of children(expr)) this.#lanes('an operand', child.type.lanes, 1);
    } else if (expr.kind !== 'extract') {
      for (const child of children(expr))
        this.#lanes('an operand', child.type.lanes, expr.type.lanes);
    }
    // Fresh operands of the same types make the constructors run once more.
    const again = withChildren(
      expr,
      children(expr).map((child) => ({ ...child })),
    );
    this.#typed(`a ${expr.kind}`, again.type, expr.type);
  }

  #range({ begin, end, step }: Pick<For | Parallel, 'begin' | 'end' | 'step'>): void {
    this.#typed('a bound', begin.type, { scalar: 'i32', lanes: 1 });
    this.#typed('a bound', end.type, { scalar: 'i32', lanes: 1 });
    if (!(Number.isInteger(step) && step > 0)) this.#refuse(`step ${step}`);
  }

  #buffer(buffer: Buffer): void {
    if (!this.#buffers.has(buffer)) this.#refuse(`buffer ${buffer.name} is not a parameter`);
  }

  #lanes(what: string, actual: number, wanted: number): void {
    if (actual !== wanted) this.#refuse(`${what} has ${actual} lanes, not ${wanted}`);
  }

  #typed(what: string, actual: ExprType, wanted: ExprType): void {
    if (actual.scalar !== wanted.scalar || actual.lanes !== wanted.lanes)
      this.#refuse(
        `${what} is ${actual.scalar}x${actual.lanes}, not ${wanted.scalar}x${wanted.lanes}`,
      );
  }
}
