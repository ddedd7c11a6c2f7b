import { isStatic, sizeOf } from '../base/dim.js';
import type { DType } from '../base/dtype.js';
import * as e from '../loop/build.js';
import { fastTwoSum, finiteOrZero } from '../loop/compensation.js';
import type { Buffer, Const, Expr, Scalar, Stmt } from '../loop/nodes.js';
import { type Access, computeScalar, type KernelContext } from './lowering.js';

/** Loop nests and index arithmetic that the kernels of several families share. */

/** Visits every index of a shape in row-major order; iterations must be independent. */
export function overAll(
  shape: readonly Expr[],
  body: (index: readonly Expr[]) => Stmt,
  mode: 'vector' | 'serial' = 'vector',
): Stmt {
  const visit = (index: readonly Expr[]): Stmt => {
    const axis = index.length;
    if (axis === shape.length) return body(index);
    const isLast = axis === shape.length - 1;
    return e.forLoop(`i${axis}`, 0, shape[axis], (i) => visit([...index, i]), {
      mode: isLast ? mode : 'serial',
    });
  };
  return visit([]);
}

/** The row-major number of an element. */
export function ravel(index: readonly Expr[], shape: readonly Expr[]): Expr {
  if (index.length === 0) return e.i32(0);
  return index.reduce((flat, at, axis) => e.add(e.mul(flat, shape[axis]), at));
}

/** An extent to divide by. Where it is 0 there is nothing to divide, but code may be moved ahead of that. */
export function divisor(extent: Expr): Expr {
  if (extent.kind === 'const')
    return Number(extent.value) === 0 ? e.constant(extent.type.scalar, 1) : extent;
  return e.max(extent, 1);
}

/** `x` modulo a positive extent: from 0 to extent - 1. */
export function wrapped(x: Expr, extent: Expr): Expr {
  const remainder = e.rem(x, divisor(extent));
  return e.select(e.lt(remainder, 0), e.add(remainder, extent), remainder);
}

/** `x` held between two bounds. */
export function clamped(x: Expr, low: Expr | number, high: Expr | number): Expr {
  return e.max(e.min(x, high), low);
}

/** Whether two expressions are certainly equal. */
export function sameExpr(a: Expr, b: Expr): boolean {
  return a === b || (a.kind === 'const' && b.kind === 'const' && a.value === b.value);
}

/** Where a kernel keeps elements of a dtype at full precision: in memory, in the compute type. */
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

/** What a result is built up in, out of order, before it is stored. */
interface Workspace {
  readonly buffer: Buffer;
  /** Stores the elements into the result, once each. */
  readonly flush: Stmt;
}

/** Memory for all elements of the first result in their compute type; bool is kept as 0 or 1. */
export function workspace(context: KernelContext<unknown>): Workspace {
  const [sink] = context.outputs;
  const wide = wideDType(sink.dtype);
  if (sink.buffer !== null && wide === sink.dtype) return { buffer: sink.buffer, flush: e.block() };
  const length = context.extent(sizeOf(context.outputTypes[0].shape));
  const buffer = context.scratch('work', wide, length);
  const flush = overAll(sink.shape, (index) =>
    sink.store(index, e.cast(computeScalar(sink.dtype), e.load(buffer, ravel(index, sink.shape)))),
  );
  return { buffer, flush };
}

/** How a result is built from contributions that may meet in one element. */
interface Scattering {
  /** What is there before anything arrives; zeros unless said. Where the result lies over it, it stays. */
  readonly onto?: Access;
  /** The contributions, visited in row-major order. */
  readonly domain: readonly Expr[];
  target(index: readonly Expr[]): readonly Expr[];
  value(index: readonly Expr[]): Expr;
  /** `add` sums them up (of bool: whether any is true), `set` keeps the last. Default `add`. */
  readonly combine?: 'add' | 'set';
  /** Whether contributions that differ along the last axis of the domain only never meet. */
  readonly isSpread?: boolean;
  /** How many contributions meet in one element at most. Default: all of them. */
  readonly most?: Expr;
}

