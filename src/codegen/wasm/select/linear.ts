import type { BinaryExpr, Expr } from '../../../loop/language/nodes.js';
import type { Instr } from '../encoding/instr.js';
import { i32Add, i32Const, i32Mul, i32Sub, type LinearIndex, type Selector } from './selector.js';
import { scalarBinary } from './arithmetic.js';

/** The value of lane 0, or of every lane when the stride is 0. */
export function linearStart(s: Selector, { rest, constant }: LinearIndex): Instr {
  const offset = i32Const(s, constant);
  return rest === null ? offset : i32Add(s, rest, offset);
}

/** Analyzes an index; called by `Selector.linear`, which caches the result. */
export function analyzeLinear(s: Selector, expr: Expr): LinearIndex | null {
  if (expr.type.scalar === 'i64') return opaque(s.lower(expr));
  switch (expr.kind) {
    case 'const':
      return { rest: null, constant: Number(expr.value), stride: 0 };
    case 'broadcast':
      return s.linear(expr.x);
    case 'ramp': {
      const { rest, constant } = s.linear(expr.base)!;
      return { rest, constant, stride: strideOf(s, expr.stride) };
    }
    case 'binary': {
      const [a, b] = [s.linear(expr.a), s.linear(expr.b)];
      const combined = a === null || b === null ? null : combine(s, expr, a, b);
      if (combined !== null || expr.type.lanes > 1) return combined;
      return opaque(scalarBinary(s, expr));
    }
    default:
      return expr.type.lanes === 1 ? opaque(s.lower(expr)) : null;
  }
}

function opaque(rest: Instr): LinearIndex {
  return { rest, constant: 0, stride: 0 };
}

function strideOf(s: Selector, stride: Expr): number | Instr {
  return stride.kind === 'const' ? Number(stride.value) : s.lower(stride);
}

function combine(
  s: Selector,
  expr: BinaryExpr,
  a: LinearIndex,
  b: LinearIndex,
): LinearIndex | null {
  switch (expr.op) {
    case 'add':
      return {
        rest: a.rest === null || b.rest === null ? (a.rest ?? b.rest) : i32Add(s, a.rest, b.rest),
        constant: (a.constant + b.constant) | 0,
        stride: addStrides(s, a.stride, b.stride),
      };
    case 'sub':
      if (typeof b.stride !== 'number') return null;
      return {
        rest: b.rest === null ? a.rest : i32Sub(s, a.rest ?? i32Const(s, 0), b.rest),
        constant: (a.constant - b.constant) | 0,
        stride: addStrides(s, a.stride, -b.stride),
      };
    case 'mul':
      if (a.stride === 0) return scale(s, b, a);
      return b.stride === 0 ? scale(s, a, b) : null;
    case 'shl':
      return isPure(b) ? scale(s, a, { ...b, constant: 1 << b.constant }) : null;
    default: {
      if (expr.type.lanes === 1 || a.stride !== 0 || b.stride !== 0) return null;
      return opaque(scalarBinary(s, expr, [linearStart(s, a), linearStart(s, b)]));
    }
  }
}

const isPure = (x: LinearIndex): boolean => x.rest === null && x.stride === 0;

/** `x * factor`, where all lanes of the factor are equal. */
function scale(s: Selector, x: LinearIndex, factor: LinearIndex): LinearIndex {
  const by = linearStart(s, factor);
  const stride =
    typeof x.stride === 'number' && (isPure(factor) || x.stride === 0)
      ? Math.imul(x.stride, factor.constant)
      : i32Mul(s, typeof x.stride === 'number' ? i32Const(s, x.stride) : x.stride, by);
  if (isPure(factor)) {
    const rest = x.rest === null || factor.constant === 0 ? null : i32Mul(s, x.rest, by);
    return { rest, constant: Math.imul(x.constant, factor.constant), stride };
  }
  return { rest: i32Mul(s, linearStart(s, x), by), constant: 0, stride };
}

function addStrides(s: Selector, a: number | Instr, b: number | Instr): number | Instr {
  if (typeof a === 'number' && typeof b === 'number') return (a + b) | 0;
  if (a === 0) return b;
  if (b === 0) return a;
  const operand = (x: number | Instr): Instr => (typeof x === 'number' ? i32Const(s, x) : x);
  return i32Add(s, operand(a), operand(b));
}
