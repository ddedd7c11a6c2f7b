import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { halvings, pieces } from '../gemm/shape.js';
import { known } from '../../contraction/sizes.js';

/** Body for contiguous positions: a ramp, or one scalar. */
type Body = (at: Expr) => Stmt;

/** Covers `0 .. width` with vectors, each position once. */
export function sweepOnce(width: Expr, lanes: number, body: Body): Stmt {
  const size = known(width);
  const whole = size === null ? e.sub(width, e.rem(width, lanes)) : e.i32(size - (size % lanes));
  const vectors = e.forLoop('x', 0, whole, (x) => body(lanesFrom(x, lanes)), { step: lanes });
  if (size === null) return e.block(vectors, e.forLoop('x', whole, width, body));
  const rest = pieces(size % lanes, lanes).map(({ start, count }) =>
    body(lanesFrom(e.i32(size - (size % lanes) + start), count)),
  );
  return e.block(...(size < lanes ? [] : [vectors]), ...rest);
}

/**
 * Covers `0 .. width` with vectors of which the last ends where the width does, and so covers some positions
 * twice: for idempotent bodies.
 */
export function sweepAgain(width: Expr, lanes: number, body: Body): Stmt {
  const size = known(width);
  if (size === null) return sweepOnce(width, lanes, body);
  const fitting = halvings(lanes).find((count) => count <= size);
  if (fitting === undefined) return e.block();
  const whole = size - (size % fitting);
  const vectors = e.forLoop('x', 0, whole, (x) => body(lanesFrom(x, fitting)), { step: fitting });
  return e.block(
    vectors,
    ...(whole === size ? [] : [body(lanesFrom(e.i32(size - fitting), fitting))]),
  );
}

/** Contiguous positions. */
function lanesFrom(start: Expr, lanes: number): Expr {
  return lanes === 1 ? start : e.ramp(start, 1, lanes);
}
