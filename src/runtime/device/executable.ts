import { type DimBindings, evaluateDim, symbolsOf } from '../../base/dim/index.js';
import type { DType, HostArray } from '../../base/dtype.js';
import { named } from '../../base/errors.js';
import { bindProgram } from '../../ir/bind.js';
import type { Program } from '../../ir/program.js';
import { foreignElement, foreignInCapturedCode } from '../../passes/host/elements.js';
import { routineLines } from '../../passes/host/text.js';
import {
  firstReport,
  earliestReport,
  firstReported,
  presenceReport,
} from '../../passes/host/report.js';
import { watching, type Watching } from '../../passes/host/watch.js';
import { checksOf } from '../../passes/simplify/checks.js';
import { compile } from '../compile/compile.js';
import { checkDistinct, checkInto } from '../execution/binding.js';
import {
  type DeviceProgramExecutable,
  type IslandPolicy,
  type IslandReport,
  onDifferentDevices,
  type PartReport,
} from '../execution/backends.js';
import type { Operand, TierReport } from '../execution/executable.js';
import { LaterResult } from '../execution/later-result.js';
import type { DeviceBuffer } from '../memory/backend.js';
import { freeDropped, notYetKnown } from '../memory/elsewhere.js';
import { Storage } from '../memory/storage.js';
import { RunArray } from './arrays.js';
import { refuseLacking } from './lacks.js';
import { DeviceProgram, devicePlaces, type PartPlaces } from './program.js';
import type { DeviceQueue, Waiting } from './queue.js';
import { arrayLength, type RunResult } from './routine.js';

/** A result that the device has yet to make. */
interface AwaitedResult {
  readonly operand: Operand;
  arrive(made: RunResult): void;
  fail(error: unknown): void;
}

/**
 * A program that runs on a device. Elements that operators refuse are looked at when the program has run: where the
 * device answers later, so does the error, at whoever reads a result.
 */
export class DeviceExecutable implements DeviceProgramExecutable {
  readonly program: Program;
  readonly #queue: DeviceQueue;
  readonly #code: DeviceProgram;
  readonly #watching: Watching | null;
  /** The program with the bodies of calls in their places: what is watched. */
  readonly #inlined: Program;

  readonly #policy: IslandPolicy;

  /**
   * @param places Places of its parts. Default: those of the device.
   * @throws DeviceError for what the device lacks, where that is refused.
   */
  constructor(
    program: Program,
    queue: DeviceQueue,
    policy: IslandPolicy,
    places: PartPlaces = devicePlaces(queue),
  ) {
    if (policy !== 'islands' && !queue.isHost) refuseLacking(program, queue.backend);
    this.#policy = policy;
    this.program = program;
    this.#queue = queue;
    const checks = checksOf(program);
    this.#inlined = checks?.program ?? program;
    this.#watching = checks === null ? null : watching(this.#inlined, presenceReport);
    this.#code = new DeviceProgram(this.#watching?.program ?? program, queue, places);
  }

  release(): void {
    this.#code.release();
  }

  tiers(): readonly TierReport[] {
    return [];
  }

  islands(): readonly IslandReport[] {
    return this.#code.parts().flatMap(({ island }) => island ?? []);
  }

  parts(): readonly PartReport[] {
    return this.#code.parts().flatMap(({ report }) => report ?? []);
  }

  toString(): string {
    return routineLines(this.#code.routine).join('\n');
  }

  run(
    inputs: readonly Operand[],
    into: readonly (Storage | null)[] = [],
    sizes: readonly number[] = [],
  ): readonly Operand[] {
    const { program } = this;
    const queue = this.#queue;
    freeDropped(queue);
    checkDistinct(program, into);
    for (const { storage } of inputs) {
      const { backend } = storage;
      if (backend !== null && backend !== queue) throw onDifferentDevices(backend, queue);
    }
    const actual = inputs.map(({ storage, shape }) => ({ dtype: storage.dtype, shape }));
    const names = bindProgram(program, actual, sizes);
    const shapes = this.#shapes(names);
    checkInto(program, shapes, into);
    const given = inputs.map(({ storage }) =>
      storage.backend === null ? storage.copy() : storage.buffer,
    );
    /** The results, once it is known that they are made later. */
    let later: readonly AwaitedResult[] | null = null;
    const work = function* (self: DeviceExecutable): Waiting<readonly RunResult[]> {
      try {
        const made = yield* self.#run(given, inputs, sizes, names);
        later?.forEach((result, k) => result.arrive(made[k]));
        return made;
      } catch (error) {
        for (const result of later ?? []) result.fail(error);
        throw error;
      }
    };
    const answer = queue.submit(work(this));
    if (!(answer instanceof Promise)) return this.#results(answer, into);
    // The error is one of the results from here on.
    const arrival = answer.then(
      () => {},
      () => {},
    );
    later = program.outputs.map(({ value: { type } }, k) => {
      const shape = shapes[k];
      const target = into[k] ?? null;
      if (shape === null) {
        if (target !== null) throw notYetKnown(queue);
        return this.#unsized(type.dtype, arrival);
      }
      const buffer = target?.buffer ?? queue.allocateResult(type.dtype, arrayLength(shape));
      target?.changes();
      return this.#sized({ storage: target ?? Storage.ofBuffer(queue, buffer), shape }, buffer);
    });
    return later.map(({ operand }) => operand);
  }

  /** A result of a size that is known, which the work moves into its buffer. */
  #sized(operand: Operand, buffer: DeviceBuffer): AwaitedResult {
    return {
      operand,
      arrive: ({ array }) => {
        array.moveInto(buffer);
        array.free();
      },
      fail: (error) => this.#queue.fail(buffer, error),
    };
  }

