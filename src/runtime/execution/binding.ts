import { evaluateDim } from '../../base/dim/index.js';
import type { DType, HostArray } from '../../base/dtype.js';
import { ArgumentError, GraphError, InternalError } from '../../base/errors.js';
import { bindProgram } from '../../ir/bind.js';
import { namedInputs, type Program } from '../../ir/program.js';
import { packedStates } from '../../ops/declare/lowering.js';
import {
  type ProgramPlan,
  placeBytes,
  placeEntry,
  tableLength,
} from '../../passes/lower/main/plan.js';
import { planMemory } from '../../passes/plan/memory.js';
import type { Device } from '../memory/device.js';
import type { Operand } from './executable.js';
import { bytesOfLarge, type LargePlaces, largePlaces } from '../memory/large.js';
import type { Storage } from '../memory/storage.js';

/**
 * A plan for certain sizes and certain pinned storages: every place has an address, but for those that get
 * one at each run (`large`). Good for any number of runs in which `fits` holds.
 */
export interface Binding {
  readonly epoch: number;
  /** True if its addresses have 64 bits, so that it reaches all memory: that of native code, too. */
  readonly isWide: boolean;
  /** Table that `main` reads: the values of sizes, then the addresses of places. */
  readonly table: Int32Array;
  readonly shapes: readonly (readonly number[])[];
  readonly dtypes: readonly DType[];
  readonly lengths: readonly number[];
  /** The sizes that the program is passed. */
  readonly passed: readonly number[];
  /** Addresses of pinned inputs; -1 where the input is staged. */
  readonly inputAddresses: readonly number[];
  /**
   * Elements to which inputs are copied; null for inputs that are used in place or large, and those that no
   * kernel reads.
   */
  readonly staging: readonly (HostArray | null)[];
  readonly outputShapes: readonly (readonly number[])[];
  /** Views on the results; null for those that are large, and for outputs that are inputs or constants. */
  readonly results: readonly (HostArray | null)[];
  readonly outputTypes: readonly { readonly dtype: DType; readonly length: number }[];
  /** For outputs, the address of the storage they go to, or one of `fresh` and `unpinned`. */
  readonly targets: readonly number[];
  /** True for outputs that kernels write to their final place, so that nothing is copied. */
  readonly inPlace: readonly boolean[];
  /** True if all outputs get fresh storage. */
  readonly isFresh: boolean;
  /** Time that several threads would save in a run (`Plan.gain`). */
  readonly gain: number;
  /** True if several outputs go to storages that have no address to tell them apart by. */
  readonly mayCollide: boolean;
  /** The names of inputs in whose memory a run writes: what they were is gone when it fails half-way. */
  readonly overwritten: readonly string[];
  /** Null where everything is copied. */
  readonly large: LargePlaces | null;
}

/** Writes an address where `main` reads it: into one word of the table, or into two, the lower one first. */
export function enterAddress(
  table: Int32Array,
  entry: number,
  address: number,
  isWide: boolean,
): void {
  table[entry] = address;
  if (isWide) table[entry + 1] = Math.floor(address / 2 ** 32);
}

/**
 * Placement of large operands and results in the memory of a device: in memory of their own if there is
 * enough, or certainly, because they are there already, or by copies in the arena, where there is room for
 * nothing else.
 */
export type LargeMemory = 'if possible' | 'leased' | 'copied';

const noSizes: readonly number[] = [];

/** An output that gets fresh storage. */
const fresh = -1;
/** An output that is copied to a storage outside of the device's memory. */
const unpinned = -2;

function targetOf(storage: Storage | null | undefined, device: Device, isWide: boolean): number {
  if (storage === null || storage === undefined) return fresh;
  const address = storage.addressOn(device, isWide);
  return address < 0 ? unpinned : address;
}

/**
 * Binds sizes and plans the arena.
 * @throws ShapeError, DTypeError, ArgumentError for operands that do not fit; DeviceError when the
 * memory is exhausted.
 */
