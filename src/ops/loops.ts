import { elementCount } from '../base/dim/index.js';
import type { DType } from '../base/dtype.js';
import * as e from '../loop/language/build.js';
import type { Buffer, Expr, Stmt } from '../loop/language/nodes.js';
import { overGrid, overRange } from '../loop/language/team.js';
import { computeScalar, type KernelContext } from './declare/lowering.js';

/** Loop nests and index arithmetic that several families share. */

/**
 * Visits every index of a shape in row-major order; iterations must be independent. In a kernel that is divided the first
 * axis is a parallel range, or all of them together where the target is a grid.
 */
export function overAll(
  shape: readonly Expr[],
  body: (index: readonly Expr[]) => Stmt,
  mode: 'vector' | 'serial' = 'vector',
  context: Pick<KernelContext<unknown>, 'isDivided' | 'target'> | null = null,
): Stmt {
  const isDivided = context?.isDivided === true;
  if (isDivided && context.target.isGrid === true) return overGrid(shape, body);
  const visit = (index: readonly Expr[]): Stmt => {
    const axis = index.length;
    if (axis === shape.length) return body(index);
    const isLast = axis === shape.length - 1;
    const all = { begin: e.i32(0), end: shape[axis] };
    return overRange(isDivided && axis === 0, all, 1, ({ begin, end }) =>
      e.forLoop(`i${axis}`, begin, end, (i) => visit([...index, i]), {
        mode: isLast ? mode : 'serial',
      }),
    );
  };
  return visit([]);
}

/** The row-major position of an index. */
export function ravel(index: readonly Expr[], shape: readonly Expr[]): Expr {
  if (index.length === 0) return e.i32(0);
  return index.reduce((flat, at, axis) => e.add(e.mul(flat, shape[axis]), at));
}

/** A divisor for index arithmetic: never 0, since code may be hoisted above the test for an empty axis. */
export function divisor(extent: Expr): Expr {
  if (extent.kind === 'const')
    return Number(extent.value) === 0 ? e.constant(extent.type.scalar, 1) : extent;
  return e.max(extent, 1);
}

/** `x` modulo a positive extent. */
export function wrappedIndex(x: Expr, extent: Expr): Expr {
  const remainder = e.rem(x, divisor(extent));
  return e.select(e.lt(remainder, 0), e.add(remainder, extent), remainder);
}

/** `x` clamped to two bounds. */
export function clamped(x: Expr, low: Expr | number, high: Expr | number): Expr {
  return e.max(e.min(x, high), low);
}

/** A number to compare with indices: beyond 32 bits, the nearest of these, since indices are less. */
export function indexConstant(number: number): Expr {
  const most = 2 ** 31 - 1;
  return e.i32(Math.max(-most, Math.min(number, most)));
}

/** True when two expressions are provably equal. */
export function sameExpr(a: Expr, b: Expr): boolean {
  return a === b || (a.kind === 'const' && b.kind === 'const' && a.value === b.value);
}

/** The dtype in which a kernel stores elements of a dtype at full precision: the compute type. */
export function wideDType(dtype: DType): DType {
  switch (dtype) {
    case 'float16':
    case 'bfloat16':
      return 'float32';
    case 'int8':
    case 'uint8':
    case 'bool':
      return 'int32';
    default:
      return dtype;
  }
}

/** Scratch memory in which a result is built out of order, before it is stored. */
interface Workspace {
  readonly buffer: Buffer;
  /** Stores the elements into the result, once each. */
  readonly flush: Stmt;
}

/** Scratch memory for all elements of the first result in their compute type; bool is kept as 0 or 1. */
export function workspace(context: KernelContext<unknown>): Workspace {
  const [sink] = context.outputs;
  const wide = wideDType(sink.dtype);
  if (sink.buffer !== null && wide === sink.dtype) return { buffer: sink.buffer, flush: e.block() };
  const length = context.extent(elementCount(context.outputTypes[0].shape));
  const buffer = context.scratch('work', wide, length);
  const flush = overAll(sink.shape, (index) =>
    sink.store(index, e.cast(computeScalar(sink.dtype), e.load(buffer, ravel(index, sink.shape)))),
  );
  return { buffer, flush };
}
