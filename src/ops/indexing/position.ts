import * as attr from '../../base/attributes/attribute.js';
import { type Dim, DimExpr, isStatic, mulDim, subDim } from '../../base/dim/index.js';
import { type DType, isWeak, kindOf, promoteAll, type WeakKind } from '../../base/dtype.js';
import { ArgumentError, DTypeError } from '../../base/errors.js';
import { describeHost, type HostValue } from '../../ir/host.js';
import { type Shape, Tensor, type TensorType } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import type { ElementCheck } from '../declare/check.js';
import type { Input } from '../declare/declare.js';
import { clamped, wrappedIndex } from '../loops.js';

/*
 * What integer arrays mean as positions along an axis, for all operators that take them.
 *
 * In mode `error` a position outside the axis is a mistake. It is refused where the positions are known
 * at the call; those that only a kernel sees mean the nearest valid one, so nothing is read or written
 * out of bounds. Where a symbolic axis turns out empty, reading gives 0.
 */

/**
 * `error` (default): from -extent to extent - 1, negative ones count from the end. `clip`: clamped, so
 * negative ones mean 0. `wrap`: modulo the extent. `valid`: as `clip`, for indices that were found along the
 * axis: an index implies that there is an element, so nothing is required of the axis.
 */
export type IndexMode = 'error' | 'clip' | 'wrap' | 'valid';

export const indexMode: attr.Attribute<IndexMode> = attr.oneOf('error', 'clip', 'wrap', 'valid');

/** An axis, as an argument or among options. */
export type AxisArgument = number | { readonly axis?: number };

export function axisOf(argument: AxisArgument | undefined, otherwise: number): number {
  return typeof argument === 'object' ? (argument.axis ?? otherwise) : (argument ?? otherwise);
}

/** Normalizes a raw index along an axis, i32, in bounds unless the axis is empty. */
export function positionAt(raw: Expr, extent: Expr, mode: IndexMode): Expr {
  const size = e.cast(raw.type.scalar, extent);
  if (mode === 'wrap') return e.cast('i32', wrappedIndex(raw, size));
  const counted = mode === 'error' ? e.select(e.lt(raw, 0), e.add(raw, size), raw) : raw;
  return e.cast('i32', clamped(counted, 0, e.sub(size, 1)));
}

/** An element read along an axis: 0 where the axis is empty, which only a symbolic one can turn out to be. */
export function readAlong(extent: Expr, element: Expr): Expr {
  if (extent.kind === 'const') return element;
  return e.select(e.gt(extent, 0), element, e.constant(element.type.scalar, 0));
}

/** Plain data as indices becomes int32; arrays keep their dtype. */
export function indexDType(kind: DType | WeakKind): DType {
  return isWeak(kind) && kind !== 'weak-bool' ? 'int32' : promoteAll([kind]);
}

export function checkIndexDType(op: string, dtype: DType): void {
  if (kindOf(dtype) === 'int') return;
  throw new DTypeError('positions are integers', {
    op,
    expected: 'indices of an integer dtype',
    actual: dtype,
    advice:
      dtype === 'bool' ? 'to select by booleans use booleanMask' : 'cast the indices to int32',
  });
}

/** Refuses plain data with indices outside of an axis of known extent. */
export function checkHostIndices(op: string, indices: Input<Tensor>, extent: Dim): void {
  if (indices instanceof Tensor || indices instanceof DimExpr || !isStatic(extent)) return;
  describeHost(indices, op);
  checkPositions(op, indices, extent);
}

/** Refuses indices outside of an axis, at any nesting. */
function checkPositions(op: string, positions: HostValue, extent: number): void {
  if (typeof positions === 'object') {
    for (const entry of positions as Iterable<HostValue>) checkPositions(op, entry, extent);
  } else if (Number(positions) < -extent || Number(positions) >= extent) {
    throw outsideAxis(op, String(positions), extent);
  }
}

function outsideAxis(op: string, position: string, extent: number): ArgumentError {
  return new ArgumentError(`index ${position} is outside the axis`, {
    op,
    expected:
      extent === 0 ? 'no index: the axis is empty' : `an integer from ${-extent} to ${extent - 1}`,
    actual: position,
  });
}

/** Check of indices along an axis, for operators of mode `error`. */
export function positionsCheck<A>(
  op: string,
  extentAlong: (types: readonly TensorType[], attributes: A) => Dim | null,
): ElementCheck<A> {
  return {
    operand: 1,
    accepts: (types, attributes) => {
      const extent = extentAlong(types, attributes);
      if (extent === null) return null;
      return { least: mulDim(extent, -1), most: subDim(extent, 1), except: null };
    },
    refusal: ({ element, most }) => outsideAxis(op, String(element), most! + 1),
  };
}

/** The shape of an operand, plain data included. */
export function shapeOfOperand(op: string, input: Input<Tensor>): Shape {
  if (input instanceof DimExpr) return [];
  return input instanceof Tensor ? input.type.shape : describeHost(input, op).shape;
}
