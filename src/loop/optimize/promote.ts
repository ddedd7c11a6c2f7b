import * as e from '../language/build.js';
import type { Buffer, Expr, Kernel, Stmt, Var } from '../language/nodes.js';
import { exprMapper, mapStmt, ownExprs, visitExprs, visitStmts, withBody } from '../language/visit.js'; // prettier-ignore

/** The most elements of an invocation that become locals: more may not fit into registers. */
const mostElements = 32;

/** Accesses to a private buffer: single elements, or vectors of so many that lie at multiples of that. */
interface Accesses {
  readonly lanes: number;
  /** By element, or by vector. */
  readonly places: Set<number>;
}

/**
 * Turns private memory into locals where every access is to an element that is known, or every one to such a vector.
 * Elements of less than four bytes stay, since memory wraps them. Its parameters stay, unused.
 */
export function promotePrivate(kernel: Kernel): Kernel {
  const found = accessesOf(kernel);
  const locals = new Map<Buffer, ReadonlyMap<number, Var>>();
  let elements = 0;
  for (const [buffer, accesses] of found) {
    if (accesses === null) continue;
    const { lanes, places } = accesses;
    elements += lanes * places.size;
    if (elements > mostElements) break;
    const scalar = e.loadedScalar(buffer.storage);
    locals.set(buffer, new Map([...places].map((at) => [at, e.variable(buffer.name, scalar, lanes)]))); // prettier-ignore
  }
  if (locals.size === 0) return kernel;
  const localOf = (buffer: Buffer, index: Expr): Var | undefined => {
    const own = locals.get(buffer);
    return own?.get(placeOf(index)!);
  };
  const expr = exprMapper((inner) => (inner.kind === 'load' ? (localOf(inner.buffer, inner.index) ?? inner) : inner)); // prettier-ignore
  const visit = (stmt: Stmt): Stmt => {
    const inner = mapStmt(stmt, { expr, stmt: visit });
    if (inner.kind !== 'store') return inner;
    const local = localOf(inner.buffer, inner.index);
    return local === undefined ? inner : e.assign(local, inner.value);
  };
  const declarations = [...locals.values()]
    .flatMap((own) => [...own.values()])
    .map((local) => e.declare(local, e.constant(local.type.scalar, 0, local.type.lanes)));
  return withBody(kernel, e.block(...declarations, visit(kernel.body)));
}

/** Accesses to each private buffer; null for one of which some are not known, or of several kinds. */
function accessesOf({ body }: Kernel): ReadonlyMap<Buffer, Accesses | null> {
  const found = new Map<Buffer, Accesses | null>();
  const note = (buffer: Buffer, index: Expr): void => {
    if (!buffer.isPrivate) return;
    const place = e.storageBytes(buffer.storage) === 4 ? placeOf(index) : null;
    const known = found.get(buffer) ?? (found.has(buffer) ? null : { lanes: index.type.lanes, places: new Set<number>() }); // prettier-ignore
    const isAlike = place !== null && known !== null && known.lanes === index.type.lanes;
    found.set(buffer, isAlike ? known : null);
    if (isAlike) known.places.add(place);
  };
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'store') note(stmt.buffer, stmt.index);
    visitExprs(ownExprs(stmt), (expr) => {
      if (expr.kind === 'load') note(expr.buffer, expr.index);
    });
  });
  return found;
}

/** The element or vector that an index tells; null where it is not known. */
function placeOf(index: Expr): number | null {
  const { lanes } = index.type;
  if (lanes === 1) return index.kind === 'const' ? Number(index.value) : null;
  if (index.kind !== 'ramp' || index.stride.kind !== 'const' || Number(index.stride.value) !== 1) return null; // prettier-ignore
  const { base } = index;
  const at = base.kind === 'const' ? Number(base.value) / lanes : NaN;
  return Number.isInteger(at) ? at : null;
}
