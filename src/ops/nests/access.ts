import type { ConstantData } from '../../ir/types.js';
import { readElement } from '../../base/element.js';
import type { DType } from '../../base/dtype.js';
import * as e from '../../loop/language/build.js';
import type { Buffer, Expr } from '../../loop/language/nodes.js';
import { type Access, computeScalar, type Sink } from '../declare/lowering.js';
import { loadElement, settle, storeElement } from '../elements.js';

const isConst = (expr: Expr, value: number): boolean =>
  expr.kind === 'const' && Number(expr.value) === value;

/** `a + b` on indices, with constants folded; ramps stay ramps. */
export function addIndex(a: Expr, b: Expr): Expr {
  const lanes = Math.max(a.type.lanes, b.type.lanes);
  if (isConst(a, 0)) return e.broadcast(b, lanes);
  if (isConst(b, 0)) return e.broadcast(a, lanes);
  if (a.kind === 'const' && b.kind === 'const')
    return e.constant('i32', Number(a.value) + Number(b.value), lanes);
  if (a.kind === 'ramp' && b.type.lanes === 1) return e.ramp(addIndex(a.base, b), a.stride, lanes);
  if (b.kind === 'ramp' && a.type.lanes === 1) return e.ramp(addIndex(a, b.base), b.stride, lanes);
  if (a.kind === 'ramp' && b.kind === 'ramp')
    return e.ramp(addIndex(a.base, b.base), addIndex(a.stride, b.stride), lanes);
  return e.add(a, b);
}

/** `a * b` on indices, with constants folded. */
export function mulIndex(a: Expr, b: Expr): Expr {
  const lanes = Math.max(a.type.lanes, b.type.lanes);
  if (isConst(a, 1)) return e.broadcast(b, lanes);
  if (isConst(b, 1)) return e.broadcast(a, lanes);
  if (isConst(a, 0) || isConst(b, 0)) return e.constant('i32', 0, lanes);
  if (a.kind === 'const' && b.kind === 'const')
    return e.constant('i32', Number(a.value) * Number(b.value), lanes);
  if (a.kind === 'ramp' && b.type.lanes === 1)
    return e.ramp(mulIndex(a.base, b), mulIndex(a.stride, b), lanes);
  if (b.kind === 'ramp' && a.type.lanes === 1)
    return e.ramp(mulIndex(a, b.base), mulIndex(a, b.stride), lanes);
  return e.mul(a, b);
}

export const zero: Expr = e.i32(0);
export const one: Expr = e.i32(1);

/** Row-major strides, in elements. */
export function rowMajorStrides(shape: readonly Expr[]): readonly Expr[] {
  const strides: Expr[] = [];
  let stride = one;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = stride;
    stride = mulIndex(shape[axis], stride);
  }
  return strides;
}

/** The row-major position of an index. */
export function flatIndex(index: readonly Expr[], strides: readonly Expr[]): Expr {
  let flat = zero;
  for (let axis = 0; axis < index.length; axis++)
    flat = addIndex(flat, mulIndex(index[axis], strides[axis]));
  return flat;
}

/** The index of a row-major position; the inverse of `flatIndex` within bounds. */
function unflatten(flat: Expr, shape: readonly Expr[]): readonly Expr[] {
  const index: Expr[] = [];
  let rest = flat;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    if (isConst(shape[axis], 1)) index[axis] = zero;
    else if (shape.slice(0, axis).every((extent) => isConst(extent, 1))) {
      index[axis] = rest;
      rest = zero;
    } else {
      index[axis] = e.rem(rest, shape[axis]);
      rest = e.div(rest, shape[axis]);
    }
  }
  return index;
}

/** An operand that lies in memory. */
export function memoryAccess(dtype: DType, shape: readonly Expr[], from: Buffer): Access {
  const strides = rowMajorStrides(shape);
  const at = remembered((index) => loadElement(dtype, from, flatIndex(index, strides)));
  return { dtype, shape, at, buffer: from };
}

/** An operand of one element whose value is known. */
export function immediateAccess(data: ConstantData): Access {
  const { dtype, shape } = data.type;
  const element = readElement(dtype, data.data, 0);
  const value = e.constant(
    computeScalar(dtype),
    typeof element === 'boolean' ? Number(element) : element,
  );
  return { dtype, shape: shape.map(() => one), at: () => value, buffer: null };
}

/** An operand that is computed where it is read. */
export function computedAccess(
  dtype: DType,
  shape: readonly Expr[],
  compute: (index: readonly Expr[]) => Expr,
): Access {
  return {
    dtype,
    shape,
    at: remembered((index) => settle(dtype, compute(index))),
    buffer: null,
  };
}

/** The elements of another operand, in row-major order, with another shape. */
export function viewAccess(shape: readonly Expr[], of: Access): Access {
  if (of.buffer !== null) return memoryAccess(of.dtype, shape, of.buffer);
  const strides = rowMajorStrides(shape);
  return {
    dtype: of.dtype,
    shape,
    at: remembered((index) => of.at(regroup(index, shape, strides, of.shape))),
    buffer: null,
  };
}

/** Maps an index of `from` to the index of the same element in `to`; axes of size 1 cost nothing. */
function regroup(
  index: readonly Expr[],
  from: readonly Expr[],
  strides: readonly Expr[],
  to: readonly Expr[],
): readonly Expr[] {
  const wide = from.flatMap((extent, axis) => (isConst(extent, 1) ? [] : [axis]));
  const wideTo = to.flatMap((extent, axis) => (isConst(extent, 1) ? [] : [axis]));
  const sameWide =
    wide.length === wideTo.length && wide.every((axis, i) => sameExtent(from[axis], to[wideTo[i]]));
  if (!sameWide) return unflatten(flatIndex(index, strides), to);
  const moved: Expr[] = to.map(() => zero);
  wide.forEach((axis, i) => (moved[wideTo[i]] = index[axis]));
  return moved;
}

/**
 * An index into a shape: the given components in order along axes of more than one element, zero along
 * others.
 */
export function inOrder(shape: readonly Expr[], parts: readonly Expr[]): readonly Expr[] {
  let next = 0;
  return shape.map((extent) => (isConst(extent, 1) ? zero : parts[next++]));
}

function sameExtent(a: Expr, b: Expr): boolean {
  return a === b || (a.kind === 'const' && b.kind === 'const' && a.value === b.value);
}

/** A result that goes to memory. */
export function memorySink(dtype: DType, shape: readonly Expr[], to: Buffer): Sink {
  const strides = rowMajorStrides(shape);
  return {
    dtype,
    shape,
    store: (index, value) => storeElement(dtype, to, flatIndex(index, strides), value),
    buffer: to,
  };
}

/**
 * Memoizes by index, so that it returns the same expression object: sharing in the program stays sharing in
 * the kernel, and the size of an expression stays linear in the number of operators.
 */
function remembered(at: (index: readonly Expr[]) => Expr): (index: readonly Expr[]) => Expr {
  const known: { readonly index: readonly Expr[]; readonly value: Expr }[] = [];
  return (index) => {
    for (const entry of known) {
      if (entry.index.every((part, axis) => sameExtent(part, index[axis]))) return entry.value;
    }
    const value = at(index);
    known.push({ index, value });
    return value;
  };
}