/**
 * Writes the first result out of contributions that go where indices say. One after the other, so the
 * result does not depend on the machine. Long sums keep what an addition rounds away, in memory of their own,
 * and add it with the next term. Source: Kahan, "Further remarks on reducing truncation errors", CACM 1965.
 */
export function scatterLoops(context: KernelContext<unknown>, scattering: Scattering): Stmt {
  const { onto, domain, target, value, combine = 'add', isSpread = false } = scattering;
  const [sink] = context.outputs;
  const { buffer, flush } = workspace(context);
  const scalar = e.loadedScalar(buffer.storage);
  const isBool = sink.dtype === 'bool';
  const isThere = onto !== undefined && onto.buffer === buffer;
  const lost = carriesErrors(context, scattering, scalar)
    ? context.scratch('lost', sink.dtype === 'float64' ? 'float64' : 'float32', context.extent(sizeOf(context.outputTypes[0].shape))) // prettier-ignore
    : null;
  const begin = overAll(sink.shape, (index) => {
    const at = ravel(index, sink.shape);
    const start = onto === undefined ? e.constant(scalar, 0) : e.cast(scalar, onto.at(index));
    return e.block(
      ...(isThere ? [] : [e.store(buffer, at, start)]),
      ...(lost === null ? [] : [e.store(lost, at, e.constant(scalar, -0))]),
    );
  });
  const add = (at: Expr, arriving: Expr): Stmt => {
    const old = e.load(buffer, at);
    if (lost === null) {
      return e.store(buffer, at, isBool ? e.or(old, arriving) : e.add(old, arriving));
    }
    const place = e.variable('place', 'i32');
    const [before, term] = ['before', 'term'].map((name) => e.variable(name, scalar));
    const { sum, error } = fastTwoSum(before, term);
    return e.block(
      e.declare(place, at),
      e.declare(before, e.load(buffer, place)),
      e.declare(term, e.add(arriving, e.load(lost, place))),
      e.store(buffer, place, sum),
      e.store(lost, place, finiteOrZero(error)),
    );
  };
  return e.block(
    ...(isThere && lost === null ? [] : [begin]),
    overAll(
      domain,
      (index) => {
        const at = ravel(target(index), sink.shape);
        const arriving = e.cast(scalar, value(index));
        return combine === 'set' ? e.store(buffer, at, arriving) : add(at, arriving);
      },
      isSpread ? 'vector' : 'serial',
    ),
    ...(lost === null
      ? []
      : [
          overAll(sink.shape, (index) => {
            const at = ravel(index, sink.shape);
            const whole = e.add(e.load(buffer, at), e.load(lost, at));
            return e.store(buffer, at, whole);
          }),
        ]),
    flush,
  );
}

/** So many contributions may meet before what is rounded away is carried (decision 45). */
const mostPlain = 12;

/**
 * Whether sums carry what they round away: where many terms may meet, and there are at least as many as
 * elements. For fewer, another array of the result's size would cost more than they do.
 */
function carriesErrors(
  { outputTypes: [{ shape }] }: KernelContext<unknown>,
  { domain, combine = 'add', most }: Scattering,
  scalar: Scalar,
): boolean {
  if (combine !== 'add' || (scalar !== 'f32' && scalar !== 'f64')) return false;
  if (most?.kind === 'const' && Number(most.value) <= mostPlain) return false;
  if (!domain.every(({ kind }) => kind === 'const')) return true;
  const terms = domain.reduce((count, dim) => count * Number((dim as Const).value), 1);
  return terms > mostPlain && !(shape.every(isStatic) && terms < Number(sizeOf(shape)));
}

/** The first result as a sum: for every index of `domain`, `value` is added at `target`. */
export function accumulate(
  context: KernelContext<unknown>,
  domain: readonly Expr[],
  target: (index: readonly Expr[]) => readonly Expr[],
  value: (index: readonly Expr[]) => Expr,
): Stmt {
  return scatterLoops(context, { domain, target, value });
}
