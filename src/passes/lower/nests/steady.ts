import type { CallNode, Program, Value } from '../../../ir/program.js';
import { declarationOf } from '../../../ops/declare/facets.js';
import type { Group } from '../../groups/group.js';
import {
  isNumber,
  type ProgramMemory,
  type BufferAssignment,
  type StepRange,
} from '../../groups/places.js';
import { isView } from '../../rewrite/views.js';

/** For how long what is made of an operand is good. */
export type PackedLifetime =
  /** While a loop runs, which changes nothing of it. */
  | { readonly kind: 'loop'; readonly span: StepRange }
  /** From run to run, while these inputs of the program are the same. */
  | {
      readonly kind: 'runs';
      readonly inputs: readonly number[];
      /** The places of these inputs, and of constants. */
      readonly places: readonly number[];
    };

/** What surrounds a group in its program. */
export interface GroupContext {
  /** The steps of the loops around it, outermost first. */
  readonly loops: readonly StepRange[];
  /** Whether it is part of a branch, so that it may not run. */
  readonly isOptional: boolean;
}

/** A program has nothing around it. */
export const topLevel: GroupContext = { loops: [], isOptional: false };

/** The operand of which the kernel of a group may keep something; null for none. */
export function packedOperand(program: Program, { anchors: [anchor] }: Group): Value | null {
  const { lowering } = declarationOf((program.node(anchor) as CallNode).op);
  if (lowering.kind !== 'kernel' || lowering.keeps === undefined) return null;
  return program.operands(anchor)[lowering.keeps];
}

/** The locations from which a kernel reads a value, some of which its group may compute on the fly. */
export function locationsRead(
  program: Program,
  members: Group['members'],
  places: BufferAssignment,
  value: Value,
): readonly number[] {
  if (isNumber(program, value)) return [];
  if (isView(program, value.node) || members.includes(value.node))
    return program
      .operands(value.node)
      .flatMap((operand) => locationsRead(program, members, places, operand));
  return [places.placeOf(value)!];
}

/**
 * Whether what lies at some locations is steady for a kernel: in the outermost loop that finds it there and leaves
 * it is, or, outside of all loops, as inputs and constants.
 */
export function packedLifetime(
  memory: ProgramMemory,
  locations: readonly number[],
  { loops, isOptional }: GroupContext,
): PackedLifetime | null {
  // What moves from iteration to iteration has an address instead of a place.
  if (locations.length === 0 || locations.some((location) => location < 0)) return null;
  const places = locations.map((location) => memory.places[location]);
  if (loops.length > 0) {
    const isBefore = ({ first }: StepRange): boolean =>
      places.every((place) => place.role.kind !== 'temporary' || place.first < first);
    const span = loops.find(isBefore);
    return span === undefined ? null : { kind: 'loop', span };
  }
  if (isOptional) return null;
  const inputs: number[] = [];
  for (const { role, taken } of places) {
    // What the program itself overwrites is another one in the next run.
    if (role.kind === 'input' && taken === null) inputs.push(role.index);
    else if (role.kind !== 'constant') return null;
  }
  return { kind: 'runs', inputs, places: locations };
}
