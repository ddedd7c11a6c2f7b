import type { Expr, For, Parallel, Stmt, Var } from './nodes.js';
import { binaryLane } from './scalar.js';
import { ownExprs, ownStmts, visitExprs, visitStmts } from './visit.js';

/**
 * Description of what is wrong with the parallel ranges of a kernel; null if nothing is found. Stretches run in any order
 * and at the same time, so that
 *
 * - a range is in no other range, and holds no barrier and no call;
 * - what is assigned in it is declared in it;
 * - where a kernel has ranges, shared memory is stored to in ranges only, at indices or on
 *   conditions that depend on the stretch, unless there is certainly one stretch only.
 *
 * Disjointness of what stretches store cannot be decided statically: tests run teams member by member.
 */
export function problemOfRanges(body: Stmt): string | null {
  const ranges = rangesIn(body);
  if (ranges.length === 0) return null;
  return (
    problemOutside(body, 'parallel ranges') ??
    ranges.map(problemOf).find((problem) => problem !== null) ??
    null
  );
}

/** The parallel ranges in a statement, outer ones first. */
export function rangesIn(body: Stmt): readonly Parallel[] {
  const found: Parallel[] = [];
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'parallel') found.push(stmt);
  });
  return found;
}

/** Description of a store to shared memory that every member would do. */
export function problemOutside(stmt: Stmt, parts: string): string | null {
  if (stmt.kind === 'parallel' || stmt.kind === 'workgroups') return null;
  if (stmt.kind === 'store' && !stmt.buffer.isPrivate) {
    return `it stores to ${stmt.buffer.name} outside of its ${parts}`;
  }
  for (const inner of ownStmts(stmt)) {
    const problem = problemOutside(inner, parts);
    if (problem !== null) return problem;
  }
  return null;
}

function problemOf(range: Parallel): string | null {
  const own = new Set<Var>();
  const varying = varyingIn([range.from, range.to], range.body);
  /** `isChosen`: whether the stretch decides that a statement runs, or none runs it. */
  const problemIn = (stmt: Stmt, isChosen: boolean): string | null => {
    switch (stmt.kind) {
      case 'parallel':
        return 'a parallel range is in another';
      case 'barrier':
      case 'workgroups':
      case 'call':
        return `there is a ${stmt.kind} in a parallel range`;
      case 'declare':
        own.add(stmt.variable);
        return null;
      case 'assign':
        if (own.has(stmt.variable)) return null;
        return `${stmt.variable.name} is assigned in a parallel range, but declared outside`;
      case 'store':
        if (stmt.buffer.isPrivate || isChosen || depends(stmt.index, varying)) return null;
        return `all stretches of a parallel range store to one place of ${stmt.buffer.name}`;
      default: {
        const isInside =
          isChosen ||
          (stmt.kind === 'if' && depends(stmt.condition, varying)) ||
          (stmt.kind === 'for' && isEmptyLoop(stmt));
        for (const inner of ownStmts(stmt)) {
          const problem = problemIn(inner, isInside);
          if (problem !== null) return problem;
        }
        return null;
      }
    }
  };
  return problemIn(range.body, isOneStretch(range));
}

/** True for a loop that certainly never runs: over arrays without elements every index is one place. */
function isEmptyLoop({ begin, end }: For): boolean {
  const [from, to] = [valueOf(begin), valueOf(end)];
  return from !== null && to !== null && to <= from;
}

/** Tests that a range is certainly too short to be divided. */
function isOneStretch({ begin, end, step }: Parallel): boolean {
  const [from, to] = [valueOf(begin), valueOf(end)];
  return from !== null && to !== null && to - from <= step;
}

/** The value of an i32 expression of constants; null where it is another one. */
function valueOf(expr: Expr): number | null {
  if (expr.kind === 'const') return Number(expr.value);
  if (expr.kind !== 'binary') return null;
  const [a, b] = [valueOf(expr.a), valueOf(expr.b)];
  return a === null || b === null ? null : Number(binaryLane(expr.op, 'i32')(a, b));
}

/** Variables whose values depend on some, those included. */
export function varyingIn(seeds: readonly Var[], body: Stmt): ReadonlySet<Var> {
  const varying = new Set(seeds);
  // What is assigned at the end of a loop may feed what is declared at its beginning.
  for (let before = -1; before !== varying.size;) {
    before = varying.size;
    visitStmts(body, (stmt) => {
      if (!('variable' in stmt) || varying.has(stmt.variable)) return;
      if (ownExprs(stmt).some((expr) => depends(expr, varying))) varying.add(stmt.variable);
    });
  }
  return varying;
}

/** True for an expression that reads one of some variables. */
export function depends(expr: Expr, varying: ReadonlySet<Var>): boolean {
  let found = false;
  visitExprs([expr], (inner) => {
    if (inner.kind === 'var' && varying.has(inner)) found = true;
  });
  return found;
}
