import { type DimBindings, evaluateDim, symbolsOf } from '../../base/dim/index.js';
import type { DType, HostArray } from '../../base/dtype.js';
import { currentSource, KaonError, located, named } from '../../base/errors.js';
import { bindProgram } from '../../ir/bind.js';
import type { Program } from '../../ir/program.js';
import { foreignElement, foreignInCapturedCode } from '../../passes/host/elements.js';
import { routineLines } from '../../passes/host/text.js';
import { firstReport, earliestReport, firstReported } from '../../passes/host/watch/report.js';
import { watching, type Watching } from '../../passes/host/watch/watch.js';
import { checksOf } from '../../passes/simplify/checks.js';
import { arrayLength, checkDistinct, checkInto } from '../execution/binding.js';
import {
  type DeviceProgramExecutable,
  type IslandPolicy,
  type IslandReport,
  onDifferentDevices,
  type PartReport,
} from '../execution/backends.js';
import type { Operand, TierReport } from '../execution/executable.js';
import { LaterResult } from '../execution/later-result.js';
import { freeDropped, notYetKnown } from '../memory/elsewhere.js';
import { Storage } from '../memory/storage.js';
import { RunArray } from './arrays.js';
import { refuseLacking } from './lacks.js';
import { DeviceProgram, devicePlaces, type PartPlaces } from './program.js';
import type { DeviceQueue } from './queue.js';
import { ManagedBuffer, managed } from './queue/managed.js';
import { type Failure, openOutcomes, Outcome, type Reports } from './queue/outcomes.js';
import { answered, guarded, type Waiting } from './queue/waiting.js';
import type { RunResult } from './routine.js';
import { type Snapshot, snapshotOf } from '../memory/snapshots.js';

/** A call of a program: elements of its operands, its sizes, and the user's line where an error may need it. */
interface Call {
  readonly given: readonly (ManagedBuffer | Snapshot)[];
  readonly names: DimBindings;
  readonly source: string | undefined;
}

/** Results of a run, and reports of elements that its operators refuse. */
interface RunMade {
  readonly results: readonly RunResult[];
  readonly told: readonly RunArray[];
}

interface MadeArray {
  readonly buffer: ManagedBuffer;
  readonly shape: readonly number[];
}

