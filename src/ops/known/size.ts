import {
  addDim,
  boundsOf,
  type Dim,
  floorDivDim,
  isStatic,
  maxDim,
  minDim,
  modDim,
  mulDim,
  sameDim,
  subDim,
} from '../../base/dim/index.js';
import type { BinaryOp, Expr, Scalar, Var } from '../../loop/language/nodes.js';
import {
  binaryLane,
  castLane,
  type Lane,
  unaryLane,
  UndefinedDivision,
} from '../../loop/language/scalar.js';

/** The size of a variable; undefined for others. */
export type SizeOfVariable = (variable: Var) => Dim | undefined;

/**
 * Evaluates an integer or boolean expression to a size: numbers exactly as machines compute them, symbols
 * over the integers, as sizes are. Undefined where it depends on more than sizes, or where their ranges do
 * not decide it.
 */
export function sizeOfExpr(root: Expr, sizeOfVariable: SizeOfVariable): Dim | undefined {
  const known = new Map<Expr, Dim | undefined>();
  const visit = (expr: Expr): Dim | undefined => {
    if (known.has(expr)) return known.get(expr);
    const size = isWhole(expr.type.scalar) ? compute(expr) : undefined;
    known.set(expr, size);
    return size;
  };
  const compute = (expr: Expr): Dim | undefined => {
    switch (expr.kind) {
      case 'const':
        return numberOf(expr.value);
      case 'var':
        return sizeOfVariable(expr);
      case 'cast':
        return isWhole(expr.x.type.scalar) ? converted(visit(expr.x), expr) : undefined;
      case 'unary': {
        const x = visit(expr.x);
        if (x === undefined) return undefined;
        if (isStatic(x)) return onLanes(expr.type.scalar, [x], unaryLane(expr.op, expr.x.type.scalar)); // prettier-ignore
        return expr.op === 'neg' ? mulDim(x, -1) : undefined;
      }
      case 'binary': {
        const [a, b] = [visit(expr.a), visit(expr.b)];
        return combined(expr.op, expr.a.type.scalar, a, b);
      }
      case 'select': {
        const condition = visit(expr.condition);
        if (condition !== undefined) return visit(condition === 0 ? expr.b : expr.a);
        const [a, b] = [visit(expr.a), visit(expr.b)];
        return a !== undefined && b !== undefined && sameDim(a, b) ? a : undefined;
      }
      default:
        return undefined;
    }
  };
  return visit(root);
}

function isWhole(scalar: Scalar): boolean {
  return scalar === 'i32' || scalar === 'i64' || scalar === 'bool';
}

/** Undefined for integers that are not exact numbers. */
function numberOf(lane: Lane): number | undefined {
  const number = Number(lane);
  return Number.isSafeInteger(number) ? number + 0 : undefined; // no -0
}

function onLanes(
  scalar: Scalar,
  numbers: readonly number[],
  apply: (...lanes: Lane[]) => Lane,
): number | undefined {
  try {
    return numberOf(apply(...numbers.map((x): Lane => (scalar === 'i64' ? BigInt(x) : x))));
  } catch (error) {
    if (error instanceof UndefinedDivision) return undefined;
    throw error;
  }
}

function converted(x: Dim | undefined, cast: Expr & { readonly kind: 'cast' }): Dim | undefined {
  if (x === undefined) return undefined;
  const from = cast.x.type.scalar;
  if (isStatic(x)) return onLanes(from, [x], castLane(from, cast.type.scalar));
  if (cast.type.scalar !== 'bool') return x;
  return compared('ne', x, 0);
}

/** `a op b`, where one operand may decide the result. */
function combined(
  op: BinaryOp,
  scalar: Scalar,
  a: Dim | undefined,
  b: Dim | undefined,
): Dim | undefined {
  if (scalar === 'bool' && (op === 'and' || op === 'or')) {
    const decisive = op === 'and' ? 0 : 1;
    if (a === decisive || b === decisive) return decisive;
  }
  if (a === undefined || b === undefined) return undefined;
  if (isStatic(a) && isStatic(b)) return onLanes(scalar, [a, b], binaryLane(op, scalar));
  switch (op) {
    case 'add':
      return addDim(a, b);
    case 'sub':
      return subDim(a, b);
    case 'mul':
      return mulDim(a, b);
    case 'min':
      return minDim(a, b);
    case 'max':
      return maxDim(a, b);
    case 'div':
      return dividesCleanly(a, b) ? floorDivDim(a, b) : undefined;
    case 'rem':
      return dividesCleanly(a, b) ? modDim(a, b) : undefined;
    default:
      return compared(op, a, b);
  }
}

/** True when truncation equals floor. */
function dividesCleanly(a: Dim, b: Dim): boolean {
  return boundsOf(a).min >= 0 && boundsOf(b).min >= 1;
}

/** 0 or 1 where the ranges of sizes decide a comparison. */
function compared(op: BinaryOp, a: Dim, b: Dim): number | undefined {
  const { min, max } = boundsOf(subDim(a, b));
  switch (op) {
    case 'eq':
      return sameDim(a, b) ? 1 : min > 0 || max < 0 ? 0 : undefined;
    case 'ne':
      return sameDim(a, b) ? 0 : min > 0 || max < 0 ? 1 : undefined;
    case 'lt':
      return max < 0 ? 1 : min >= 0 ? 0 : undefined;
    case 'le':
      return max <= 0 ? 1 : min > 0 ? 0 : undefined;
    case 'gt':
      return min > 0 ? 1 : max <= 0 ? 0 : undefined;
    case 'ge':
      return min >= 0 ? 1 : max < 0 ? 0 : undefined;
    default:
      return undefined;
  }
}
