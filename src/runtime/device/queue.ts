import { bytesOf, type DType, type HostArray, viewOf } from '../../base/dtype.js';
import { DeviceError, InternalError } from '../../base/errors.js';
import type { Kernel } from '../../loop/language/nodes.js';
import type {
  BackendLimits,
  BufferBackend,
  BufferPart,
  BufferRead,
  DeviceBuffer,
} from '../memory/backend.js';
import { OverBudgetError, overBudget } from '../memory/exhausted.js';
import type { Backend, Launch } from './backend.js';
import { managed, ManagedBuffer } from './queue/managed.js';
import { Outcome, reportsLost } from './queue/outcomes.js';
import { mostRemembered, Residency } from './queue/residency.js';
import { ScratchMemory } from './queue/scratch.js';
import { answered, readAll, runToEnd, type Waiting } from './queue/waiting.js';

/** Runs whose reports are waiting for a read before one is made for them. */
const mostOpen = 256;

/** Something for a device to do. */
export interface Work<T> {
  /** Begins it. Where there is no room it begins again once there is, so nothing may be changed before it is certain to end. */
  begin(): Waiting<T>;
  /** Arrays that it needs. */
  readonly needs?: readonly ManagedBuffer[];
  /** Called where it cannot be done. */
  fail?(error: unknown): void;
}

/**
 * A device with the work that it has been given. Work is done in order; most is handed to the backend at once. Work
 * that reads what the device computes, as a loop with a condition does, has everything behind it wait where the device
 * does not answer at once, and so does work for which there is no room. If it fails then, nobody is left to throw to:
 * reading any of its results, or computing with them, fails in the same way.
 */
export class DeviceQueue implements BufferBackend {
  readonly backend: Backend;
  readonly #residency: Residency;
  /** Settled when all work so far is done; null where nothing is waiting. It never rejects. */
  #tail: Promise<unknown> | null = null;
  /** Errors that nobody has been told of. */
  readonly #untold: Set<unknown> = new Set();
  /** Runs that have not been asked whether they refuse elements, in order. */
  #open: Outcome[] = [];
  /** Losses of the device before these runs. */
  #openLosses = 0;
  /** Settled when all of those that have been asked have answered. It never rejects. */
  #settling: Promise<void> | null = null;
  readonly #launches: WeakMap<Kernel, Launch> = new WeakMap();
  readonly #scratch: ScratchMemory;

  constructor(backend: Backend) {
    this.backend = backend;
    this.#residency = new Residency(backend);
    this.#scratch = new ScratchMemory(backend);
  }

  get name(): string {
    return this.backend.name;
  }

  get limits(): BackendLimits {
    return this.backend.limits;
  }

  get answersAtOnce(): boolean {
    return this.backend.answersAtOnce;
  }

  /** Number of times that the device was lost. */
  get losses(): number {
    return this.backend.losses ?? 0;
  }

  get bytesInUse(): number {
    return this.backend.bytesInUse;
  }

  get bytesSpilled(): number {
    return this.#residency.bytesSpilled;
  }

  /** True if the device holds no arrays: the host keeps them all. */
  get isHost(): boolean {
    return this.limits.dtypes.size === 0;
  }

  has(dtype: DType): boolean {
    return this.limits.dtypes.has(dtype);
  }

  /** @throws DeviceError for what the device lacks, or has no room for whatever leaves it. */
  allocate(dtype: DType, length: number): ManagedBuffer {
    const { dtypes, bufferBytes, budget = Infinity } = this.limits;
    if (!dtypes.has(dtype)) {
      throw new DeviceError(`the device has no ${dtype}`, {
        op: 'allocate',
        expected: [...dtypes].join(', '),
        actual: dtype,
        advice: 'cast to another dtype, or compute on the CPU: await x.cpu()',
      });
    }
    const bytes = bytesOf(dtype) * length;
    if (bytes > budget) throw overBudget(bytes, 0, budget);
    if (bytes > bufferBytes) {
      throw new DeviceError('an array is too large for a buffer of the device', {
        op: 'allocate',
        expected: `at most ${bufferBytes} bytes`,
        actual: `${bytes} bytes`,
        advice: 'divide it into several arrays, or compute on the CPU: await x.cpu()',
      });
    }
    return new ManagedBuffer(dtype, length);
  }

  free(buffer: DeviceBuffer): void {
    const own = managed(buffer);
    own.isFreed = true;
    if (own.isUnused) this.#residency.free(own);
  }

