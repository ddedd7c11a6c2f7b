import { broadcastDim, type Dim, sameDim } from '../../base/dim/index.js';
import {
  equalSizes,
  isOneOr,
  joinedWords,
  type MessageTemplate,
  type Refusal,
  type Require,
  words,
} from '../../ir/requirement.js';
import type { Shape } from '../../ir/types.js';

/** An axis of an operand. */
export interface OperandAxis {
  readonly operand: number;
  readonly axis: number;
}

/**
 * Axes of a call's operands whose sizes depend on each other. Captured code cannot compare sizes that the data
 * decides: it makes the operands agree before the call, and states what that requires.
 */
export interface Meeting {
  readonly places: readonly OperandAxis[];
  /** Sizes of 1 are stretched. Otherwise all sizes are equal. */
  readonly broadcasts: boolean;
  /** The size that the operands have, or broadcast to, where it is not that of the first place or their own. */
  readonly size?: Dim;
  /** Error for a size that does not fit `known`, the common size of the places before it. */
  refusal(place: OperandAxis, known: Dim): Refusal;
}

/** Facet of operators that compare the sizes of their operands; wrong ranks are left to inference. */
export type Meetings<A> = (shapes: readonly Shape[], attributes: A) => readonly Meeting[];

/** The refusal of shapes that do not broadcast. */
export function broadcastRefusal(op: string, shapes: readonly Shape[]): Refusal {
  return {
    op,
    problem: words`the shapes do not broadcast`,
    expected: words`equal extents, or 1, on every axis counted from the last`,
    actual: joinedWords(
      shapes.map((shape) => words`${shape}`),
      ' and ',
    ),
  };
}

/** Meetings of broadcasting axes: those of leading parts of the operands' shapes, counted from the last. */
export function broadcastMeetings(op: string, shapes: readonly Shape[]): readonly Meeting[] {
  const rank = Math.max(0, ...shapes.map((shape) => shape.length));
  return Array.from({ length: rank }, (_, k) => ({
    places: shapes.flatMap(({ length }, operand) => {
      const axis = k - rank + length;
      return axis < 0 ? [] : [{ operand, axis }];
    }),
    broadcasts: true,
    refusal: () => broadcastRefusal(op, shapes),
  }));
}

/** A shape that an operand has to be given, and the error where it does not fit. */
export interface RequiredShape {
  readonly shape: Shape;
  readonly refusal: Refusal;
}

/** The shape that an operand of `op` has to have, given another one. */
export function requiredShape(
  op: string,
  problem: MessageTemplate,
  shape: Shape,
  given: Shape,
): RequiredShape {
  const refusal: Refusal = {
    op,
    problem,
    expected: words`${shape}`,
    actual: words`${given}`,
  };
  return { shape, refusal };
}

/** Meetings of an operand's axes with those of the shape that it has to have. */
export function shapeMeetings(
  operand: number,
  given: Shape,
  { shape, refusal }: RequiredShape,
): readonly Meeting[] {
  if (given.length !== shape.length) return [];
  return shape.map((size, axis) => ({
    places: [{ operand, axis }],
    broadcasts: false,
    size,
    refusal: () => refusal,
  }));
}

/** States that an operand has the shape that it has to have, which may not have been made to agree. */
export function requireShape(given: Shape, required: RequiredShape, require: Require): void {
  require(given.length === required.shape.length, () => required.refusal);
  for (const meeting of shapeMeetings(0, given, required))
    requireMeeting([given], meeting, require);
}

/** States a meeting of sizes that are equal, for shapes that may not have been made to agree. */
export function requireMeeting(shapes: readonly Shape[], meeting: Meeting, require: Require): void {
  const sizes = meeting.places.map(({ operand, axis }) => shapes[operand][axis]);
  const common = meeting.size ?? sizes[0];
  sizes.forEach((size, k) =>
    require(equalSizes(size, common), () => meeting.refusal(meeting.places[k], common)),
  );
}

/** Changes of an operand before a call; null for none. */
export interface OperandFit {
  /** Sizes that are required to be equal. */
  readonly equal: RequiredShape | null;
  /** Sizes that are broadcast, after that. */
  readonly stretched: RequiredShape | null;
}

/**
 * Makes the sizes of operands agree. Broadcasting axes stay for inference to judge unless one of their sizes is
 * `decided` by data.
 */
export function agree(
  shapes: readonly Shape[],
  meetings: readonly Meeting[],
  decided: (dim: Dim) => boolean,
  require: Require,
): readonly OperandFit[] {
  const current = [...shapes];
  const equal: (RequiredShape | null)[] = shapes.map(() => null);
  const stretched: (RequiredShape | null)[] = shapes.map(() => null);
  const fit = (
    list: (RequiredShape | null)[],
    { operand, axis }: OperandAxis,
    size: Dim,
    refusal: Refusal,
  ): void => {
    const shape = (current[operand] = current[operand].with(axis, size));
    list[operand] = { shape, refusal: list[operand]?.refusal ?? refusal };
  };
  for (const { places, broadcasts, size, refusal } of meetings) {
    const dims = places.map(({ operand, axis }) => current[operand][axis]);
    if (dims.every((dim) => sameDim(dim, size ?? dims[0]))) continue;
    if (!broadcasts) {
      const common = size ?? dims[0];
      places.forEach((place, k) => {
        require(equalSizes(dims[k], common), () => refusal(place, common));
        if (!sameDim(dims[k], common)) fit(equal, place, common, refusal(place, common));
      });
      continue;
    }
    if (size === undefined && !dims.some(decided)) continue;
    const common = places.reduce<Dim>((known, place, k) => {
      const next = size ?? broadcastDim(known, dims[k]);
      for (const dim of [known, dims[k]]) require(isOneOr(dim, next), () => refusal(place, known));
      return next;
    }, size ?? 1);
    places.forEach((place, k) => {
      if (dims[k] === 1 || sameDim(dims[k], common)) return;
      fit(stretched, place, common, refusal(place, common));
    });
  }
  return shapes.map((_, k) => ({ equal: equal[k], stretched: stretched[k] }));
}
