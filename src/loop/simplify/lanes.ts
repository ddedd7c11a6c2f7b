import * as e from '../language/build.js';
import type { Expr } from '../language/nodes.js';
import { children, mapChildren } from '../language/visit.js';

/** A rule on vectors: what equal or evenly spaced lanes have in common is computed once, as a scalar. */
export interface LaneRule {
  readonly name: string;
  readonly law: string;
  /** The kinds of nodes that it may apply to. */
  readonly kinds: readonly Expr['kind'][];
  apply(expr: Expr): Expr | null;
}

function isUniform(expr: Expr): boolean {
  return expr.kind === 'broadcast' || (expr.kind === 'const' && expr.type.lanes > 1);
}

/** The scalar that is in every lane, or null. */
function uniform(expr: Expr): Expr | null {
  if (expr.kind === 'broadcast') return expr.x;
  if (expr.kind === 'const' && expr.type.lanes > 1) return e.constant(expr.type.scalar, expr.value);
  return null;
}

/** The first lane and the distance between lanes, or null. */
function spaced(expr: Expr): readonly [base: Expr, stride: Expr] | null {
  if (expr.kind === 'ramp') return [expr.base, expr.stride];
  const scalar = uniform(expr);
  return scalar !== null && scalar.type.scalar === 'i32' ? [scalar, e.i32(0)] : null;
}

export const laneRules: readonly LaneRule[] = [
  {
    name: 'uniform-lanes',
    law: 'f(broadcast(x), broadcast(y)) = broadcast(f(x, y)) for every lane-wise f, and for loads.',
    kinds: ['unary', 'binary', 'select', 'cast', 'bitcast', 'load'],
    apply(expr) {
      if (expr.type.lanes === 1) return null;
      const operands = children(expr);
      for (let i = 0; i < operands.length; i++) if (!isUniform(operands[i])) return null;
      return e.broadcast(
        mapChildren(expr, (x) => uniform(x)!),
        expr.type.lanes,
      );
    },
  },
  {
    name: 'spaced-lanes',
    law: 'Sums of evenly spaced lanes are evenly spaced: (b + k s) + (c + k t) = (b + c) + k (s + t).',
    kinds: ['binary'],
    apply(expr) {
      if (expr.kind !== 'binary' || (expr.op !== 'add' && expr.op !== 'sub')) return null;
      if (expr.type.lanes === 1 || expr.type.scalar !== 'i32') return null;
      const [x, y] = [spaced(expr.a), spaced(expr.b)];
      if (x === null || y === null) return null;
      const base = e.binary(expr.op, x[0], y[0]);
      return e.ramp(base, e.binary(expr.op, x[1], y[1]), expr.type.lanes);
    },
  },
  {
    name: 'scaled-lanes',
    law: '(b + k s) * c = b c + k (s c); a negation is a scaling by -1.',
    kinds: ['unary', 'binary'],
    apply(expr) {
      if (expr.kind === 'unary' && expr.op === 'neg' && expr.x.kind === 'ramp')
        return e.ramp(e.neg(expr.x.base), e.neg(expr.x.stride), expr.type.lanes);
      if (expr.kind !== 'binary' || (expr.op !== 'mul' && expr.op !== 'shl')) return null;
      if (expr.a.kind !== 'ramp') {
        return expr.op === 'mul' && expr.b.kind === 'ramp' ? e.mul(expr.b, expr.a) : null;
      }
      const factor = uniform(expr.b);
      if (factor === null) return null;
      const { base, stride } = expr.a;
      return e.ramp(
        e.binary(expr.op, base, factor),
        e.binary(expr.op, stride, factor),
        expr.type.lanes,
      );
    },
  },
  {
    name: 'still-ramp',
    law: 'ramp(b, 0) = broadcast(b).',
    kinds: ['ramp'],
    apply(expr) {
      if (expr.kind !== 'ramp' || expr.stride.kind !== 'const' || expr.stride.value !== 0)
        return null;
      return e.broadcast(expr.base, expr.type.lanes);
    },
  },
  {
    name: 'constant-broadcast',
    law: 'A broadcast constant is a vector constant.',
    kinds: ['broadcast'],
    apply(expr) {
      if (expr.kind !== 'broadcast' || expr.x.kind !== 'const') return null;
      return e.broadcast(expr.x, expr.type.lanes);
    },
  },
  {
    name: 'extract-known',
    law: 'Lane k of a broadcast is its scalar, lane k of ramp(b, s) is b + k s.',
    kinds: ['extract'],
    apply(expr) {
      if (expr.kind !== 'extract') return null;
      const scalar = uniform(expr.x);
      if (scalar !== null) return scalar;
      if (expr.x.kind !== 'ramp') return null;
      return e.add(expr.x.base, e.mul(expr.x.stride, expr.lane));
    },
  },
];
