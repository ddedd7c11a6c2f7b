import { elementCount, mulDim } from '../../../base/dim/index.js';
import type { CallNode, Program, Value } from '../../../ir/program.js';
import { scalarBytes } from '../../../loop/language/build.js';
import { declarationOf } from '../../../ops/declare/facets.js';
import type { DeviceTarget } from '../../../ops/declare/kernels.js';
import { accumulatorOf } from '../../../ops/sums.js';
import type { Group } from '../../groups/group.js';
import {
  isNumber,
  type ProgramMemory,
  type BufferAssignment,
  type StepRange,
} from '../../groups/places.js';
import { isView } from '../../rewrite/views.js';

/** Lifetime of data derived from an operand. */
export type PackedLifetime =
  /** While a loop runs that does not change the operand. */
  | { readonly kind: 'loop'; readonly span: StepRange }
  /** From run to run, while these inputs of the program are the same. */
  | {
      readonly kind: 'runs';
      readonly inputs: readonly number[];
      /** The buffers of these inputs, and of constants. */
      readonly places: readonly number[];
    };

/** Context of a group in its program. */
export interface GroupContext {
  /** The steps of the enclosing loops, outermost first. */
  readonly loops: readonly StepRange[];
  /** True inside of a branch, which may not run. */
  readonly isOptional: boolean;
}

/** The context at the top level. */
export const topLevel: GroupContext = { loops: [], isOptional: false };

/** The operand from which the kernel of a group may keep data; null for none, or less than the target keeps. */
export function packedOperand(
  program: Program,
  { anchors: [anchor] }: Group,
  { leastKept = 0 }: DeviceTarget,
): Value | null {
  const { lowering } = declarationOf((program.node(anchor) as CallNode).op);
  if (lowering.kind !== 'kernel' || lowering.keeps === undefined) return null;
  const operand = program.operands(anchor)[lowering.keeps];
  const { dtype, shape } = operand.type;
  const bytes = mulDim(elementCount(shape), scalarBytes(accumulatorOf(dtype)));
  return typeof bytes === 'number' && bytes < leastKept ? null : operand;
}

/** The locations from which a kernel reads a value, including those read on the fly. */
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
 * Lifetime of data derived from some locations: the outermost loop that does not write them, or, outside of
 * all loops, runs with the same inputs and constants.
 */
export function packedLifetime(
  memory: ProgramMemory,
  locations: readonly number[],
  { loops, isOptional }: GroupContext,
): PackedLifetime | null {
  // Values that move between iterations have an address instead of a buffer.
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
    // Inputs that the program itself overwrites differ in the next run.
    if (role.kind === 'input' && taken === null) inputs.push(role.index);
    else if (role.kind !== 'constant') return null;
  }
  return { kind: 'runs', inputs, places: locations };
}
