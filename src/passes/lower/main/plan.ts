import type { Dim, DimExpr } from '../../../base/dim/index.js';
import { symbolsOf } from '../../../base/dim/index.js';
import { InternalError, UnsupportedError } from '../../../base/errors.js';
import { givenSizes } from '../../../ir/bind.js';
import type { Program } from '../../../ir/program.js';
import { moduleOf } from '../../../loop/language/build.js';
import { liftConstants } from '../../../loop/optimize/lift.js';
import type { Kernel, Module, Var } from '../../../loop/language/nodes.js';
import type { AddressScalar } from '../../../loop/language/target.js';
import type { DeviceTarget } from '../../../ops/declare/kernels.js';
import { bytesOf } from '../../../base/dtype.js';
import type { Group } from '../../groups/group.js';
import { fuse } from '../../fuse/fuse.js';
import type { OutputSource, PlannedBuffer, BufferAssignment } from '../../groups/places.js';
import { schedule } from '../../plan/schedule.js';
import { blockOf } from './block.js';
import type { ScratchArgument } from '../nests/builder.js';
import { type Division, undivided } from '../../../ops/nests/cost.js';
import { parallelWork } from './gain.js';
import { Kernels, type ProgramLifetime } from '../groups/kernels.js';
import { type PackedBuffer, PackedBuffers } from './kept.js';
import { mainKernel } from './main.js';
import { RegionLowering } from './regions.js';
import { mainSizes, type MainStep } from './steps.js';
import type { TableLayout } from './table.js';
import { isDivided } from './touches.js';

/** A program as one module of kernels, and all that is needed to call its `main`. */
export interface ProgramPlan {
  readonly program: Program;
  readonly groups: readonly Group[];
  /** The steps that `main` marks; none where it marks nothing. */
  readonly marked: readonly MainStep[];
  readonly module: Module;
  /** The table that `main` reads: first these sizes, then states of what is kept, then the addresses of all places. */
  readonly sizes: readonly DimExpr[];
  /** Type of the addresses in the table, which take one word each, or two. */
  readonly addresses: AddressScalar;
  readonly places: readonly PlannedBuffer[];
  readonly outputs: readonly OutputSource[];
  /** Packed buffers that kernels keep from run to run. */
  readonly kept: readonly PackedBuffer[];
  /** For how many threads it is made. Where there are several, `main` takes a team. */
  readonly threads: number;
  /** Stretches of work that run beside others, if there are threads: what a team saves, in some ten microseconds. */
  readonly gain: Dim;
}

/** Table entry with the state of a packed buffer, one of `keptStates`. */
export function stateEntry({ sizes }: Pick<ProgramPlan, 'sizes'>, kept: number): number {
  return sizes.length + kept;
}

/** Table entry with the address of a place; those of two words are aligned, the lower word first. */
export function placeEntry(
  { sizes, kept, addresses }: Pick<ProgramPlan, 'sizes' | 'kept' | 'addresses'>,
  place: number,
): number {
  const words = sizes.length + kept.length;
  return addresses === 'i32' ? words + place : 2 * (Math.ceil(words / 2) + place);
}

/** The length of the table. */
export function tableLength(
  plan: Pick<ProgramPlan, 'sizes' | 'kept' | 'addresses' | 'places'>,
): number {
  return placeEntry(plan, plan.places.length);
}

/** A program as steps, before anything is printed. */
export interface LoweredSteps {
  readonly places: BufferAssignment;
  readonly steps: readonly MainStep[];
  /** The kernels that the steps call, each once. */
  readonly kernels: readonly Kernel[];
}

/**
 * Lowers the groups of a program to steps, in the order in which they are to run; the rest as in `lowerProgram`.
 */
export function lowerSteps(
  program: Program,
  groups: readonly Group[],
  target: DeviceTarget,
  replaced: readonly (number | null)[],
  division: Division,
  lifetime: ProgramLifetime,
): LoweredSteps {
  const { block, spanOf } = blockOf(program, groups, (inner) =>
    schedule(inner, fuse(inner, target)),
  );
  const kernels = new Kernels(target, division, lifetime);
  const lowering = new RegionLowering(
    spanOf,
    (inner, ordinary, places, around) => kernels.lower(inner, ordinary, places, around),
    target.addresses,
  );
  return { ...lowering.whole(block, replaced), kernels: kernels.all };
}

