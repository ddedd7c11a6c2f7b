import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Scalar, Stmt } from '../../../loop/language/nodes.js';
import type { GroupShape } from './group-shape.js';

/** The part of a result that is an invocation's, and where its state lies in memory. */
export interface GroupPlace {
  readonly invocation: Expr;
  readonly result: Expr;
  readonly partial: Expr;
  /** The place of the first state of the result. */
  readonly first: Expr;
  /** The distance of the states of a result. */
  readonly stride: number;
}

/** The place of an invocation in a group of a shape. */
export function placeIn({ results, partials, isRow }: GroupShape, invocation: Expr): GroupPlace {
  const inner = isRow ? partials : results;
  const [low, high] = [e.and(invocation, inner - 1), e.shr(invocation, Math.log2(inner))];
  return isRow
    ? { invocation, result: high, partial: low, first: e.sub(invocation, low), stride: 1 }
    : { invocation, result: low, partial: high, first: low, stride: results };
}

/** Element kind that holds values of a type in memory of a group. */
export function sharedStorage(scalar: Scalar): Exclude<Scalar, 'bool'> {
  return scalar === 'bool' ? 'i32' : scalar;
}

/** Stores a part of a state in memory of a group. */
export function put(buffer: Buffer, at: Expr, value: Expr): Stmt {
  return e.store(buffer, at, value.type.scalar === 'bool' ? e.cast('i32', value) : value);
}

/** A part of a state from memory of a group, of the type of another expression. */
export function get(buffer: Buffer, at: Expr, { type }: Expr): Expr {
  return e.cast(type.scalar, e.load(buffer, at));
}
