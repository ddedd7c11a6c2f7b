import { type DimBindings, evaluateDim } from '../../base/dim/index.js';
import { DeviceError } from '../../base/errors.js';
import type { Var } from '../../loop/language/nodes.js';
import type { StepPlan } from '../../passes/lower/main/stepwise.js';
import type { StateBuffer } from '../../passes/lower/main/steps.js';
import { planMemory } from '../../passes/plan/memory.js';
import type { DeviceBuffer } from '../memory/backend.js';
import { Storage } from '../memory/storage.js';
import { alignedBytes, type BufferSlot, copyBetween } from './memory.js';
import type { DeviceQueue } from './queue.js';
import { ManagedBuffer, managed } from './queue/managed.js';

/** Places of temporaries in an arena, for certain sizes. */
interface ArenaLayout {
  readonly lengths: readonly number[];
  /** By place, in bytes; undefined for what lies elsewhere. */
  readonly offsets: readonly (number | undefined)[];
  readonly bytes: number;
}

/** Memory of a plan's runs on a device. */
export class StepMemory {
  readonly #plan: StepPlan;
  readonly #queue: DeviceQueue;
  /** By place; made at the first run. */
  #constants: ReadonlyMap<number, Storage> | null = null;
  #layout: ArenaLayout | null = null;

  constructor(plan: StepPlan, queue: DeviceQueue) {
    this.#plan = plan;
    this.#queue = queue;
  }

  release(): void {
    for (const constant of this.#constants?.values() ?? []) constant.release();
    this.#constants = null;
  }

  /** Lengths of buffers, and places of temporaries, for certain sizes. */
  layoutFor(names: DimBindings): ArenaLayout {
    const { places } = this.#plan.memory;
    const lengths = places.map(({ length }) => evaluateDim(length, names));
    const last = this.#layout;
    if (last !== null && lengths.every((length, place) => length === last.lengths[place])) {
      return last;
    }
    for (const length of lengths) refuseUncounted(length);
    const isOutput = new Set(
      this.#plan.outputs.flatMap((source) => (source.kind === 'place' ? [source.place] : [])),
    );
    const planned = places.flatMap(({ role }, place) =>
      role.kind === 'temporary' && !isOutput.has(place) ? [place] : [],
    );
    const { offsets, bytes } = planMemory(
      planned.map((place) => {
        const { dtype, first, last: end } = places[place];
        return { bytes: alignedBytes(this.#queue, dtype, lengths[place]), first, last: end };
      }),
    );
    const byPlace: (number | undefined)[] = places.map(() => undefined);
    planned.forEach((place, i) => (byPlace[place] = offsets[i]));
    return (this.#layout = { lengths, offsets: byPlace, bytes });
  }

  /** Places of the plan's buffers; temporaries without an arena are added to `lent`. */
  places(
    inputs: readonly BufferSlot[],
    results: ReadonlyMap<number, DeviceBuffer>,
    { offsets, lengths, bytes }: ArenaLayout,
    lent: DeviceBuffer[],
  ): readonly (BufferSlot | undefined)[] {
    const arena = bytes === 0 ? null : this.#queue.arena(bytes);
    return this.#plan.memory.places.map(({ role, dtype }, place): BufferSlot | undefined => {
      if (role.kind === 'input') return inputs[role.index];
      if (role.kind === 'constant') return { buffer: this.#constant(place), offset: 0 };
      const result = results.get(place);
      if (result !== undefined) return { buffer: result, offset: 0 };
      const offset = offsets[place];
      if (offset === undefined) return undefined;
      if (arena !== null) return { buffer: arena, offset };
      const buffer = this.#queue.backend.allocate(dtype, lengths[place]);
      lent.push(buffer);
      return { buffer, offset: 0 };
    });
  }

  /** The buffer of an output: that of its place for the first one there, a copy for others. */
  result(
    k: number,
    inputs: readonly BufferSlot[],
    results: ReadonlyMap<number, DeviceBuffer>,
    names: DimBindings,
    made: DeviceBuffer[],
  ): DeviceBuffer {
    const { program, outputs } = this.#plan;
    const source = outputs[k];
    const { backend } = this.#queue;
    if (source.kind === 'place') {
      const first = outputs.findIndex((each) => each.kind === 'place' && each.place === source.place); // prettier-ignore
      const buffer = results.get(source.place)!;
      if (first === k) return buffer;
      const copy = backend.allocate(buffer.dtype, buffer.length);
      made.push(copy);
      backend.copy(buffer, copy);
      return copy;
    }
    const { dtype, shape } = program.outputs[k].value.type;
    const length = shape.reduce<number>((product, dim) => product * evaluateDim(dim, names), 1);
    const buffer = backend.allocate(dtype, length);
    made.push(buffer);
    if (source.kind === 'constant') backend.write(buffer, source.data.data);
    else copyBetween(this.#queue, dtype, inputs[source.index], { buffer, offset: 0 }, length);
    return buffer;
  }

  #constant(place: number): DeviceBuffer {
    if (this.#constants === null) {
      const made = new Map<number, Storage>();
      this.#constants = made;
      this.#plan.memory.places.forEach(({ role, dtype }, id) => {
        if (role.kind !== 'constant') return;
        const { data } = role.data;
        const buffer = new ManagedBuffer(dtype, data.length);
        buffer.host = data;
        buffer.isBacked = true;
        // Which frees it with whoever runs the steps.
        made.set(id, Storage.ofBuffer(this.#queue, buffer));
      });
    }
    return this.#queue.memoryOf(managed(this.#constants.get(place)!.buffer));
  }
}

/** Elements that kernels count: int32, with room for a step of all invocations of a GPU beyond the last one. */
const mostElements = 2 ** 31 - 2 ** 23;

/** @throws DeviceError for more elements of one array than kernels can count. */
function refuseUncounted(length: number): void {
  if (length <= mostElements) return;
  throw new DeviceError('an array has more elements than a device counts', {
    op: 'run',
    expected: `at most ${mostElements}`,
    actual: String(length),
    advice: 'divide it into several arrays',
  });
}

/** The next states of a loop become the current ones. */
export function swapStates(states: readonly StateBuffer[], addresses: Map<Var, BufferSlot>): void {
  for (const { current, next } of states) {
    if (next === null) continue;
    const old = addresses.get(current)!;
    addresses.set(current, addresses.get(next.variable)!);
    addresses.set(next.variable, old);
  }
}
