import type { Expr, Var } from '../../../loop/language/nodes.js';

/**
 * True when a loop provably runs at least once, so that it needs no test before its first iteration: in
 * innermost loops with few trips that test costs more than it saves. `ends` are those of the enclosing loops,
 * by their variables; neither may be assigned to.
 */
export function isKnownToRun(begin: Expr, end: Expr, ends: ReadonlyMap<Var, Expr>): boolean {
  if (end.kind === 'const' && begin.kind === 'const') return begin.value < end.value;
  if (end.kind === 'binary' && end.op === 'min') {
    return isKnownToRun(begin, end.a, ends) && isKnownToRun(begin, end.b, ends);
  }
  if (begin.kind !== 'var') return false;
  const around = ends.get(begin);
  if (around === undefined) return false;
  if (end.kind === 'binary' && end.op === 'add') {
    return end.a === begin && end.b.kind === 'const' && end.b.value > 0;
  }
  const isConstant = end.kind === 'const' && around.kind === 'const';
  return end === around || (isConstant && end.value === around.value);
}
