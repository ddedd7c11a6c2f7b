import type { Attributes } from '../../../base/attributes/schema.js';
import type { Operator } from '../../../ir/operator.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { declarationOf } from '../../declare/facets.js';
import type { KernelContext, KernelLowering } from '../../declare/lowering.js';
import type { Scan, ScanContext } from '../../declare/scan.js';
import { overAll } from '../../loops.js';

/** The lowering of an operator that is a scan. */
export function scanLowering<A>(scan: (context: ScanContext<A>) => Scan): KernelLowering<A> {
  const kernel = (context: KernelContext<A>): Stmt =>
    scanLoops(context, scan(scanContext(context)));
  return { kind: 'kernel', scan, kernel };
}

/** A call of an operator that is a scan. */
export function scanContext<A>({
  attributes,
  inputs,
  outputs: [result],
}: KernelContext<A>): ScanContext<A> {
  return { attributes, inputs, result };
}

/** The scan by which an operator is declared; null for others. */
export function declaredScan(
  declaration: Operator,
): ((context: ScanContext<Attributes>) => Scan) | null {
  const { lowering } = declarationOf(declaration);
  return lowering.kind === 'kernel' && lowering.scan !== undefined ? lowering.scan : null;
}

/** The definition of a scan: for each index along the other axes, element after element. */
export function scanLoops(context: KernelContext<unknown>, scan: Scan): Stmt {
  const { shape } = context.outputs[0];
  const extent = shape[scan.axis];
  const others = shape.filter((_, axis) => axis !== scan.axis);
  const row = (at: readonly Expr[]): Stmt => {
    const [lead, rest] = [at.slice(0, scan.axis), at.slice(scan.axis)];
    const state = scanLocals('state', scan.initial);
    return e.block(
      ...declareAll(state, scan.initial),
      e.forLoop('k', 0, extent, (k) => {
        const index = [...lead, scanPosition(scan, extent, k), ...rest];
        const next = scanLocals('next', scan.initial);
        return e.block(
          ...declareAll(next, scan.step(state, index, e.eq(k, 0))),
          storeScanResults(context, scan, scan.exclusive ? state : next, index),
          ...state.map((part, j) => e.assign(part, next[j])),
        );
      }),
    );
  };
  // Stores are in a range that is divided, even where there is one row only.
  if (others.length === 0) return overAll([e.i32(1)], () => row([]), 'serial', context);
  return overAll(others, row, 'serial', context);
}

/** Index along the axis after some iterations. */
export function scanPosition({ reverse }: Scan, extent: Expr, k: Expr): Expr {
  return reverse ? e.sub(e.sub(extent, 1), k) : k;
}

/** Locals for values like these. */
export function scanLocals(name: string, like: readonly Expr[]): readonly Var[] {
  return like.map(({ type }, k) => e.variable(`${name}${k}`, type.scalar, type.lanes));
}

/** Declares locals, each with its value. */
export function declareAll(variables: readonly Var[], values: readonly Expr[]): readonly Stmt[] {
  return variables.map((local, k) => e.declare(local, values[k]));
}

/** Stores the results at an index. */
export function storeScanResults(
  { outputs }: KernelContext<unknown>,
  scan: Scan,
  state: readonly Expr[],
  index: readonly Expr[],
): Stmt {
  return e.block(...scan.finish(state).map((result, k) => outputs[k].store(index, result)));
}
