import { separateBindings } from '../analysis/bindings.js';
import * as e from '../language/build.js';
import { Interner } from '../analysis/intern.js';
import type { Buffer, Expr, For, Kernel, Stmt, Var, While } from '../language/nodes.js';
import { assignedVariables, children, ownStmts, refuseRange, visitNew, visitStmts, withBody } from '../language/visit.js'; // prettier-ignore
import {
  emit,
  type CodeScope,
  scopeIn,
  type NumberedValue,
  ValueTable,
  type Version,
} from './values.js';

/**
 * Gives a name to whatever is computed more than once or does not change in a loop, and computes it at the
 * outermost place that is legal and where it takes no register from a loop beside it: value numbering over
 * nested scopes, with versions of mutable locals and of the contents of buffers. A load stays on its side of
 * every store to its buffer and is never moved to where the program might not have loaded; a loop that may
 * have no trips is guarded.
 */
export function share(kernel: Kernel): Kernel {
  const separate = separateBindings(kernel);
  return withBody(kernel, new Sharing(separate).run());
}

/** Contents of each mutable local and each buffer at one point of the program. */
interface State {
  readonly locals: Map<Var, NumberedValue>;
  readonly memory: Map<Buffer, Version>;
}

class Sharing {
  readonly #kernel: Kernel;
  readonly #table: ValueTable = new ValueTable();
  readonly #assigned: ReadonlySet<Var>;
  /** Constants, parameters, loop variables, and locals that are never assigned. */
  readonly #fixed: Map<Expr, NumberedValue> = new Map();
  readonly #constants: Interner = new Interner();
  readonly #root: CodeScope = scopeIn(null, 'block');
  #state: State = { locals: new Map(), memory: new Map() };
  #scope: CodeScope = this.#root;
  /** Values of the expressions that the present statement evaluates. */
  #numbered: Map<Expr, NumberedValue> = new Map();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.#assigned = assignedVariables(kernel.body);
    for (const param of kernel.params) {
      if (param.kind === 'var') this.#fixed.set(param, this.#table.leaf(param, this.#root));
      else this.#state.memory.set(param, this.#version());
    }
  }

  run(): Stmt {
    this.#statements(this.#kernel.body);
    return e.block(...emit(this.#root));
  }

  #version(): Version {
    return { number: this.#table.freshNumber, scope: this.#scope };
  }

  #statements(stmt: Stmt): void {
    for (const inner of stmt.kind === 'block' ? stmt.body : [stmt]) this.#stmt(inner);
  }

  #stmt(stmt: Stmt): void {
    this.#numbered = new Map();
    const { items } = this.#scope;
    switch (stmt.kind) {
      case 'block': {
        const inner = this.#inside(scopeIn(this.#scope, 'block'), () => this.#statements(stmt));
        // What it assigned must not be attributed to a scope that has ended.
        this.#change(stmt);
        items.push(() => e.block(...emit(inner)));
        break;
      }
      case 'declare':
        this.#declare(stmt.variable, stmt.value);
        break;
      case 'assign': {
        const value = this.#used(stmt.value);
        items.push(() => e.assign(stmt.variable, value.expr));
        this.#change(stmt);
        break;
      }
      case 'store': {
        const [index, value] = [this.#used(stmt.index), this.#used(stmt.value)];
        items.push(() => e.store(stmt.buffer, index.expr, value.expr));
        this.#change(stmt);
        break;
      }
      case 'call': {
        const args = stmt.args.map((arg) => this.#used(arg));
        items.push(() =>
          e.call(
            stmt.kernel,
            args.map((arg) => arg.expr),
          ),
        );
        this.#change(stmt);
        break;
      }
      case 'barrier': {
        const [thread, threads] = [this.#used(stmt.thread), this.#used(stmt.threads)];
        items.push(() => e.barrier(stmt.meeting, thread.expr, threads.expr));
        this.#change(stmt);
        break;
      }
      case 'workgroup barrier':
        items.push(() => stmt);
        this.#change(stmt);
        break;
      case 'parallel':
      case 'workgroups':
        refuseRange(stmt);
        break;
      case 'for':
        this.#loop(stmt);
        break;
      case 'while':
        this.#while(stmt);
        break;
      case 'if': {
        const condition = this.#used(stmt.condition);
        const before = this.#state;
        const [consequent, alternate] = [stmt.consequent, stmt.alternate].map((branch) => {
          if (branch === null) return null;
          this.#state = { locals: new Map(before.locals), memory: new Map(before.memory) };
          return this.#inside(scopeIn(this.#scope, 'branch'), () => this.#statements(branch));
        });
        this.#state = before;
        this.#change(stmt);
        items.push(() =>
          e.ifThen(
            condition.expr,
            e.block(...emit(consequent!)),
            alternate === null ? null : e.block(...emit(alternate)),
          ),
        );
      }
    }
  }

  #declare(local: Var, value: Expr): void {
    const known = this.#value(value);
    if (this.#assigned.has(local)) {
      known.use(this.#scope);
      this.#scope.items.push(() => e.declare(local, known.expr));
      this.#state.locals.set(local, this.#table.leaf(local, this.#scope));
      return;
    }
    if (!known.isFree) {
      // The local is read later, perhaps past a store: its value is computed here and keeps a name.
      known.use(this.#scope);
      known.nameIt(local);
      this.#fixed.set(local, known);
      return;
    }
    known.use(this.#scope);
    this.#scope.items.push(() => e.declare(local, known.expr));
    this.#fixed.set(local, this.#table.leaf(local, this.#scope));
  }

  #loop(loop: For): void {
    const outer = this.#scope;
    const [begin, end] = [this.#used(loop.begin), this.#used(loop.end)];
    const certain =
      loop.begin.kind === 'const' && loop.end.kind === 'const' && loop.begin.value < loop.end.value;
    const preheader = scopeIn(outer, 'preheader', { certain });
    const body = scopeIn(preheader, 'loop', { loops: loopsIn(loop.body) });
    this.#inside(preheader, () =>
      this.#inside(body, () => {
        this.#change(loop.body);
        this.#fixed.set(loop.variable, this.#table.leaf(loop.variable, body));
        this.#statements(loop.body);
      }),
    );
    this.#change(loop.body);
    outer.items.push(() => {
      const whole = { ...loop, begin: begin.expr, end: end.expr, body: e.block(...emit(body)) };
      const before = emit(preheader);
      if (before.length === 0) return whole;
      return e.ifThen(e.lt(begin.expr, end.expr), e.block(...before, whole));
    });
  }

  #while({ condition, body }: While): void {
    const outer = this.#scope;
    let tested: NumberedValue;
    this.#inside(scopeIn(outer, 'condition'), () => {
      this.#change(body);
      tested = this.#used(condition);
    });
    const inside = this.#inside(scopeIn(outer, 'while'), () => {
      this.#change(body);
      this.#statements(body);
    });
    this.#change(body);
    outer.items.push(() => e.whileLoop(tested.expr, e.block(...emit(inside))));
  }

  #inside(scope: CodeScope, run: () => void): CodeScope {
    const outer = this.#scope;
    this.#scope = scope;
    run();
    scope.open = false;
    this.#scope = outer;
    this.#numbered = new Map();
    return scope;
  }

  /** From here on, what a statement assigns or stores to has an unknown worth. */
  #change(stmt: Stmt): void {
    visitStmts(stmt, (inner) => {
      if (inner.kind === 'assign') {
        this.#state.locals.set(inner.variable, this.#table.leaf(inner.variable, this.#scope));
      } else if (inner.kind === 'store') this.#state.memory.set(inner.buffer, this.#version());
      else if (
        inner.kind === 'call' ||
        inner.kind === 'barrier' ||
        inner.kind === 'workgroup barrier'
      ) {
        for (const buffer of this.#state.memory.keys())
          this.#state.memory.set(buffer, this.#version());
      }
    });
    this.#numbered = new Map();
  }

  #used(expr: Expr): NumberedValue {
    const value = this.#value(expr);
    value.use(this.#scope);
    return value;
  }

  #value(root: Expr): NumberedValue {
    visitNew([root], this.#numbered, (expr) => {
      this.#numbered.set(expr, this.#compute(expr));
    });
    return this.#numbered.get(root)!;
  }

  #compute(expr: Expr): NumberedValue {
    if (expr.kind === 'var') return this.#state.locals.get(expr) ?? this.#fixed.get(expr)!;
    if (expr.kind === 'const') {
      const constant = this.#constants.intern(expr);
      let known = this.#fixed.get(constant);
      if (known === undefined)
        this.#fixed.set(constant, (known = this.#table.leaf(constant, this.#root)));
      return known;
    }
    const read = children(expr);
    const operands: NumberedValue[] = [];
    for (let i = 0; i < read.length; i++) operands.push(this.#numbered.get(read[i])!);
    const memory = expr.kind === 'load' ? this.#state.memory.get(expr.buffer)! : null;
    return this.#table.find(expr, operands, memory, this.#scope);
  }
}

/** Number of outermost loops in a statement. */
function loopsIn(stmt: Stmt): number {
  if (stmt.kind === 'for' || stmt.kind === 'while') return 1;
  return ownStmts(stmt).reduce((count, inner) => count + loopsIn(inner), 0);
}
