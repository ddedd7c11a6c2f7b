import * as e from '../language/build.js';
import type { Expr, Kernel, Stmt, Store, Var } from '../language/nodes.js';
import { mapStmt, withBody } from '../language/visit.js';

/**
 * The kernel without vectors, for targets whose threads are the lanes: each vector becomes its lanes, each access as
 * many accesses, in the order of the lanes.
 */
export function scalarize(kernel: Kernel): Kernel {
  return withBody(kernel, new Scalarizer().statement(kernel.body));
}

class Scalarizer {
  readonly #locals: Map<Var, readonly Var[]> = new Map();
  /** Lanes of expressions that have been looked at; scalars have one. */
  readonly #lanes: Map<Expr, Expr[]> = new Map();

  statement(stmt: Stmt): Stmt {
    switch (stmt.kind) {
      case 'declare': {
        if (stmt.variable.type.lanes === 1) break;
        const values = this.#all(stmt.value);
        return inOneScope(this.#localsOf(stmt.variable).map((local, k) => e.declare(local, values[k]))); // prettier-ignore
      }
      case 'assign': {
        if (stmt.variable.type.lanes === 1) break;
        // A lane may be computed from others, so that all are known before one changes.
        const { fresh, declarations } = declared(this.#all(stmt.value));
        const locals = this.#localsOf(stmt.variable);
        return e.block(...declarations, ...locals.map((local, k) => e.assign(local, fresh[k])));
      }
      case 'store':
        if (stmt.index.type.lanes > 1) return this.#store(stmt);
        break;
      case 'block': {
        const body = stmt.body.flatMap((inner): readonly Stmt[] => {
          const made = this.statement(inner);
          // Lanes of a local live as long as the local.
          return inner.kind === 'declare' && made.kind === 'block' ? made.body : [made];
        });
        return e.block(...body);
      }
    }
    return mapStmt(stmt, {
      expr: (expr) => this.#lane(expr, 0),
      stmt: (inner) => this.statement(inner),
    });
  }

  /** Every lane is read before the first is stored, since it may be read where another one goes. */
  #store({ buffer, index, value }: Store): Stmt {
    const places = this.#all(index);
    const { fresh, declarations } = declared(this.#all(value));
    return e.block(...declarations, ...places.map((at, k) => e.store(buffer, at, fresh[k])));
  }

  #all(expr: Expr): readonly Expr[] {
    return Array.from({ length: expr.type.lanes }, (_, k) => this.#lane(expr, k));
  }

  #localsOf(variable: Var): readonly Var[] {
    let locals = this.#locals.get(variable);
    if (locals === undefined) {
      const { name, type } = variable;
      locals = Array.from({ length: type.lanes }, (_, k) => e.variable(`${name}_${k}`, type.scalar)); // prettier-ignore
      this.#locals.set(variable, locals);
    }
    return locals;
  }

  #lane(expr: Expr, lane: number): Expr {
    let known = this.#lanes.get(expr);
    if (known === undefined) this.#lanes.set(expr, (known = []));
    return (known[lane] ??= this.#compute(expr, lane));
  }

  #compute(expr: Expr, lane: number): Expr {
    const of = (operand: Expr): Expr => this.#lane(operand, operand.type.lanes === 1 ? 0 : lane);
    const { scalar, lanes } = expr.type;
    switch (expr.kind) {
      case 'const':
        return lanes === 1 ? expr : e.constant(scalar, expr.value);
      case 'var':
        return lanes === 1 ? expr : this.#localsOf(expr)[lane];
      case 'unary':
        return e.unary(expr.op, of(expr.x));
      case 'binary':
        return e.binary(expr.op, of(expr.a), of(expr.b));
      case 'select':
        return e.select(of(expr.condition), of(expr.a), of(expr.b));
      case 'cast':
        return e.cast(scalar, of(expr.x));
      case 'bitcast':
        return e.bitcast(scalar, of(expr.x));
      case 'load':
        return e.load(expr.buffer, of(expr.index));
      case 'ramp':
        return e.add(of(expr.base), e.mul(of(expr.stride), lane));
      case 'broadcast':
        return of(expr.x);
      case 'extract':
        return this.#lane(expr.x, expr.lane);
    }
  }
}

function inOneScope(body: readonly Stmt[]): Stmt {
  return { kind: 'block', body };
}

function declared(values: readonly Expr[]): {
  readonly fresh: readonly Var[];
  readonly declarations: readonly Stmt[];
} {
  const fresh = values.map(({ type }, k) => e.variable(`lane${k}`, type.scalar));
  return { fresh, declarations: fresh.map((local, k) => e.declare(local, values[k])) };
}