  /** A result whose size the work finds out. */
  #unsized(dtype: DType, arrival: Promise<void>): AwaitedResult {
    const operand = new LaterResult(dtype, this.#queue, arrival);
    return {
      operand,
      arrive: ({ array, shape }) => operand.arrive(array.handOver(), shape),
      fail: (error) => operand.fail(this.#queue.failed(dtype, error), error),
    };
  }

  /** The shapes of results; null for those that the data decides. */
  #shapes(names: DimBindings): readonly (readonly number[] | null)[] {
    return this.program.outputs.map(({ value: { type } }) => {
      const isKnown = type.shape.every((dim) => [...symbolsOf(dim)].every((name) => names.has(name))); // prettier-ignore
      return isKnown ? type.shape.map((dim) => evaluateDim(dim, names)) : null;
    });
  }

  *#run(
    given: readonly (DeviceBuffer | HostArray)[],
    inputs: readonly Operand[],
    sizes: readonly number[],
    names: DimBindings,
  ): Waiting<readonly RunResult[]> {
    const queue = this.#queue;
    const arrays = given.map((each, k) => {
      if (!('dtype' in each)) return RunArray.ofHost(queue, inputs[k].storage.dtype, each);
      queue.refuseFailed(each);
      return RunArray.given(queue, each);
    });
    try {
      const made = yield* this.#code.run(arrays, names);
      const own = this.program.outputs.length;
      try {
        yield* this.#look(made.slice(own), arrays, inputs, sizes);
      } catch (error) {
        for (const { array } of made) array.free();
        throw error;
      }
      for (const { array } of made.slice(own)) array.free();
      return made.slice(0, own);
    } finally {
      for (const array of arrays) array.free();
    }
  }

  /** Refuses elements that the program has told of. Another run, on the CPU, finds out which. */
  *#look(
    told: readonly RunResult[],
    arrays: readonly RunArray[],
    inputs: readonly Operand[],
    sizes: readonly number[],
  ): Waiting<void> {
    let isTold = false;
    for (const { array } of told) isTold ||= (yield* array.element(0)) !== 0;
    if (!isTold) return;
    const asking = compile(watching(this.#inlined, firstReport)!.program);
    const operands: Operand[] = [];
    for (const [i, each] of arrays.entries()) {
      const storage = new Storage(each.dtype, yield* each.elements());
      operands.push({ storage, shape: inputs[i].shape });
    }
    const answers = asking.run(operands, undefined, sizes).slice(this.program.outputs.length);
    const reports = answers.map(({ storage }) => storage.host);
    const k = earliestReport(this.#watching!.watched, reports);
    const watched = this.#watching!.watched[k];
    const { refused, iterations } = firstReported(watched, reports[k]);
    if (this.#policy !== 'eager') throw foreignInCapturedCode(watched, refused, iterations);
    throw named(foreignElement(watched.call, refused), watched.call.op.name);
  }

  #onHost(array: RunArray, target: Storage | null): Storage {
    const elements = this.#queue.kept(array.handOver())!;
    if (target === null) return new Storage(array.dtype, elements);
    target.fill(elements);
    return target;
  }

  #results(made: readonly RunResult[], into: readonly (Storage | null)[]): readonly Operand[] {
    return made.map(({ array, shape }, k) => {
      const target = into[k] ?? null;
      if (this.#queue.isHost) return { storage: this.#onHost(array, target), shape };
      if (target === null) {
        return { storage: Storage.ofBuffer(this.#queue, array.handOver()), shape };
      }
      target.changes();
      array.moveInto(target.buffer);
      array.free();
      return { storage: target, shape };
    });
  }
}