export function bind(
  plan: ProgramPlan,
  device: Device,
  constants: ReadonlyMap<number, number>,
  inputs: readonly Operand[],
  into: readonly (Storage | null)[] | undefined,
  memory: LargeMemory,
  passed: readonly number[] = noSizes,
): Binding {
  const { program, places } = plan;
  const isWide = plan.addresses === 'i64';
  const sizes = bindOperands(plan, inputs, passed);
  const outputShapes = program.outputs.map(({ value }) =>
    value.type.shape.map((dim) => evaluateDim(dim, sizes)),
  );
  checkInto(program, outputShapes, into);
  const lengths = places.map(({ length }) => evaluateDim(length, sizes));
  const inputAddresses = inputs.map(({ storage }) => storage.addressOn(device, isWide));
  const pinned = new PinnedReads(plan, inputAddresses);
  const direct = directOutputs(plan, device, pinned, into);

  const fixed = new Map(constants);
  const written = new Set(direct.values());
  places.forEach(({ role, taken }, place) => {
    if (role.kind !== 'input') return;
    const address = inputAddresses[role.index];
    if (address < 0) return;
    // What an output takes over is a copy, unless the output is to go to that very storage.
    const isOwn = taken === null || into?.[taken.output]?.addressOn(device, isWide) === address;
    if (isOwn && (taken === null || !pinned.isNeeded(address, taken.step, place))) {
      fixed.set(place, address);
      if (taken !== null) written.add(address);
    }
  });
  for (const [place, address] of direct) fixed.set(place, address);
  const targets = program.outputs.map((_, k) => targetOf(into?.[k], device, isWide));
  const found =
    memory === 'copied'
      ? null
      : largePlaces(plan, lengths, {
          most: device.residents.budget,
          isFixed: (place) => fixed.has(place),
          isGiven: (output) => targets[output] >= 0,
        });
  // What cannot be there at once is refused with all else that the program needs, before anything is copied.
  const fitsIn = memory === 'leased' || found === null || device.hasRoom(bytesOfLarge(found));
  const large = fitsIn ? found : null;
  const isMoving = (place: number): boolean => large?.places.has(place) === true;
  const planned = places.flatMap((_, place) =>
    fixed.has(place) || isMoving(place) ? [] : [place],
  );
  const layout = planMemory(
    planned.map((place) => ({
      bytes: placeBytes(places[place], lengths[place]),
      // Inputs are staged before the first step.
      first: places[place].role.kind === 'input' ? -1 : places[place].first,
      last: places[place].last,
    })),
  );
  const arena = isWide ? device.arenaAnywhere(layout.bytes) : device.arena(layout.bytes);
  const addresses = places.map((_, place) => fixed.get(place) ?? -1);
  planned.forEach((place, i) => (addresses[place] = arena + layout.offsets[i]));

  const table = new Int32Array(tableLength(plan));
  table.set([
    ...plan.sizes.map((dim) => evaluateDim(dim, sizes)),
    ...plan.kept.map(() => packedStates.nothing),
  ]);
  addresses.forEach((address, place) => {
    enterAddress(table, placeEntry(plan, place), device.distanceOf(address), isWide);
  });

  const view = (place: number): HostArray =>
    device.view(places[place].dtype, addresses[place], lengths[place]);
  const staging: (HostArray | null)[] = inputs.map(() => null);
  places.forEach(({ role }, place) => {
    if (role.kind !== 'input' || fixed.has(place) || isMoving(place)) return;
    staging[role.index] = view(place);
  });
  return {
    epoch: device.epoch,
    isWide,
    table,
    shapes: inputs.map(({ shape }) => [...shape]),
    dtypes: inputs.map(({ storage }) => storage.dtype),
    lengths: inputs.map(({ storage }) => storage.length),
    passed,
    inputAddresses,
    staging,
    outputShapes,
    results: plan.outputs.map((source) =>
      source.kind === 'place' && !isMoving(source.place) ? view(source.place) : null,
    ),
    outputTypes: program.outputs.map(({ value }, k) => ({
      dtype: value.type.dtype,
      length: arrayLength(outputShapes[k]),
    })),
    targets,
    inPlace: plan.outputs.map(
      (source, k) => source.kind === 'place' && addresses[source.place] === targets[k],
    ),
    isFresh: targets.every((target) => target === fresh),
    mayCollide: targets.filter((target) => target === unpinned).length > 1,
    gain: evaluateDim(plan.gain, sizes),
    overwritten: namedInputs(program).flatMap(({ name }, i) =>
      written.has(inputAddresses[i]) ? [name] : [],
    ),
    large,
  };
}

/** True when a binding serves these operands as it is. The hot path of every run. */
export function fits(
  binding: Binding,
  device: Device,
  inputs: readonly Operand[],
  into: readonly (Storage | null)[] | undefined,
  passed: readonly number[] = noSizes,
): boolean {
  if (binding.epoch !== device.epoch || binding.shapes.length !== inputs.length) return false;
  for (let i = 0; i < passed.length; i++) if (passed[i] !== binding.passed[i]) return false;
  for (let i = 0; i < inputs.length; i++) {
    const { storage, shape } = inputs[i];
    const bound = binding.shapes[i];
    if (storage.dtype !== binding.dtypes[i]) return false;
    if (storage.addressOn(device, binding.isWide) !== binding.inputAddresses[i]) return false;
    if (storage.length !== binding.lengths[i] || shape.length !== bound.length) return false;
    for (let axis = 0; axis < bound.length; axis++) {
      if (shape[axis] !== bound[axis]) return false;
    }
  }
  return into === undefined ? binding.isFresh : fitsInto(binding, device, into);
}