  write(buffer: DeviceBuffer, elements: HostArray): void {
    const own = managed(buffer);
    const isKept = !this.has(own.dtype) || elements.byteLength <= mostRemembered;
    const isOwn = this.#tail !== null || isKept;
    const given = isOwn ? elements.slice() : elements;
    this.#after([own], () => {
      own.outcome = null;
      if (this.has(own.dtype)) this.#residency.write(own, given, isOwn);
      else own.host = given;
    });
  }

  copy(from: DeviceBuffer, to: DeviceBuffer): void {
    const [source, target] = [managed(from), managed(to)];
    this.#after([source, target], () => {
      this.refuseFailed(source);
      target.outcome = source.outcome;
      if (source.memory === null) return this.#residency.keep(target, source.host!);
      const memory = target.memory ?? this.backend.allocate(target.dtype, target.length);
      this.backend.copy(this.memoryOf(source), memory);
      this.#residency.put(target, memory, source.host);
    });
  }

  read(buffer: DeviceBuffer, part?: BufferPart): HostArray | Promise<HostArray> {
    const own = managed(buffer);
    const answer = (): HostArray | Promise<HostArray> => {
      this.refuseFailed(own);
      const { memory, outcome } = own;
      const host = memory === null || own.host !== null ? partOf(computed(own), part) : null;
      if (host !== null && (outcome === null || outcome.isKnown)) return host;
      const all = this.fetch(host === null ? [{ buffer: memory!, part }] : []);
      const first = ([elements]: readonly HostArray[]): HostArray => {
        if (outcome !== null) refuse(outcome, this.#untold);
        return host ?? elements;
      };
      return all instanceof Promise ? all.then(first) : first(all);
    };
    if (this.#tail !== null) return this.#behind([own], answer);
    if (this.answersAtOnce) return answer();
    // Where one has to wait anyway, an error is an answer, too.
    return new Promise((resolve) => resolve(answer()));
  }

  readNow(buffer: DeviceBuffer): HostArray | null {
    const own = managed(buffer);
    // Counts and states of generators are asked for as if they had never left the host.
    const isAsked = !this.has(own.dtype) || own.dtype === 'int64';
    if (this.#tail !== null || !isAsked) return null;
    this.refuseFailed(own);
    if (!this.has(own.dtype)) return computed(own).slice();
    return own.host?.slice() ?? null;
  }

  /** Memory of the device with an array's elements, which are written there where only the host has them. */
  memoryOf(buffer: ManagedBuffer): DeviceBuffer {
    return this.#residency.memoryOf(buffer);
  }

  /** Has memory of the device be an array's, with its elements in it. @param host The same on the host, or null. */
  put(buffer: ManagedBuffer, memory: DeviceBuffer, host: HostArray | null): void {
    this.#residency.put(buffer, memory, host);
  }

  /** Has the host keep elements of an array: of a dtype that the device lacks, or few. */
  keep(buffer: ManagedBuffer, elements: HostArray): void {
    this.#residency.keep(buffer, elements);
  }

  /** Reads memory of the device, and asks runs about which it is not yet known whether they refuse elements. */
  fetch(reads: readonly BufferRead[]): readonly HostArray[] | Promise<readonly HostArray[]> {
    const [before, open] = [this.#settling, this.#open];
    const reports = open.flatMap(({ buffers }) => buffers);
    const areLost = this.#openLosses !== this.losses;
    const asked = areLost ? [] : reports;
    // Nothing is changed where the device refuses.
    const answer = readAll(this.backend, [...reads, ...asked.map((buffer) => ({ buffer }))]);
    this.#open = [];
    for (const buffer of reports) this.backend.free(buffer);
    if (open.length === 0 && before === null) return answer;
    const settled = Promise.all([answer, before]).then(
      ([all]) => {
        if (!areLost) return this.#settle(open, all.slice(reads.length));
        for (const outcome of open) outcome.lose(reportsLost());
      },
      async (error: unknown) => {
        await before;
        for (const outcome of open) outcome.lose(error);
      },
    );
    this.#settling = settled;
    return settled.then(() => {
      if (this.#settling === settled) this.#settling = null;
      return answer;
    });
  }

  /** Adds a run about which nobody knows yet whether it refuses elements. */
  expect(outcome: Outcome): void {
    if (this.#openLosses !== this.losses) void waitFor(() => this.fetch([]));
    this.#openLosses = this.losses;
    if (this.#open.push(outcome) >= mostOpen) void waitFor(() => this.fetch([]));
  }

  async synchronize(): Promise<void> {
    while (this.#tail !== null) await this.#tail;
    // What cannot be asked any more is told by who reads it.
    if (this.#open.length > 0 || this.#settling !== null) await waitFor(() => this.fetch([]));
    await this.backend.synchronize();
    const [error] = this.#untold;
    this.#untold.clear();
    if (error !== undefined) throw error;
  }

  /**
   * Does work behind all that was there before.
   *
   * @returns What it gives, or a promise where it has to wait.
   * @throws What it throws before it has to wait.
   */
  submit<T>(work: Work<T>): T | Promise<T> {
    const needs = new Set(work.needs);
    for (const buffer of needs) buffer.users++;
    const steps = this.#carryOut(work, needs);
    if (this.#tail !== null)
      return this.#wait(this.#tail.then(() => runToEnd(steps, steps.next())));
    const first = steps.next();
    return first.done === true ? first.value : this.#wait(runToEnd(steps, first));
  }

  *#carryOut<T>(work: Work<T>, needs: ReadonlySet<ManagedBuffer>): Waiting<T> {
    try {
      // Not before: work that waits may be in the middle of what it computes.
      this.#scratch.begin();
      let hasTrimmed = false;
      for (;;) {
        try {
          return yield* work.begin();
        } catch (error) {
          if (!(error instanceof OverBudgetError)) throw error;
          const hadMore = this.trim();
          const canRetry = (hadMore && !hasTrimmed) || (yield* this.#residency.makeRoom(error.wanted, needs, this)); // prettier-ignore
          if (!canRetry) throw error;
          hasTrimmed = true;
        }
      }
    } catch (error) {
      work.fail?.(error);
      throw error;
    } finally {
      this.#release(needs);
    }
  }

  #release(needs: Iterable<ManagedBuffer>): void {
    for (const buffer of needs) {
      buffer.users--;
      if (buffer.isUnused) this.#residency.free(buffer);
    }
  }

  /** A kernel, made callable once. */
  launch(kernel: Kernel): Launch {
    let launch = this.#launches.get(kernel);
    if (launch === undefined) this.#launches.set(kernel, (launch = this.backend.prepare(kernel)));
    return launch;
  }

  /** Memory for what programs compute in between, in one buffer; null where one cannot be so large. */
  arena(bytes: number): DeviceBuffer | null {
    return this.#scratch.arena(bytes);
  }

  /** One element of the host's in a buffer that others share: it must not be written to. */
  scalar(dtype: DType, element: HostArray): DeviceBuffer {
    return this.#scratch.scalar(dtype, element);
  }

  /** Gives back the memory that programs compute in, between two of them. False where there is none. */
  trim(): boolean {
    return this.#scratch.trim();
  }

  /** A buffer that stands for elements which could not be computed. */
  failed(dtype: DType, error: unknown): DeviceBuffer {
    const buffer = new ManagedBuffer(dtype, 0);
    this.fail(buffer, error);
    return buffer;
  }

  /** The elements of a buffer could not be computed. */
  fail(buffer: DeviceBuffer, error: unknown): void {
    managed(buffer).outcome = Outcome.failed(error);
    this.#untold.add(error);
  }

  /** @throws what went wrong as the elements of a buffer were computed, as far as is known. */
  refuseFailed({ outcome }: ManagedBuffer): void {
    if (outcome !== null) refuse(outcome, this.#untold);
  }

  #settle(open: readonly Outcome[], reports: readonly HostArray[]): void {
    let at = 0;
    for (const outcome of open) {
      const { length } = outcome.buffers;
      const failure = outcome.settle(reports.slice(at, (at += length)));
      if (failure !== null) this.#untold.add(failure.error);
    }
  }

  /** Acts behind all work. Where that is later, an error is one of the last buffer's. */
  #after(needs: readonly ManagedBuffer[], act: () => void): void {
    if (this.#tail === null) return act();
    void this.#behind(needs, () => {
      try {
        act();
      } catch (error) {
        this.fail(needs.at(-1)!, error);
      }
    });
  }

  /** Acts once what is waiting now is done. */
  #behind<T>(needs: readonly ManagedBuffer[], act: () => T | Promise<T>): Promise<T> {
    for (const buffer of needs) buffer.users++;
    return this.#tail!.then(act).finally(() => this.#release(needs));
  }

  #wait<T>(result: Promise<T>): Promise<T> {
    const tail = result.then(
      () => {},
      () => {}, // whoever submitted it is told
    );
    this.#tail = tail;
    void tail.then(() => {
      if (this.#tail === tail) this.#tail = null;
    });
    return result;
  }
}

/** Elements in a device's memory, or in a part of it. */
export function* fetched(
  queue: DeviceQueue,
  buffer: DeviceBuffer,
  part?: BufferPart,
): Waiting<HostArray> {
  const [elements] = yield* answered(queue.fetch([{ buffer, part }]));
  return elements;
}

/** Waits for answers that tell what went wrong elsewhere. */
async function waitFor(ask: () => unknown): Promise<void> {
  try {
    await ask();
  } catch {
    // Origins have been told.
  }
}

function refuse({ failure }: Outcome, untold: Set<unknown>): void {
  if (failure === null) return;
  untold.delete(failure.error);
  throw failure.error;
}

function partOf(elements: HostArray, part: BufferPart | undefined): HostArray {
  if (part === undefined) return elements.slice();
  const { dtype, length, offset } = part;
  return viewOf(dtype, elements.slice().buffer, offset, length);
}

function computed({ host }: ManagedBuffer): HostArray {
  if (host !== null) return host;
  throw new InternalError('elements were read before they were computed');
}
