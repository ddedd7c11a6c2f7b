import type { Expr } from '../../../loop/language/nodes.js';
import { visitExprs } from '../../../loop/language/visit.js';

/**
 * Whether the lanes of an operand lie side by side in memory wherever it reads some, so that one load
 * serves them all; false too where that is not evident from its indices.
 */
export function isContiguous(operand: Expr): boolean {
  return loadsOf(operand).every((load) => {
    const step = laneStep(load.index);
    return step === 0 || step === 1;
  });
}

/** Whether an operand is cheap enough to be computed again for every tile that needs it. */
export function isPlain(operand: Expr): boolean {
  let nodes = 0;
  visitExprs([operand], () => void nodes++);
  return nodes <= 12 && loadsOf(operand).length <= 1;
}

/** Whether an operand is decided by what it reads and these indices: by no size that may be another in each run. */
export function isDecidedBy(operand: Expr, indices: readonly Expr[]): boolean {
  let isDecided = true;
  visitExprs([operand], (expr) => {
    if (expr.kind === 'var' && !indices.includes(expr)) isDecided = false;
  });
  return isDecided;
}

function loadsOf(operand: Expr): Extract<Expr, { kind: 'load' }>[] {
  const loads: Extract<Expr, { kind: 'load' }>[] = [];
  visitExprs([operand], (expr) => {
    if (expr.kind === 'load') loads.push(expr);
  });
  return loads;
}

/** How far an index moves from lane to lane, or null if that is not evident. */
function laneStep(index: Expr): number | null {
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
