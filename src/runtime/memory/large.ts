import { bytesOf, type DType } from '../../base/dtype.js';
import { type ProgramPlan, placeBytes, placeEntry } from '../../passes/lower/main/plan.js';

/** An operand or a result that is not copied at every run; its address is another one each time. */
interface LargePlace {
  readonly place: number;
  /** Entry of the table with its address. */
  readonly entry: number;
  readonly dtype: DType;
  readonly length: number;
}

/** An operand that is read where the device has it. */
export interface LargeOperand extends LargePlace {
  readonly index: number;
}

/** A result that is written to memory of its own, which becomes that of an array. */
export interface LargeResult extends LargePlace {
  /** The output that gets the memory; others of the same place get copies. */
  readonly output: number;
  /** The operand that it takes over, so that a copy of it has to be there before; -1 for none. */
  readonly before: number;
}

/** Operands and results of a program that are too large to be copied at every run. */
export interface LargePlaces {
  readonly operands: readonly LargeOperand[];
  readonly results: readonly LargeResult[];
  /** Places of all of them. */
  readonly places: ReadonlySet<number>;
}

/**
 * From so many bytes on an operand is read where the device has it. Results pay for that by being written to
 * memory that is not in a cache, so they have to be larger.
 */
const leastOperand = 2 ** 16;
const leastResult = 2 ** 18;

/** The bytes that all of them take at once. */
export function bytesOfLarge({ operands, results }: LargePlaces): number {
  const bytes = ({ dtype, length }: LargePlace): number => bytesOf(dtype) * length;
  return [...operands, ...results].reduce((sum, place) => sum + bytes(place), 0);
}

/** Facts about the places of a program before a run. */
export interface KnownBuffers {
  /** The most bytes that one array may take. */
  readonly most: number;
  /** True for a place that has an address. */
  readonly isFixed: (place: number) => boolean;
  /** True for an output that goes to memory on the device. */
  readonly isGiven: (output: number) => boolean;
}

/** Places without an address before a run, for these lengths; null for none. */
export function largePlaces(
  plan: ProgramPlan,
  lengths: readonly number[],
  { most, isFixed, isGiven }: KnownBuffers,
): LargePlaces | null {
  const { places, outputs } = plan;
  const isLarge = (place: number, least: number): boolean => {
    const bytes = placeBytes(places[place], lengths[place]);
    return bytes >= least && bytes <= most && !isFixed(place);
  };
  const of = (place: number): LargePlace => ({
    place,
    entry: placeEntry(plan, place),
    dtype: places[place].dtype,
    length: lengths[place],
  });
  const results = new Map<number, LargeResult>();
  outputs.forEach((source, output) => {
    if (source.kind !== 'place' || isGiven(output) || results.has(source.place)) return;
    const { place } = source;
    const { role } = places[place];
    const before = role.kind === 'input' ? role.index : -1;
    if (isLarge(place, leastResult)) results.set(place, { ...of(place), output, before });
  });
  const operands = places.flatMap(({ role, taken }, place) => {
    // What an output takes over is a copy.
    const isRead = role.kind === 'input' && taken === null && isLarge(place, leastOperand);
    return isRead ? [{ ...of(place), index: role.index }] : [];
  });
  if (operands.length + results.size === 0) return null;
  return {
    operands,
    results: [...results.values()],
    places: new Set([...operands.map(({ place }) => place), ...results.keys()]),
  };
}