function fitsInto(binding: Binding, device: Device, into: readonly (Storage | null)[]): boolean {
  if (into.length > binding.outputTypes.length) return false;
  for (let k = 0; k < binding.outputTypes.length; k++) {
    const target = into[k] ?? null;
    if (targetOf(target, device, binding.isWide) !== binding.targets[k]) return false;
    if (target === null) continue;
    const { dtype, length } = binding.outputTypes[k];
    if (target.dtype !== dtype || target.length !== length) return false;
  }
  return true;
}

function bindOperands(
  { program }: ProgramPlan,
  inputs: readonly Operand[],
  passed: readonly number[],
): Map<string, number> {
  const declared = namedInputs(program);
  const actual = inputs.map(({ storage, shape }) => ({ dtype: storage.dtype, shape }));
  const sizes = bindProgram(program, actual, passed);
  inputs.forEach(({ storage, shape }, i) => {
    const length = arrayLength(shape);
    if (storage.length !== length) {
      throw new InternalError(`the storage of input ${declared[i].name} does not have its shape`, {
        expected: `${length} elements`,
        actual: `${storage.length} elements`,
      });
    }
  });
  return sizes;
}

/** Refuses storages that outputs of these shapes do not fit. */
export function checkInto(
  program: Program,
  shapes: readonly (readonly number[] | null)[],
  into: readonly (Storage | null)[] | undefined,
): void {
  if (into === undefined) return;
  if (into.length > program.outputs.length) {
    throw new GraphError('there are more places for results than results', {
      op: 'run',
      expected: `at most ${program.outputs.length}`,
      actual: String(into.length),
    });
  }
  into.forEach((storage, k) => {
    if (storage === null) return;
    const { name, value } = program.outputs[k];
    const shape = shapes[k];
    // What only the data decides is compared when it is there.
    const length = shape === null ? storage.length : arrayLength(shape);
    if (storage.dtype !== value.type.dtype || storage.length !== length) {
      throw new ArgumentError(`output ${name} does not fit where it is to be written`, {
        op: 'run',
        expected: `${length} elements of ${value.type.dtype}`,
        actual: `${storage.length} elements of ${storage.dtype}`,
      });
    }
  });
}

/** Refuses to write two outputs to one storage. */
export function checkDistinct(program: Program, into: readonly (Storage | null)[]): void {
  const seen = new Set<Storage>();
  into.forEach((storage, k) => {
    if (storage === null) return;
    if (seen.has(storage)) {
      throw new ArgumentError(
        `output ${program.outputs[k]?.name ?? k} would overwrite another output`,
        { op: 'run', advice: 'give each output a storage of its own' },
      );
    }
    seen.add(storage);
  });
}

/** The number of elements of an array. */
export function arrayLength(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1);
}

/**
 * The places of results that kernels write straight into pinned storage: each but those whose storage
 * is also an input that is still read when the first element is written, which are copied at the end.
 */
function directOutputs(
  { places, outputs, addresses }: ProgramPlan,
  device: Device,
  pinned: PinnedReads,
  into: readonly (Storage | null)[] | undefined,
): Map<number, number> {
  const direct = new Map<number, number>();
  into?.forEach((storage, k) => {
    const source = outputs[k];
    const address = storage?.addressOn(device, addresses === 'i64') ?? -1;
    if (address < 0 || source.kind !== 'place' || direct.has(source.place)) return;
    const { first, role } = places[source.place];
    if (role.kind === 'input') return; // bound with that input
    if (!pinned.isNeeded(address, first)) direct.set(source.place, address);
  });
  return direct;
}

/** Reads of the pinned memory of operands, by address: one storage may be several operands. */
class PinnedReads {
  readonly #places: Map<number, { readonly place: number; readonly last: number }[]> = new Map();
  /** Addresses of operands that are themselves outputs. */
  readonly #passed: Set<number> = new Set();

  constructor({ places, outputs }: ProgramPlan, inputAddresses: readonly number[]) {
    places.forEach(({ role, last }, place) => {
      if (role.kind !== 'input') return;
      const address = inputAddresses[role.index];
      const known = this.#places.get(address);
      if (known === undefined) this.#places.set(address, [{ place, last }]);
      else known.push({ place, last });
    });
    for (const source of outputs) {
      if (source.kind === 'input') this.#passed.add(inputAddresses[source.index]);
    }
  }

  /**
   * True while memory holds something that is needed from a step on: an operand that is read then,
   * other than that of place `except`, or an operand that is itself an output.
   */
  isNeeded(address: number, step: number, except?: number): boolean {
    if (this.#passed.has(address)) return true;
    const reads = this.#places.get(address) ?? [];
    return reads.some(({ place, last }) => last >= step && place !== except);
  }
}
