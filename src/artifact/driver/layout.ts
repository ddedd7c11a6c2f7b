import {
  addDim,
  ceilDivDim,
  type Dim,
  elementCount,
  evaluateDim,
  maxDim,
  mulDim,
  symbolTable,
} from '../../base/dim/index.js';
import { bytesOf } from '../../base/dtype.js';
import type { TensorType } from '../../ir/types.js';
import { alignment, planMemory } from '../../passes/plan/memory.js';
import type { PlannedBuffer } from '../../passes/groups/places.js';

/** Offsets in one memory, by buffer, and the total; numbers unless sizes are symbolic. */
export interface Shared {
  readonly offsets: readonly Dim[];
  readonly bytes: Dim;
}

/** Bytes up to the next alignment boundary. */
export function aligned(bytes: Dim): Dim {
  return mulDim(ceilDivDim(bytes, alignment), alignment);
}

/** The bytes of an array. */
export function bytesAt({ dtype }: Pick<TensorType, 'dtype'>, shape: readonly Dim[]): Dim {
  return mulDim(elementCount(shape), bytesOf(dtype));
}

/** Assigns shared memory to buffers by their live ranges, for any sizes. */
export function shareMemory(places: readonly PlannedBuffer[]): Shared {
  const bytes = places.map(({ dtype, length }) => mulDim(length, bytesOf(dtype)));
  const numbers = bytes.filter((size) => typeof size === 'number');
  return numbers.length === bytes.length
    ? planMemory(places.map((place, i) => ({ ...lifetime(place), bytes: numbers[i] })))
    : slots(places, bytes);
}

/** Inputs are live before the first step. */
function lifetime({ role, first, last }: PlannedBuffer): {
  readonly first: number;
  readonly last: number;
} {
  return { first: role.kind === 'input' ? -1 : first, last };
}
/** Memory for one buffer after the other, as large as the largest of them. */
interface Slot {
  bytes: Dim;
  /** For sizes that are neither small nor large. */
  typical: number;
  last: number;
}

/** Assumed value of symbolic sizes when buffers are matched by size. */
const typicalSize = 64;

/**
 * Symbolic sizes cannot be packed tightly, since their order is unknown: buffers of about the same size share
 * slots instead.
 */
function slots(places: readonly PlannedBuffer[], bytes: readonly Dim[]): Shared {
  const all: Slot[] = [];
  const slotOf: Slot[] = [];
  const order = places.map((_, i) => i).sort((a, b) => lifetime(places[a]).first - lifetime(places[b]).first); // prettier-ignore
  for (const i of order) {
    const { first, last } = lifetime(places[i]);
    const typical = typicalOf(bytes[i]);
    const distance = (slot: Slot): number => Math.abs(Math.log((slot.typical + 1) / (typical + 1)));
    const [best] = all
      .filter((slot) => slot.last < first)
      .sort((a, b) => distance(a) - distance(b));
    if (best === undefined) {
      all.push((slotOf[i] = { bytes: bytes[i], typical, last }));
      continue;
    }
    slotOf[i] = best;
    best.bytes = maxDim(best.bytes, bytes[i]);
    best.typical = Math.max(best.typical, typical);
    best.last = last;
  }
  const offsets = new Map<Slot, Dim>();
  let end: Dim = 0;
  for (const slot of all) {
    offsets.set(slot, end);
    end = addDim(end, aligned(slot.bytes));
  }
  return { offsets: slotOf.map((slot) => offsets.get(slot)!), bytes: end };
}

function typicalOf(bytes: Dim): number {
  const symbols = [...symbolTable(bytes)];
  return evaluateDim(
    bytes,
    new Map(
      symbols.map(([name, { min, max }]) => [name, Math.min(Math.max(typicalSize, min), max)]),
    ),
  );
}
