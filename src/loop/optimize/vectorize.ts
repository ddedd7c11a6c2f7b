import { separateBindings, sibling } from '../analysis/bindings.js';
import * as e from '../language/build.js';
import type { Expr, For, Kernel, Stmt, Var } from '../language/nodes.js';
import { Purity } from '../analysis/purity.js';
import { assignedVariables, children, exprMapper, mapStmt, ownExprs, visitNew, visitStmts, withBody } from '../language/visit.js'; // prettier-ignore

export interface VectorOptions {
  /** Bytes of one vector register of the target. */
  readonly vectorBytes: number;
}

/**
 * Turns loops of mode `vector` into a main loop whose iterations are lanes, and remainder loops, of narrower
 * vectors where there are some, and of single elements. `vector` is a promise that iterations are
 * independent. A loop that cannot be vectorized becomes serial: one with a `while`, a branch or a nested
 * bound that differs between lanes, a call, an assignment to an outer local, a store to one address from all
 * lanes, or vectors.
 */
export function vectorize(kernel: Kernel, { vectorBytes }: VectorOptions): Kernel {
  const separate = separateBindings(kernel);
  const purity = new Purity(assignedVariables(separate.body));
  const visit = (stmt: Stmt): Stmt => {
    const inner = mapStmt(stmt, { stmt: visit });
    if (inner.kind !== 'for' || inner.mode !== 'vector') return inner;
    return vectorLoop(inner, vectorBytes, purity) ?? { ...inner, mode: 'serial' };
  };
  return withBody(kernel, visit(separate.body));
}

function vectorLoop(loop: For, vectorBytes: number, purity: Purity): Stmt | null {
  if (loop.step !== 1) return null;
  const varying = new Varying(loop);
  if (!varying.isVectorizable(loop.body)) return null;
  const lanes = Math.floor(vectorBytes / varying.widestBytes(loop.body));
  if (lanes < 2) return null;

  // Both loops read the bounds, and the first might change their operands.
  const saved: Stmt[] = [];
  const lasting = (bound: Expr): Expr => {
    if (purity.isHarmless(bound)) return bound;
    const local = e.variable('bound', 'i32');
    saved.push(e.declare(local, bound));
    return local;
  };
  const [begin, end] = [lasting(loop.begin), lasting(loop.end)];
  const parts: Stmt[] = [];
  let from = begin;
  for (const width of widths(lanes, vectorBytes / lanes, areKnown(begin, end))) {
    const to = lastFullVector(begin, end, width);
    if (isSame(from, to)) continue;
    const index = sibling(loop.variable);
    const body = widen(loop, index, width, varying);
    parts.push({ ...loop, variable: index, begin: from, end: to, step: width, mode: 'serial', body }); // prettier-ignore
    from = to;
  }
  if (isSame(from, end)) return e.block(...saved, ...parts);
  // The widened body binds variables of its own, so the remainder can keep the old ones.
  return e.block(...saved, ...parts, { ...loop, begin: from, end, mode: 'serial' });
}

/** The narrowest vector registers of any processor. */
const leastBytes = 16;

/**
 * The vector widths of the main and remainder loops, in order. With a static trip count, the remainder is
 * covered exactly; otherwise each form is more code, and a quarter is enough.
 */
function widths(lanes: number, laneBytes: number, areKnown: boolean): readonly number[] {
  const found = [lanes];
  for (let width = lanes / 2; width * laneBytes >= leastBytes; width /= 2) found.push(width);
  return areKnown ? found : found.filter((_, at) => at % 2 === 0);
}

function areKnown(begin: Expr, end: Expr): boolean {
  return begin.kind === 'const' && end.kind === 'const';
}

function isSame(a: Expr, b: Expr): boolean {
  return a.kind === 'const' && b.kind === 'const' && a.value === b.value;
}

/** End of the iterations that fill vectors. */
function lastFullVector(begin: Expr, end: Expr, lanes: number): Expr {
  if (begin.kind === 'const' && end.kind === 'const') {
    const [from, to] = [Number(begin.value), Number(end.value)];
    if (to - from >= 0) return e.i32(to - ((to - from) % lanes));
  }
  return e.add(begin, e.mul(e.div(e.sub(end, begin), lanes), lanes));
}

