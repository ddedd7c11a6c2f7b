import { type Dim, isStatic, sameDim, sameShape, symbolsOf } from '../../base/dim/index.js';
import type { Attributes } from '../../base/attributes/schema.js';
import type { Shape } from '../../ir/types.js';
import type { Declaration } from '../../ops/declare/declare.js';
import { broadcastTo, stretchTo, withSizes } from '../../ops/index.js';
import type { Capture } from '../core/capture.js';
import { mode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';

/*
 * Eager code adds up what two masks have selected if the numbers happen to fit. Captured code cannot know
 * whether they will: it says what it takes them to be, and that is checked once the data has decided.
 */

/**
 * The operands of a captured broadcasting call, broadcast explicitly where only the data decides their sizes.
 */
export function broadcastOperands(
  declaration: Declaration,
  attributes: Attributes,
  operands: readonly NDArray[],
  capture: Capture,
): readonly NDArray[] {
  if (declaration === broadcastTo.declaration) {
    return [withSizesOf(attributes.shape as Shape, operands[0])];
  }
  const { name, lowering } = declaration;
  if (operands.length < 2 || lowering.kind !== 'point' || !lowering.elementwise) return operands;
  const shapes = operands.map(({ type }) => type.shape);
  if (shapes.every((shape) => shape.every(isStatic))) return operands;
  const captures = [...decidingCaptures(capture, operands)];
  if (captures.length === 0) return operands;
  const isDecided = decidedIn(captures);
  return operands.map((operand, i) => {
    const shape = shapes[i];
    const wanted = shape.map((extent, axis) =>
      isDecided(extent) ? (meetingAt(axis - shape.length, shapes, isDecided) ?? extent) : extent,
    );
    return sameShape(shape, wanted) ? operand : stretchTo(operand, wanted, name);
  });
}

/**
 * `x` with a shape, where only the data decides if it has it: checked when the sizes are known. Null where
 * `x` certainly has another shape, or nothing can ever be known.
 */
export function ofShape(x: NDArray, shape: Shape, op: string): NDArray | null {
  const from = x.type.shape;
  if (sameShape(from, shape)) return x;
  const { capture } = mode;
  if (capture === null || from.length !== shape.length) return null;
  const isDecided = decidedIn([...decidingCaptures(capture, [x])]);
  const mayAgree = shape.every(
    (wanted, axis) => sameDim(wanted, from[axis]) || isDecided(wanted) || isDecided(from[axis]),
  );
  return mayAgree ? withSizes(x, shape, op) : null;
}

/** Predicate of dimensions whose symbols are all data-dependent sizes of some captures. */
function decidedIn(captures: readonly Capture[]): (dim: Dim) => boolean {
  return (dim) =>
    !isStatic(dim) &&
    [...symbolsOf(dim)].every((symbol) => captures.some(({ sizes }) => sizes.decided.has(symbol)));
}

/** `x` with its unknown extents replaced by those of a shape, counted from the last. */
function withSizesOf(shape: Shape, x: NDArray): NDArray {
  const from = x.type.shape;
  const lead = shape.length - from.length;
  if (lead < 0 || from.every(isStatic)) return x;
  const wanted = from.map((extent, axis) => (isStatic(extent) ? extent : shape[axis + lead]));
  return sameShape(wanted, from) ? x : stretchTo(x, wanted, broadcastTo.declaration.name);
}

/**
 * Common extent of an axis, counted from the last: the number among the extents, or the first data-dependent
 * one. Undefined where one of them is an input size of replays: it may be 1, and then is broadcast.
 */
function meetingAt(
  axis: number,
  shapes: readonly Shape[],
  isDecided: (dim: Dim) => boolean,
): Dim | undefined {
  const met = shapes.flatMap((shape) => shape.at(axis) ?? []).filter((dim) => dim !== 1);
  return met.find(isStatic) ?? (met.every(isDecided) ? met[0] : undefined);
}

/** The captures whose data decides sizes of a call. */
export function decidingCaptures(
  capture: Capture,
  operands: readonly NDArray[],
): ReadonlySet<Capture> {
  const captures = new Set<Capture>();
  const note = (each: Capture | null): void => {
    for (; each !== null; each = each.parent) if (each.sizes.decided.size > 0) captures.add(each);
  };
  note(capture);
  for (const { origin } of operands) note(origin?.capture ?? null);
  return captures;
}