/**
 * Lowers the groups of a program for a target, in the order in which they are to run. `replaced` gives, for outputs that are to overwrite an
 * input, the index of that input. `division` says for how many threads, `lifetime` whether the program runs again
 * in the same memory. `mark` as for `mainKernel`.
 */
export function lowerProgram(
  program: Program,
  groups: readonly Group[],
  target: DeviceTarget,
  replaced: readonly (number | null)[] = [],
  division: Division = undivided,
  lifetime: ProgramLifetime = 'once',
  mark: Kernel | null = null,
): ProgramPlan {
  const { places, steps, kernels } = lowerSteps(program, groups, target, replaced, division, lifetime); // prettier-ignore
  const threads = steps.some(isDivided) ? division.threads : 1;
  const kept = new PackedBuffers(steps, places, threads);
  const table = new PlanTable(places, kept, target.addresses);
  for (const size of mainSizes(steps)) table.addSize(size);
  const main = mainKernel(steps, table, threads, mark);
  const marks = mark === null ? [] : [mark];
  refuseUnknown(program, [...table.sizes, ...places.all.map(({ length }) => length)]);
  return {
    program,
    groups,
    marked: mark === null ? [] : steps,
    module: liftConstants(moduleOf([...marks, ...kernels, ...main])),
    sizes: table.sizes,
    addresses: target.addresses,
    places: places.all,
    outputs: program.outputs.map(({ value }) => places.outputSource(value)),
    kept: table.kept,
    threads,
    gain: threads > 1 ? parallelWork(steps, places.memory) : 0,
  };
}

/**
 * Sizes come first in the table, then states of what is kept, so all of them must be known before the first place
 * has an entry.
 */
class PlanTable implements TableLayout {
  readonly #places: BufferAssignment;
  readonly #kept: PackedBuffers;
  readonly addresses: AddressScalar;
  readonly sizes: DimExpr[] = [];
  readonly #sizeEntries: Map<string, number> = new Map();

  constructor(places: BufferAssignment, kept: PackedBuffers, addresses: AddressScalar) {
    this.#places = places;
    this.#kept = kept;
    this.addresses = addresses;
  }

  get kept(): readonly PackedBuffer[] {
    return this.#kept.all;
  }

  addSize(dim: DimExpr): void {
    if (this.#sizeEntries.has(dim.key)) return;
    this.#sizeEntries.set(dim.key, this.sizes.push(dim) - 1);
  }

  sizeEntry(dim: DimExpr): number {
    const entry = this.#sizeEntries.get(dim.key);
    if (entry === undefined) throw new InternalError(`the size ${dim.key} is not in the table`);
    return entry;
  }

  placeEntry(place: number): number {
    return placeEntry(this, place);
  }

  keptEntries(step: number): { readonly memory: number; readonly state: number } {
    const index = this.#kept.indexOf(step);
    const [place] = this.kept[index].places;
    return { memory: placeEntry(this, place), state: stateEntry(this, index) };
  }

  scratchEntry(
    { name, dtype, length }: Pick<ScratchArgument, 'name' | 'dtype' | 'length'>,
    first: number,
    { last = first, threads = 1 }: { readonly last?: number; readonly threads?: number } = {},
  ): number {
    const [place] = Array.from({ length: threads }, () =>
      this.#places.addScratch(name, dtype, length, first, last),
    );
    return this.placeEntry(place);
  }

  placesOf(location: number): readonly number[] {
    return this.#places.memory.placesOf(location);
  }

  lastStepOf(place: number): number {
    return this.#places.memory.places[place].last;
  }

  variableOf(location: number): Var | undefined {
    return this.#places.memory.variableOf(location);
  }
}

/** Refuses sizes that do not follow from those of the inputs and those that the program is passed. */
export function refuseUnknown(program: Program, dims: readonly Dim[]): void {
  const known = givenSizes(program);
  for (const dim of dims) {
    for (const name of typeof dim === 'number' ? [] : symbolsOf(dim)) {
      if (known.has(name)) continue;
      throw new UnsupportedError('a size that only the data decides cannot be planned', {
        op: 'compile',
        expected: 'dimensions that follow from the shapes of the inputs',
        actual: `the dimension ${name}`,
      });
    }
  }
}

/** Bytes that a place takes, for a number of elements. */
export function placeBytes(place: PlannedBuffer, length: number): number {
  return bytesOf(place.dtype) * length;
}
