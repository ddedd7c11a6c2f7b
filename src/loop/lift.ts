import * as e from './build.js';
import type { Const, Expr, Kernel, Module, Stmt, Var } from './nodes.js';
import { type Skeleton, skeletonOf } from './structure.js';
import {
  calledKernels,
  exprMapper,
  mapStmt,
  ownExprs,
  visitExprs,
  visitStmts,
  withBody,
} from './visit.js';

/**
 * Makes one kernel of those that differ in sizes only: the i32 constants in which they differ become
 * parameters, and calls give the values. Law: a parameter is worth what the constant was.
 *
 * Only for kernels that choose their lanes themselves, such as products: they are the largest, so
 * that a network of many sizes would spend most of its start on them, and nothing in their innermost
 * loops depends on a size. A vector loop would lose what `vectorize` does with a known length.
 */
export function liftConstants(module: Module): Module {
  const families = new Map<string, { readonly kernel: Kernel; readonly skeleton: Skeleton }[]>();
  for (const kernel of calledKernels(module)) {
    if (!choosesItsLanes(kernel)) continue;
    const skeleton = skeletonOf(kernel);
    if (skeleton === null) continue;
    const family = families.get(skeleton.text);
    if (family === undefined) families.set(skeleton.text, [{ kernel, skeleton }]);
    else family.push({ kernel, skeleton });
  }
  const lifted = new Map<Kernel, Lifted>();
  for (const family of families.values()) {
    if (family.length > 1) lift(family, lifted);
  }
  if (lifted.size === 0) return module;
  const redirect = (stmt: Stmt): Stmt => {
    const known = stmt.kind === 'call' ? lifted.get(stmt.kernel) : undefined;
    if (stmt.kind !== 'call' || known === undefined) return mapStmt(stmt, { stmt: redirect });
    return e.call(known.kernel, [...stmt.args, ...known.values]);
  };
  const kernels = module.kernels.map(
    (kernel) => lifted.get(kernel)?.kernel ?? withBody(kernel, redirect(kernel.body)),
  );
  return e.moduleOf([...new Set(kernels)]);
}

/** A kernel that serves several sizes, and what to call it with for one of them. */
interface Lifted {
  readonly kernel: Kernel;
  readonly values: readonly Const[];
}

function choosesItsLanes({ body }: Kernel): boolean {
  let chooses = true;
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'for' && (stmt.mode === 'vector' || stmt.mode === 'unroll')) chooses = false;
  });
  return chooses;
}

/** Makes one kernel of a family, unless it would divide or shift by a parameter. */
function lift(
  family: readonly { readonly kernel: Kernel; readonly skeleton: Skeleton }[],
  lifted: Map<Kernel, Lifted>,
): void {
  const [{ kernel, skeleton }] = family;
  const params = new Map<string, { readonly param: Var; readonly at: number }>();
  const replaced = new Map<Expr, Var>();
  skeleton.constants.forEach((constant, at) => {
    const values = family.map((member) => member.skeleton.constants[at].value);
    if (values.every((value) => value === values[0])) return;
    const key = values.join();
    let known = params.get(key);
    if (known === undefined) {
      known = { param: e.variable(`size${params.size}`, 'i32'), at };
      params.set(key, known);
    }
    replaced.set(constant, known.param);
  });
  if (dividesByOneOf(kernel.body, replaced)) return;
  const expr = exprMapper((node) => replaced.get(node) ?? node);
  const rewrite = (stmt: Stmt): Stmt => mapStmt(stmt, { expr, stmt: rewrite });
  const sizes = [...params.values()];
  const common = e.kernel(
    kernel.name,
    [...kernel.params, ...sizes.map(({ param }) => param)],
    rewrite(kernel.body),
  );
  for (const member of family) {
    const values = sizes.map(({ at }) => member.skeleton.constants[at]);
    lifted.set(member.kernel, { kernel: common, values });
  }
}

/** Divisions and shifts by constants are much cheaper, and more is known of them. */
function dividesByOneOf(body: Stmt, constants: ReadonlyMap<Expr, Var>): boolean {
  const roots: Expr[] = [];
  visitStmts(body, (stmt) => roots.push(...ownExprs(stmt)));
  let found = false;
  visitExprs(roots, (expr) => {
    if (expr.kind !== 'binary' || !constants.has(expr.b)) return;
    if (divisions.has(expr.op)) found = true;
  });
  return found;
}

const divisions: ReadonlySet<string> = new Set(['div', 'rem', 'shl', 'shr', 'shrU']);
