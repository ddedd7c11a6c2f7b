import * as e from '../language/build.js';
import type { Const, Expr, For, Kernel, Module, Stmt, Var } from '../language/nodes.js';
import { greatestCommonDivisor } from '../analysis/polynomial.js';
import { type Skeleton, skeletonOf } from '../analysis/structure.js';
import {
  calledKernels,
  children,
  exprMapper,
  mapStmt,
  ownExprs,
  visitExprs,
  visitStmts,
  withBody,
} from '../language/visit.js';

/**
 * Merges kernels that differ in sizes only: the i32 constants in which they differ become parameters, and
 * calls pass the values. Law: a parameter, times the common divisor of the constants, equals the constant.
 *
 * Only where symbolic code is as good as static code. Kernels that choose their lanes themselves, such as
 * products, are the largest, so that a network of many sizes would spend most of its startup on them, and
 * nothing in their innermost loops depends on a size. One flat loop is equally good as long as its length
 * certainly fills vectors; any other would lose what `vectorize` does with a known length.
 */
export function liftConstants(module: Module): Module {
  const families = new Map<string, Family>();
  for (const kernel of calledKernels(module)) {
    const wholes = wholesOf(kernel);
    if (wholes === null) continue;
    const skeleton = skeletonOf(kernel);
    if (skeleton === null) continue;
    const family = families.get(skeleton.text);
    if (family === undefined)
      families.set(skeleton.text, { members: [{ kernel, skeleton }], wholes });
    else family.members.push({ kernel, skeleton });
  }
  const lifted = new Map<Kernel, Lifted>();
  for (const family of families.values()) {
    if (family.members.length > 1) lift(family, lifted);
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

/** No vector has more lanes, of 32 bits in 64 bytes. */
const mostLanes = 16;

/** Kernels that are alike but for the values of constants. */
interface Family {
  readonly members: { readonly kernel: Kernel; readonly skeleton: Skeleton }[];
  /** Required divisor of each constant that becomes a parameter. */
  readonly wholes: number;
}

/** A kernel that serves several sizes, and the arguments for one of them. */
interface Lifted {
  readonly kernel: Kernel;
  readonly values: readonly Const[];
}

/** A parameter that takes the place of a constant in each member of a family. */
interface Size {
  readonly param: Var;
  /** The constant is this multiple of the parameter. */
  readonly unit: number;
  /** By member of the family. */
  readonly values: readonly number[];
}

/** True when a kernel that takes sizes as parameters is as good as kernels that have them as constants. */
export function isForAnySize(kernel: Kernel, sizes: ReadonlySet<Expr>): boolean {
  const hasSize = (expr: Expr): boolean => sizes.has(expr) || children(expr).some(hasSize);
  return wholesOf(kernel) === 1 && !dividesBy(kernel.body, hasSize);
}

/** Required divisor of the constants that become parameters; null for a kernel that keeps them. */
function wholesOf({ body }: Kernel): number | null {
  const modes: For['mode'][] = [];
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'for') modes.push(stmt.mode);
  });
  if (modes.every((mode) => mode === 'serial')) return 1;
  return modes.length === 1 && modes[0] === 'vector' ? mostLanes : null;
}

/** Merges a family into one kernel, unless it would divide or shift by a parameter, or not fill its vectors. */
function lift({ members, wholes }: Family, lifted: Map<Kernel, Lifted>): void {
  const [{ kernel, skeleton }] = members;
  const sizes = new Map<string, Size>();
  const replaced = new Map<Expr, Expr>();
  for (const [at, constant] of skeleton.constants.entries()) {
    const values = members.map((member) => Number(member.skeleton.constants[at].value));
    if (values.every((value) => value === values[0])) continue;
    const key = values.join();
    let size = sizes.get(key);
    if (size === undefined) {
      const unit = wholes === 1 ? 1 : values.reduce(greatestCommonDivisor);
      if (unit % wholes !== 0) return;
      size = { param: e.variable(`size${sizes.size}`, 'i32'), unit, values };
      sizes.set(key, size);
    }
    replaced.set(constant, size.unit === 1 ? size.param : e.mul(size.param, size.unit));
  }
  if (dividesBy(kernel.body, (size) => replaced.has(size))) return;
  const expr = exprMapper((node) => replaced.get(node) ?? node);
  const rewrite = (stmt: Stmt): Stmt => mapStmt(stmt, { expr, stmt: rewrite });
  const all = [...sizes.values()];
  const common = e.kernel(
    kernel.name,
    [...kernel.params, ...all.map(({ param }) => param)],
    rewrite(kernel.body),
  );
  members.forEach((member, i) => {
    const values = all.map(({ unit, values: of }) => e.i32(of[i] / unit));
    lifted.set(member.kernel, { kernel: common, values });
  });
}

/** Divisions and shifts by constants are much cheaper, and better analyzable. */
function dividesBy(body: Stmt, isSize: (expr: Expr) => boolean): boolean {
  const roots: Expr[] = [];
  visitStmts(body, (stmt) => roots.push(...ownExprs(stmt)));
  let found = false;
  visitExprs(roots, (expr) => {
    if (expr.kind === 'binary' && divisions.has(expr.op) && isSize(expr.b)) found = true;
  });
  return found;
}

const divisions: ReadonlySet<string> = new Set(['div', 'rem', 'shl', 'shr', 'shrU']);
