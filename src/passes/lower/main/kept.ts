import type { DType } from '../../../base/dtype.js';
import type { Kernel } from '../../../loop/language/nodes.js';
import type { BufferAssignment } from '../../groups/places.js';
import type { PackedArgument, LoweredKernel } from '../nests/builder.js';
import type { KernelStep, MainStep } from './steps.js';

/** Memory for data that kernels keep for as long as some inputs stay the same. */
export interface PackedBuffer {
  /** By thread, buffers for a part of the data; where all of it is kept, one region replaces them. */
  readonly places: readonly number[];
  readonly dtype: DType;
  /** The elements of all of the data. */
  readonly whole: number;
  readonly inputs: readonly number[];
}

/** Data that a program keeps from run to run. Steps that derive the same from the same buffers share it. */
export class PackedBuffers {
  readonly all: PackedBuffer[] = [];
  readonly #byStep: Map<number, number> = new Map();

  /** Adds buffers for the parts. `threads` is the number that the program is made for. */
  constructor(steps: readonly MainStep[], places: BufferAssignment, threads: number) {
    const known = new Map<Kernel, Map<string, number>>();
    for (const step of steps) {
      if (step.kind !== 'kernel') continue;
      const arg = keptFromRunToRun(step.kernel);
      if (arg === undefined) continue;
      const { kernel } = step.kernel;
      if (!known.has(kernel)) known.set(kernel, new Map());
      const same = known.get(kernel)!;
      const key = arg.from.join();
      const index = same.get(key);
      if (index === undefined) {
        same.set(key, this.all.length);
        this.#add(step, arg, places, step.kernel.grains === null ? 1 : threads);
      } else {
        this.#byStep.set(step.step, index);
        for (const place of this.all[index].places) places.memory.keep(place, step.step);
      }
    }
  }

  /** The index in `all` of a step's kept data. */
  indexOf(step: number): number {
    return this.#byStep.get(step)!;
  }

  #add(
    { step }: KernelStep,
    { arg, inputs }: FromRunToRun,
    places: BufferAssignment,
    threads: number,
  ): void {
    const { name, dtype, room } = arg;
    const parts = Array.from({ length: threads }, () =>
      places.addScratch(name, dtype, room.part, step),
    );
    const index = this.all.push({ places: parts, dtype, whole: room.whole, inputs }) - 1;
    this.#byStep.set(step, index);
  }
}

interface FromRunToRun {
  readonly arg: PackedArgument;
  readonly inputs: readonly number[];
  /** The buffers that it is derived from. */
  readonly from: readonly number[];
}

function keptFromRunToRun({ args }: LoweredKernel): FromRunToRun | undefined {
  for (const arg of args) {
    if (arg.kind === 'kept' && arg.steady.kind === 'runs')
      return { arg, inputs: arg.steady.inputs, from: arg.steady.places };
  }
  return undefined;
}
