import { storageBytes } from './build.js';
import type { Buffer, Expr, Stmt, Var, Workgroups } from './nodes.js';
import { depends, problemOutside, rangesIn, varyingIn } from './verify-ranges.js';
import { ownExprs, ownStmts, visitExprs, visitStmts } from './visit.js';

/** Limits that every GPU with WebGPU keeps to. */
export const workgroupLimits = { invocations: 256, bytes: 16384 } as const;

/**
 * Description of what is wrong with the workgroups of a kernel; null if nothing is found. Groups run in any order and at
 * the same time, and so do the invocations of one group between two barriers, so that
 *
 * - a kernel has ranges or workgroups, and of workgroups one statement at most, in no loop;
 * - its size and memory, of elements of 32 or 64 bits, are within the limits of all devices;
 * - barriers are in workgroups, where all invocations of a group arrive: neither their number nor memory decides that;
 * - there are no barriers of teams and no calls in workgroups;
 * - what is assigned in them is declared in them;
 * - memory of all is stored to in workgroups only, at indices or on conditions that depend on the group and on the
 *   invocation, and memory of a group at some that depend on the invocation.
 *
 * Whether a barrier is missing cannot be decided statically: the interpreter finds it.
 */
export function problemOfWorkgroups(body: Stmt): string | null {
  const all = workgroupsIn(body);
  if (all.length === 0) {
    return barriersIn(body) > 0 ? 'there is a workgroup barrier outside of workgroups' : null;
  }
  const [groups] = all;
  if (all.length > 1) return 'it has several statements of workgroups';
  if (rangesIn(body).length > 0) return 'it has both ranges and workgroups';
  if (barriersIn(body) > barriersIn(groups.body)) {
    return 'there is a workgroup barrier outside of workgroups';
  }
  if (isInLoop(body, groups)) return 'its workgroups are in a loop';
  return problemOutside(body, 'workgroups') ?? problemOfSizes(groups) ?? problemInside(groups);
}

/** The statements of workgroups in a statement. */
export function workgroupsIn(body: Stmt): readonly Workgroups[] {
  const found: Workgroups[] = [];
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'workgroups') found.push(stmt);
  });
  return found;
}

function barriersIn(body: Stmt): number {
  let count = 0;
  visitStmts(body, ({ kind }) => {
    if (kind === 'workgroup barrier') count++;
  });
  return count;
}

function isInLoop(stmt: Stmt, groups: Workgroups): boolean {
  if (stmt.kind === 'for' || stmt.kind === 'while') return workgroupsIn(stmt).length > 0;
  return stmt !== groups && ownStmts(stmt).some((inner) => isInLoop(inner, groups));
}

function problemOfSizes({ size, memory }: Workgroups): string | null {
  const { invocations, bytes } = workgroupLimits;
  if (!(Number.isInteger(size) && size > 0 && size <= invocations)) {
    return `workgroups of ${size} invocations`;
  }
  let used = 0;
  for (const { buffer, length } of memory) {
    if (!(Number.isInteger(length) && length > 0)) return `${buffer.name} of ${length} elements`;
    const wide = storageBytes(buffer.storage);
    if (buffer.isPrivate || wide < 4) return `${buffer.name} is no memory for a workgroup`;
    used += length * wide;
  }
  return used > bytes ? `${used} bytes of memory for a workgroup` : null;
}

function problemInside({
  group,
  invocation,
  count,
  size,
  memory,
  body,
}: Workgroups): string | null {
  const isOneGroup = count.kind === 'const' && Number(count.value) <= 1;
  const ofGroup = varyingIn([group], body);
  const ofInvocation = varyingIn([invocation], body);
  const divergent = divergentIn(invocation, body);
  const shared = new Set<Buffer>(memory.map(({ buffer }) => buffer));
  const own = new Set<Var>();
  /** Conditions around a statement; `isUniform`: all invocations arrive at it. */
  interface Around {
    readonly choosesGroup: boolean;
    readonly choosesInvocation: boolean;
    readonly isUniform: boolean;
  }
  const problemIn = (stmt: Stmt, around: Around): string | null => {
    switch (stmt.kind) {
      case 'barrier':
      case 'call':
        return `there is a ${stmt.kind} in workgroups`;
      case 'workgroup barrier':
        return around.isUniform ? null : 'not all invocations arrive at a workgroup barrier';
      case 'declare':
        own.add(stmt.variable);
        return null;
      case 'assign':
        if (own.has(stmt.variable)) return null;
        return `${stmt.variable.name} is assigned in workgroups, but declared outside`;
      case 'store': {
        const { buffer, index } = stmt;
        if (buffer.isPrivate) return null;
        if (!around.choosesInvocation && !depends(index, ofInvocation)) {
          return `all invocations of a workgroup store to one place of ${buffer.name}`;
        }
        if (shared.has(buffer) || around.choosesGroup || depends(index, ofGroup)) return null;
        return `all workgroups store to one place of ${buffer.name}`;
      }
      default: {
        const conditions = ownExprs(stmt);
        const isBranch = stmt.kind === 'if';
        const inside = {
          choosesGroup: around.choosesGroup || (isBranch && depends(stmt.condition, ofGroup)),
          choosesInvocation: around.choosesInvocation || (isBranch && depends(stmt.condition, ofInvocation)), // prettier-ignore
          isUniform: around.isUniform && conditions.every((expr) => isUniform(expr, divergent)),
        };
        for (const inner of ownStmts(stmt)) {
          const problem = problemIn(inner, inside);
          if (problem !== null) return problem;
        }
        return null;
      }
    }
  };
  return problemIn(body, { choosesGroup: isOneGroup, choosesInvocation: size === 1, isUniform: true }); // prettier-ignore
}

/** Variables that may differ between the invocations of a group: by their values, or by who assigns them. */
function divergentIn(invocation: Var, body: Stmt): ReadonlySet<Var> {
  const divergent = new Set([invocation]);
  for (let before = -1; before !== divergent.size;) {
    before = divergent.size;
    const visit = (stmt: Stmt, isTogether: boolean): void => {
      const isAlike = ownExprs(stmt).every((expr) => isUniform(expr, divergent));
      if ('variable' in stmt && (!isAlike || (stmt.kind === 'assign' && !isTogether))) {
        divergent.add(stmt.variable);
      }
      for (const inner of ownStmts(stmt)) visit(inner, isTogether && isAlike);
    };
    visit(body, true);
  }
  return divergent;
}

/** True for an expression that is certainly the same for all invocations: it reads no memory. */
function isUniform(expr: Expr, divergent: ReadonlySet<Var>): boolean {
  let answer = true;
  visitExprs([expr], (inner) => {
    if (inner.kind === 'load' || (inner.kind === 'var' && divergent.has(inner))) answer = false;
  });
  return answer;
}
