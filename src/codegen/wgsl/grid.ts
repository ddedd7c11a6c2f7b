import * as e from '../../loop/language/build.js';
import type {
  Buffer,
  Expr,
  For,
  Kernel,
  Stmt,
  Var,
  Workgroups,
} from '../../loop/language/nodes.js';
import { promotePrivate } from '../../loop/optimize/promote.js';
import { scalarize } from '../../loop/optimize/scalarize.js';
import { share } from '../../loop/optimize/share.js';
import { simplifyKernel } from '../../loop/optimize/simplify.js';
import { unroll } from '../../loop/optimize/unroll.js';
import { vectorize } from '../../loop/optimize/vectorize.js';
import { mapStmt, ownExprs, substitution, visitExprs, visitStmts, withBody } from '../../loop/language/visit.js'; // prettier-ignore
import { gridLanes } from '../../loop/language/team.js';
import { isShaderType } from './functions/types.js';

/** A kernel whose parallel ranges are loops over single steps, and whose workgroups are a loop over groups. */
export interface GridKernel {
  readonly kernel: Kernel;
  /** Null where invocations have nothing to do with those beside them. */
  readonly workgroups: GridWorkgroups | null;
  /** The number of the invocation: a loop that begins with it advances by the number of all invocations. */
  readonly invocation: Var;
  /** Steps of each range, in terms of what the kernel knows. */
  readonly ranges: readonly Expr[];
}

/** Workgroups of a kernel. */
export interface GridWorkgroups {
  readonly statement: Workgroups;
  /** The number of the workgroup: a loop that begins with it advances by the number of all workgroups. */
  readonly group: Var;
}

/**
 * Optimizes a kernel for a grid: a range of `n` steps becomes a loop over the steps that fall to one invocation, each
 * of them a stretch of its own. Workgroups become a loop over those that fall to one workgroup of the device, which
 * use its memory one after the other.
 */
export function gridKernel(kernel: Kernel): GridKernel {
  const invocation = e.variable('invocation', 'i32');
  const ranges: Expr[] = [];
  let workgroups: GridWorkgroups | null = null;
  const visit = (stmt: Stmt): Stmt => {
    if (stmt.kind === 'workgroups') {
      const group = e.variable('workgroup', 'i32');
      workgroups = { statement: stmt, group };
      return e.forLoop('group', e.max(group, 0), stmt.count, (at) => {
        const body = replaceVariables(stmt.body, new Map([[stmt.group, at]]));
        return stmt.memory.length === 0 ? body : e.block(body, e.workgroupBarrier);
      });
    }
    if (stmt.kind !== 'parallel') return mapStmt(stmt, { stmt: visit });
    const { from, to, begin, end, step } = stmt;
    const length = e.sub(end, begin);
    const steps = step === 1 ? length : e.div(e.add(length, step - 1), step);
    ranges.push(steps);
    // What is proved of indices counts on their being no less than 0.
    return e.forLoop('stretch', e.max(invocation, 0), steps, (stretch) => {
      const first = e.add(begin, step === 1 ? stretch : e.mul(stretch, step));
      const behind = e.add(first, step);
      const ends = new Map([
        [from, first],
        [to, step === 1 ? behind : e.min(behind, end)],
      ]);
      return replaceVariables(stmt.body, ends);
    });
  };
  const body = visit(inShaderTypes(kernel).body);
  const own = grouped(workgroups);
  const whole = { ...kernel, params: [...kernel.params, invocation, ...own], body };
  const optimized = [unroll, simplifyKernel, promotePrivate, share].reduce<Kernel>((given, pass) => pass(given), whole); // prettier-ignore
  return { kernel: withBody({ ...optimized, params: kernel.params }, optimized.body), invocation, ranges, workgroups }; // prettier-ignore
}

/** The kernel with vectors of four lanes where it asks for them, without vectors where it has others. */
function inShaderTypes(kernel: Kernel): Kernel {
  const visit = (stmt: Stmt): Stmt => {
    const inner = mapStmt(stmt, { stmt: visit });
    if (inner.kind !== 'for' || inner.mode !== 'vector' || isOfLanes(inner)) return inner;
    return { ...inner, mode: 'serial' };
  };
  const vectorBytes = gridLanes * e.scalarBytes('f32');
  const vectorized = vectorize(withBody(kernel, visit(kernel.body)), { vectorBytes });
  let isPossible = true;
  visitStmts(vectorized.body, (stmt) => {
    visitExprs(ownExprs(stmt), ({ type }) => void (isPossible &&= isShaderType(type)));
  });
  return isPossible ? vectorized : scalarize(kernel);
}

/** True for a loop that is one vector. */
function isOfLanes({ begin, end, step }: For): boolean {
  const [from, to] = [begin, end].map((bound) => bound.kind === 'const' && Number(bound.value));
  return step === 1 && from === 0 && to === gridLanes;
}

/** Everything that code of workgroups reads besides parameters. */
function grouped(workgroups: GridWorkgroups | null): readonly (Buffer | Var)[] {
  if (workgroups === null) return [];
  const { statement, group } = workgroups;
  return [group, statement.invocation, ...statement.memory.map(({ buffer }) => buffer)];
}

function replaceVariables(body: Stmt, values: ReadonlyMap<Var, Expr>): Stmt {
  const expr = substitution(values);
  const replaced = (inner: Stmt): Stmt => mapStmt(inner, { expr, stmt: replaced });
  return replaced(body);
}
