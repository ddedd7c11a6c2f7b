import * as e from '../../loop/language/build.js';
import type { Expr, Kernel, Stmt, Var } from '../../loop/language/nodes.js';
import { scalarize } from '../../loop/optimize/scalarize.js';
import { share } from '../../loop/optimize/share.js';
import { simplifyKernel } from '../../loop/optimize/simplify.js';
import { unroll } from '../../loop/optimize/unroll.js';
import { mapStmt, substitution, withBody } from '../../loop/language/visit.js';

/** A kernel whose parallel ranges are loops over single steps. */
export interface GridKernel {
  readonly kernel: Kernel;
  /** The number of the invocation: a loop that begins with it advances by the number of all invocations. */
  readonly invocation: Var;
  /** Steps of each range, in terms of what the kernel knows. */
  readonly ranges: readonly Expr[];
}

/**
 * Optimizes a kernel for a grid: a range of `n` steps becomes a loop over the steps that fall to one invocation, each
 * of them a stretch of its own.
 */
export function gridKernel(kernel: Kernel): GridKernel {
  const invocation = e.variable('invocation', 'i32');
  const ranges: Expr[] = [];
  const visit = (stmt: Stmt): Stmt => {
    if (stmt.kind !== 'parallel') return mapStmt(stmt, { stmt: visit });
    const { from, to, begin, end, step } = stmt;
    const length = e.sub(end, begin);
    const steps = step === 1 ? length : e.div(e.add(length, step - 1), step);
    ranges.push(steps);
    // What is proved of indices counts on their being no less than 0.
    return e.forLoop('stretch', e.max(invocation, 0), steps, (stretch) => {
      const first = e.add(begin, step === 1 ? stretch : e.mul(stretch, step));
      const behind = e.add(first, step);
      const expr = substitution(
        new Map([
          [from, first],
          [to, step === 1 ? behind : e.min(behind, end)],
        ]),
      );
      const replaced = (inner: Stmt): Stmt => mapStmt(inner, { expr, stmt: replaced });
      return replaced(stmt.body);
    });
  };
  const scalar = scalarize(kernel);
  const body = visit(scalar.body);
  const whole = { ...kernel, params: [...kernel.params, invocation], body };
  const optimized = [unroll, simplifyKernel, share].reduce<Kernel>((given, pass) => pass(given), whole); // prettier-ignore
  return { kernel: withBody({ ...optimized, params: kernel.params }, optimized.body), invocation, ranges }; // prettier-ignore
}