/** The body for `lanes` iterations at once, from `index` on. */
function widen(loop: For, index: Var, lanes: number, varying: Varying): Stmt {
  const ramp = e.ramp(index, 1, lanes);
  const locals = new Map<Var, Var>();
  const expr = exprMapper((x) => {
    if (x === loop.variable) return ramp;
    return x.kind === 'var' ? (locals.get(x) ?? x) : x;
  });
  const bind = (local: Var): Var => {
    const wide = sibling(local, varying.has(local) ? lanes : 1);
    locals.set(local, wide);
    return wide;
  };
  const visit = (stmt: Stmt): Stmt => {
    switch (stmt.kind) {
      case 'declare': {
        const value = expr(stmt.value);
        const wide = bind(stmt.variable);
        return e.declare(wide, e.broadcast(value, wide.type.lanes));
      }
      case 'assign': {
        const wide = locals.get(stmt.variable)!;
        return e.assign(wide, e.broadcast(expr(stmt.value), wide.type.lanes));
      }
      case 'for': {
        const [begin, end] = [expr(stmt.begin), expr(stmt.end)];
        const mode = stmt.mode === 'unroll' ? 'unroll' : 'serial';
        return { ...stmt, begin, end, mode, variable: bind(stmt.variable), body: visit(stmt.body) };
      }
      default:
        return mapStmt(stmt, { expr, stmt: visit });
    }
  };
  return visit(loop.body);
}

/** Variables and expressions that differ between the iterations of a loop. */
class Varying {
  readonly #variables: Set<Var>;
  readonly #inside: Set<Var> = new Set();
  #exprs: Map<Expr, boolean> = new Map();

  constructor(loop: For) {
    this.#variables = new Set([loop.variable]);
    visitStmts(loop.body, (stmt) => {
      if (stmt.kind === 'declare' || stmt.kind === 'for') this.#inside.add(stmt.variable);
    });
    // An accumulator may feed a local above it in the next trip of a nested loop: repeat until stable.
    for (let before = -1; before !== this.#variables.size;) {
      before = this.#variables.size;
      visitStmts(loop.body, (stmt) => {
        if ((stmt.kind === 'declare' || stmt.kind === 'assign') && this.has(stmt.value)) {
          this.#variables.add(stmt.variable);
        }
      });
      if (before !== this.#variables.size) this.#exprs = new Map();
    }
  }

  has(root: Expr): boolean {
    visitNew([root], this.#exprs, (expr) => {
      const varies =
        expr.kind === 'var'
          ? this.#variables.has(expr)
          : children(expr).some((child) => this.#exprs.get(child));
      this.#exprs.set(expr, varies);
    });
    return this.#exprs.get(root)!;
  }

  /** Visits every expression, which `widestBytes` relies on. */
  isVectorizable(body: Stmt): boolean {
    let possible = true;
    visitStmts(body, (stmt) => {
      for (const expr of ownExprs(stmt)) this.has(expr);
      switch (stmt.kind) {
        case 'for':
        case 'while':
        case 'if':
          possible &&= ownExprs(stmt).every((x) => !this.has(x));
          break;
        case 'assign':
          possible &&= this.#inside.has(stmt.variable);
          break;
        case 'store':
          possible &&= this.has(stmt.index);
          break;
        case 'call':
        case 'barrier':
        case 'workgroup barrier':
          possible = false;
      }
    });
    for (const expr of this.#exprs.keys()) possible &&= expr.type.lanes === 1;
    return possible;
  }

  /** The width of the widest lane that becomes part of a vector. */
  widestBytes(body: Stmt): number {
    let widest = 4;
    visitStmts(body, (stmt) => {
      if (stmt.kind === 'store') widest = Math.max(widest, e.scalarBytes(stmt.value.type.scalar));
    });
    for (const [expr, varies] of this.#exprs) {
      if (varies) widest = Math.max(widest, e.scalarBytes(expr.type.scalar));
    }
    return widest;
  }
}
