import {
  addDim,
  ceilDivDim,
  type Dim,
  evaluateDim,
  maxDim,
  mulDim,
  symbolTable,
} from '../base/dim.js';
import { bytesOf } from '../base/dtype.js';
import type { Plan } from '../passes/lower/plan.js';
import { alignment, planMemory } from '../passes/memory.js';
import type { Place } from '../passes/places.js';

/** Where everything lies, in bytes from the start of one memory; numbers unless sizes are symbolic. */
export interface Layout {
  /** What `main` reads first: sizes, then the address of each place. */
  readonly table: { readonly address: number; readonly entries: readonly Dim[] };
  /** By place. */
  readonly addresses: readonly Dim[];
  /** All that is needed. */
  readonly bytes: Dim;
}

/**
 * Lays a plan out for any sizes. What is `resident` keeps its place from run to run, at an address that
 * no size moves; the rest shares memory by the steps that need it. Nothing lies below `base`.
 */
export function layOutPlan(
  plan: Plan,
  isResident: (place: Place) => boolean,
  base: number,
): Layout {
  const { places, sizes } = plan;
  const addresses: Dim[] = places.map(() => 0);
  const tableAddress = aligned(base) as number;
  let end = aligned(tableAddress + 4 * (sizes.length + places.length));
  const moving: number[] = [];
  places.forEach((place, id) => {
    if (!isResident(place)) return void moving.push(id);
    addresses[id] = end;
    end = addDim(end, aligned(bytesAt(place)));
  });
  const shared = share(moving.map((id) => places[id]));
  moving.forEach((id, i) => (addresses[id] = addDim(end, shared.offsets[i])));
  return {
    table: { address: tableAddress, entries: [...sizes, ...addresses] },
    addresses,
    bytes: addDim(end, shared.bytes),
  };
}

function bytesAt({ dtype, length }: Place): Dim {
  return mulDim(length, bytesOf(dtype));
}

function aligned(bytes: Dim): Dim {
  return mulDim(ceilDivDim(bytes, alignment), alignment);
}

/** Inputs are there before the first step. */
function lifetime({ role, first, last }: Place): { readonly first: number; readonly last: number } {
  return { first: role.kind === 'input' ? -1 : first, last };
}

function share(places: readonly Place[]): {
  readonly offsets: readonly Dim[];
  readonly bytes: Dim;
} {
  const bytes = places.map(bytesAt);
  const numbers = bytes.filter((size) => typeof size === 'number');
  return numbers.length === bytes.length
    ? planMemory(places.map((place, i) => ({ ...lifetime(place), bytes: numbers[i] })))
    : slots(places, bytes);
}

/** Memory for one place after the other, as large as the largest of them. */
interface Slot {
  bytes: Dim;
  /** For sizes that are neither small nor large. */
  typical: number;
  last: number;
}

/** What symbolic sizes are taken to be where places are matched by size. */
const typicalSize = 64;

/**
 * Symbolic sizes cannot be packed tightly, since their order is not known: places take turns in slots of
 * about their size instead.
 */
function slots(
  places: readonly Place[],
  bytes: readonly Dim[],
): { readonly offsets: readonly Dim[]; readonly bytes: Dim } {
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
