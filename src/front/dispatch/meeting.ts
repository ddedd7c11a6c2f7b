import { type Dim, isStatic, sameDim, sameShape, symbolsOf } from '../../base/dim/index.js';
import {
  type Attributes,
  checkAttributes,
  symbolsOfAttributes,
} from '../../base/attributes/schema.js';
import type { Refusal } from '../../ir/requirement.js';
import type { Shape } from '../../ir/types.js';
import type { Declaration } from '../../ops/declare/declare.js';
import { agree } from '../../ops/declare/meeting.js';
import { fitted } from '../../ops/dynamic/stretch-to.js';
import { withSizes } from '../../ops/index.js';
import type { Capture } from '../core/capture.js';
import { mode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';

/*
 * Eager code adds up what two masks have selected if the numbers happen to fit. Captured code cannot know
 * whether they will: it says what it takes them to be, and that is checked once the data has decided.
 */

/** The operands of a captured call, with sizes that agree where only the data decides if they do. */
export function agreeingOperands(
  { name, attributes: schema, meetings }: Declaration,
  attributes: Attributes,
  operands: readonly NDArray[],
  capture: Capture,
): readonly NDArray[] {
  if (meetings === undefined) return operands;
  // Before anything is computed with them.
  checkAttributes(name, schema, attributes);
  const shapes = operands.map(({ type }) => type.shape);
  const isKnown = shapes.every((shape) => shape.every(isStatic));
  // Attributes may have sizes that the operands do not have.
  if (isKnown && symbolsOfAttributes(schema, attributes).size === 0) return operands;
  const isDecided = decidedIn([...decidingCaptures(capture, operands)]);
  return fitted(
    operands,
    agree(shapes, meetings(shapes, attributes), isDecided, capture.calls.require),
  );
}

/**
 * `x` with a shape, where only the data decides if it has it: checked when the sizes are known. Null where
 * `x` certainly has another shape, or the sizes of inputs decide.
 */
export function ofShape(x: NDArray, shape: Shape, refusal: () => Refusal): NDArray | null {
  const from = x.type.shape;
  if (sameShape(from, shape)) return x;
  const { capture } = mode;
  if (capture === null || from.length !== shape.length) return null;
  const isDecided = decidedIn([...decidingCaptures(capture, [x])]);
  const mayAgree = shape.every(
    (wanted, axis) => sameDim(wanted, from[axis]) || isDecided(wanted) || isDecided(from[axis]),
  );
  return mayAgree ? withSizes(x, shape, refusal()) : null;
}

/** Predicate of dimensions that depend on data-dependent sizes of some captures. */
function decidedIn(captures: readonly Capture[]): (dim: Dim) => boolean {
  return (dim) =>
    captures.length > 0 &&
    !isStatic(dim) &&
    [...symbolsOf(dim)].some((symbol) => captures.some(({ sizes }) => sizes.decided.has(symbol)));
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