/** A result that the device has yet to make. */
interface AwaitedResult {
  readonly operand: Operand;
  /** Array that it goes into; null for a new one, of a size that is not known yet. */
  readonly target: ManagedBuffer | null;
  arrive(made: MadeArray): void;
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
    this.#watching = checks === null ? null : watching(checks.program, firstReport);
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
      storage.backend === null ? snapshotOf(storage) : managed(storage.buffer),
    );
    const targets = into.map((each) => (each?.backend === queue ? managed(each.buffer) : null));
    if (!queue.answersAtOnce && targets.some((each, k) => each !== null && shapes[k] === null))
      throw notYetKnown(queue);
    /** The results, once it is known that they are made later, and the user's line that asked for them. */
    let later: readonly AwaitedResult[] | null = null;
    let line: string | undefined;
    const call: Call = { given, names, source: this.#source() };
    const run = (): Waiting<RunMade> => this.#run(call, inputs);
    const deliver = this.#deliver.bind(this);
    const answer = queue.submit({
      needs: [...given, ...targets].filter((each) => each instanceof ManagedBuffer),
      *begin() {
        const made = deliver(yield* run(), call, later?.map(({ target }) => target) ?? targets);
        later?.forEach((result, k) => result.arrive(made[k]));
        return made;
      },
      fail: (error) => {
        const isLocated = error instanceof KaonError && error.source !== undefined;
        const told = isLocated ? error : located(error, line);
        for (const result of later ?? []) result.fail(told);
      },
    });
    if (!(answer instanceof Promise)) {
      return answer.map(({ buffer, shape }, k) => ({ storage: this.#storage(buffer, into[k]), shape })); // prettier-ignore
    }
    // The error is one of the results from here on.
    line = call.source ?? currentSource();
    const arrival = answer.then(
      () => {},
      () => {},
    );
    later = program.outputs.map(({ value: { type } }, k) => {
      const shape = shapes[k];
      if (shape === null) return this.#unsized(type.dtype, arrival);
      const target = targets[k] ?? new ManagedBuffer(type.dtype, arrayLength(shape));
      into[k]?.changes();
      return this.#sized({ storage: into[k] ?? Storage.ofBuffer(queue, target), shape }, target);
    });
    return later.map(({ operand }) => operand);
  }

  /** A result of a size that is known. */
  #sized(operand: Operand, target: ManagedBuffer): AwaitedResult {
    return { operand, target, arrive: () => {}, fail: (error) => this.#queue.fail(target, error) };
  }

  /** A result whose size the work finds out. */
  #unsized(dtype: DType, arrival: Promise<void>): AwaitedResult {
    const queue = this.#queue;
    const operand = new LaterResult(dtype, queue, arrival);
    return {
      operand,
      target: null,
      arrive: ({ buffer, shape }) =>
        operand.arrive(buffer, () => {
          queue.refuseFailed(buffer);
          return shape;
        }),
      fail: (error) => operand.fail(queue.failed(dtype, error), error),
    };
  }

  /** The shapes of results; null for those that the data decides. */
  #shapes(names: DimBindings): readonly (readonly number[] | null)[] {
    return this.program.outputs.map(({ value: { type } }) => {
      const isKnown = type.shape.every((dim) => [...symbolsOf(dim)].every((name) => names.has(name))); // prettier-ignore
      return isKnown ? type.shape.map((dim) => evaluateDim(dim, names)) : null;
    });
  }

  /** The line of an eager call whose check may fail when it has long returned; captured calls know theirs. */
  #source(): string | undefined {
    const isAsked = this.#watching !== null && this.#policy === 'eager';
    return isAsked && !this.#queue.answersAtOnce ? currentSource() : undefined;
  }

  *#run({ given, names, source }: Call, inputs: readonly Operand[]): Waiting<RunMade> {
    const queue = this.#queue;
    const refuseFailed = (): void => {
      for (const each of given) if (each instanceof ManagedBuffer) queue.refuseFailed(each);
    };
    refuseFailed();
    const arrays: RunArray[] = [];
    try {
      for (const [k, each] of given.entries()) {
        const isManaged = each instanceof ManagedBuffer;
        const { dtype } = inputs[k].storage;
        arrays.push(
          isManaged ? RunArray.given(queue, each) : RunArray.ofSnapshot(queue, dtype, each),
        );
      }
      const made = yield* guarded(this.#code.run(arrays, names), refuseFailed);
      const results = made.slice(0, this.program.outputs.length);
      const told = made.slice(results.length).map(({ array }) => array);
      const isLookedAt = queue.answersAtOnce || told.every(({ isHostKnown }) => isHostKnown);
      if (!isLookedAt) return { results, told };
      try {
        const failure = this.#look(yield* elementsOf(queue, told), source);
        if (failure !== null) throw failure.error;
      } catch (error) {
        for (const { array } of made) array.free();
        throw error;
      }
      for (const array of told) array.free();
      return { results, told: [] };
    } finally {
      for (const array of arrays) array.free();
    }
  }

  /** Gives results to targets, or makes arrays of them. Nothing has been changed where it throws. */
  #deliver(
    { results, told }: RunMade,
    { given, source }: Call,
    targets: readonly (ManagedBuffer | null)[],
  ): readonly MadeArray[] {
    const queue = this.#queue;
    try {
      results.forEach(({ array }, k) => array.prepareFor(targets[k] ?? null));
    } catch (error) {
      for (const array of [...results.map((each) => each.array), ...told]) array.free();
      throw error;
    }
    const parents = openOutcomes(given.filter((each) => each instanceof ManagedBuffer));
    const reports = told.length === 0 ? null : this.#reports(told, source);
    const isNew = reports !== null || parents.length > 1;
    const outcome = isNew ? new Outcome(reports, parents) : (parents[0] ?? null);
    const made = results.map(({ array, shape }, k): MadeArray => {
      const target = targets[k] ?? null;
      const buffer = target ?? array.handOver();
      if (target !== null) array.moveInto(target);
      buffer.outcome = outcome;
      return { buffer, shape };
    });
    if (isNew) queue.expect(outcome!);
    return made;
  }

  /** Reports of elements that operators refuse, to be looked at when the device is asked. */
  #reports(told: readonly RunArray[], source: string | undefined): Reports {
    const known = told.map(({ hostElements }) => hostElements);
    const asked = told.filter(({ isHostKnown }) => !isHostKnown);
    return {
      buffers: asked.map((array) => array.takeBuffer()),
      look: (answers) => {
        let at = 0;
        return this.#look(known.map((each) => each ?? answers[at++]), source); // prettier-ignore
      },
    };
  }

  /** The error for the first element that operators have refused; null where there is none. */
  #look(reports: readonly HostArray[], source: string | undefined): Failure | null {
    if (reports.length === 0) return null;
    const { watched } = this.#watching!;
    const k = earliestReport(watched, reports);
    if (k < 0) return null;
    const { refused, iterations } = firstReported(watched[k], reports[k]);
    if (this.#policy !== 'eager') return { error: foreignInCapturedCode(watched[k], refused, iterations) }; // prettier-ignore
    const { call } = watched[k];
    return { error: located(named(foreignElement(call, refused), call.op.name), source) };
  }

  /** A result as whoever has asked for it gets it. */
  #storage(buffer: ManagedBuffer, target: Storage | null | undefined): Storage {
    if (this.#queue.isHost) {
      const elements = buffer.host!;
      if (!target) return new Storage(buffer.dtype, elements);
      target.fill(elements);
      return target;
    }
    target?.changes();
    return target ?? Storage.ofBuffer(this.#queue, buffer);
  }
}

/** Elements of several arrays, read together. */
function* elementsOf(
  queue: DeviceQueue,
  arrays: readonly RunArray[],
): Waiting<readonly HostArray[]> {
  const asked = arrays.filter(({ isHostKnown }) => !isHostKnown);
  // Without a read, which would bring the reports of others.
  if (asked.length === 0) return arrays.map((array) => array.hostElements!);
  const answers = yield* answered(queue.fetch(asked.map((array) => ({ buffer: array.slot(0).buffer })))); // prettier-ignore
  let at = 0;
  return arrays.map(({ hostElements }) => hostElements ?? answers[at++]);
}
