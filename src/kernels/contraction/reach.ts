import { isChosenBy } from '../../loop/language/choices.js';
import type { Expr, Var } from '../../loop/language/nodes.js';
import { children, visitExprs } from '../../loop/language/visit.js';

/**
 * True when the lanes of every load in an operand are contiguous, so that one vector load serves them all;
 * false too where that is not evident from its indices.
 */
export function isContiguous(operand: Expr): boolean {
  return loadsOf(operand).every((load) => {
    const step = laneStep(load.index);
    return step === 0 || step === 1;
  });
}

/** True for an operand that is cheap enough to be recomputed for every tile. */
export function isPlain(operand: Expr): boolean {
  let nodes = 0;
  visitExprs([operand], () => void nodes++);
  return nodes <= 12 && loadsOf(operand).length <= 1;
}

/**
 * True for an operand that depends on its loads and these indices only: on no size that may differ between
 * runs.
 */
export function isDecidedBy(operand: Expr, indices: readonly Expr[]): boolean {
  let isDecided = true;
  visitExprs([operand], (expr) => {
    if (expr.kind !== 'var' || indices.includes(expr) || isChosenBy(expr)) return;
    isDecided = false;
  });
  return isDecided;
}

/**
 * True when lanes along an index may begin anywhere, since the first one only adds to where they are read;
 * false where more is computed of it for all of them, such as the row that they lie in.
 */
export function mayBeginAnywhere(operand: Expr, index: Var): boolean {
  const dependent = new Set<Expr>([index]);
  let mayBegin = true;
  visitExprs([operand], (expr) => {
    const from = children(expr).filter((child) => dependent.has(child));
    if (from.length === 0) return;
    dependent.add(expr);
    const isSum = expr.kind === 'binary' && (expr.op === 'add' || expr.op === 'sub');
    const isMultiple = expr.kind === 'binary' && expr.op === 'mul' && from.length === 1;
    if (expr.type.lanes === 1 && !isSum && !isMultiple) mayBegin = false;
  });
  return mayBegin;
}

function loadsOf(operand: Expr): Extract<Expr, { kind: 'load' }>[] {
  const loads: Extract<Expr, { kind: 'load' }>[] = [];
  visitExprs([operand], (expr) => {
    if (expr.kind === 'load') loads.push(expr);
  });
  return loads;
}

/** Stride of an index from lane to lane, or null if that is not evident. */
export function laneStep(index: Expr): number | null {
  if (index.type.lanes === 1 || index.kind === 'const' || index.kind === 'broadcast') return 0;
  if (index.kind === 'ramp')
    return index.stride.kind === 'const' ? Number(index.stride.value) : null;
  if (index.kind !== 'binary') return null;
  const [a, b] = [laneStep(index.a), laneStep(index.b)];
  if (a === null || b === null) return null;
  if (a === 0 && b === 0) return 0;
  if (index.op === 'add') return a + b;
  if (index.op === 'sub') return a - b;
  if (index.op !== 'mul') return null;
  const factor = a === 0 ? index.a : index.b;
  return factor.kind === 'const' ? (a + b) * Number(factor.value) : null;
}
