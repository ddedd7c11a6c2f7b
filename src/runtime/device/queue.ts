import { type DType, type HostArray, viewOf } from '../../base/dtype.js';
import { InternalError } from '../../base/errors.js';
import type { Kernel } from '../../loop/language/nodes.js';
import type { BackendLimits, BufferBackend, BufferPart, DeviceBuffer } from '../memory/backend.js';
import type { Backend, Launch } from './backend.js';

/** Work that may have to wait for elements of the device: it yields promises, and is given what they answer. */
export type Waiting<T> = Generator<Promise<HostArray>, T, HostArray>;

/** Single elements that are kept on a device. */
const mostScalars = 256;

/** The most bytes of elements that the host remembers when it has given them to a device. */
export const mostRemembered: number = 2 ** 10;

/** Elements of a dtype that a device lacks, kept by the host in the place of a buffer. */
class HostBuffer implements DeviceBuffer {
  readonly dtype: DType;
  readonly length: number;
  /** Null until they are computed. */
  elements: HostArray | null;

  constructor(dtype: DType, length: number, elements: HostArray | null) {
    this.dtype = dtype;
    this.length = length;
    this.elements = elements;
  }
}

/**
 * A device with the work that it has been given. Work is done in order; most is handed to the backend at once. Work
 * that reads what the device computes, as a loop with a condition does, has everything behind it wait where the device
 * does not answer at once. If it fails then, nobody is left to throw to: reading any of its results, or computing with
 * them, fails in the same way.
 */
export class DeviceQueue implements BufferBackend {
  readonly backend: Backend;
  /** Settled when all work so far is done; null where nothing is waiting. It never rejects. */
  #tail: Promise<unknown> | null = null;
  /** The error behind elements that could not be computed. */
  readonly #failures: WeakMap<DeviceBuffer, { readonly error: unknown }> = new WeakMap();
  /** Errors that nobody has been told of. */
  readonly #untold: Set<unknown> = new Set();
  /** Few elements that the host has given: an optimizer's counts go to and fro, and need not be asked for. */
  readonly #remembered: WeakMap<DeviceBuffer, HostArray> = new WeakMap();
  /** Buffers of whose elements only the host knows: they go to the device when it reads them. */
  readonly #unwritten: WeakSet<DeviceBuffer> = new WeakSet();
  readonly #launches: WeakMap<Kernel, Launch> = new WeakMap();
  #arena: DeviceBuffer | null = null;
  /** Single elements that the host has given, by dtype and bits: the same ones come again and again. */
  readonly #scalars: Map<string, DeviceBuffer> = new Map();
  #losses = 0;

  constructor(backend: Backend) {
    this.backend = backend;
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

  /** True if the device holds no arrays: the host keeps them all. */
  get isHost(): boolean {
    return this.limits.dtypes.size === 0;
  }

  has(dtype: DType): boolean {
    return this.limits.dtypes.has(dtype);
  }

  allocate(dtype: DType, length: number): DeviceBuffer {
    return this.backend.allocate(dtype, length);
  }

  /** Room for a result of any dtype: on the device, or on the host where the device lacks it. */
  allocateResult(dtype: DType, length: number): DeviceBuffer {
    return this.has(dtype) ? this.allocate(dtype, length) : new HostBuffer(dtype, length, null);
  }

  free(buffer: DeviceBuffer): void {
    if (buffer instanceof HostBuffer) return;
    this.#after(() => this.backend.free(buffer));
  }

  write(buffer: DeviceBuffer, elements: HostArray): void {
    const isKept = buffer instanceof HostBuffer || elements.byteLength <= mostRemembered;
    const own = this.#tail === null && !isKept ? elements : elements.slice();
    this.#change(buffer, () => {
      if (buffer instanceof HostBuffer) buffer.elements = own;
      else {
        this.backend.write(buffer, own);
        this.remember(buffer, own);
      }
    });
  }

  copy(from: DeviceBuffer, to: DeviceBuffer): void {
    this.#change(to, () => {
      this.refuseFailed(from);
      if (!this.isWritten(from)) this.keep(to, this.kept(from)!.slice());
      else {
        this.backend.copy(from, to);
        this.remember(to, this.kept(from));
      }
    });
  }

  read(buffer: DeviceBuffer, part?: BufferPart): HostArray | Promise<HostArray> {
    const answer = (): HostArray | Promise<HostArray> => {
      this.refuseFailed(buffer);
      if (this.isWritten(buffer)) return this.backend.read(buffer, part);
      return partOf(this.kept(buffer)!, part);
    };
    if (this.#tail !== null) return this.#tail.then(answer);
    if (this.answersAtOnce) return answer();
    // Where one has to wait anyway, an error is an answer, too.
    return new Promise((resolve) => resolve(answer()));
  }

  readNow(buffer: DeviceBuffer): HostArray | null {
    if (this.#tail !== null) return null;
    // Counts and states of generators are asked for as if they had never left the host.
    const isAsked = buffer instanceof HostBuffer || buffer.dtype === 'int64';
    if (!isAsked) return null;
    this.refuseFailed(buffer);
    return this.kept(buffer)?.slice() ?? null;
  }

  /** Elements that the host has, alone or beside the device, and that must not be written to; null for others. */
  kept(buffer: DeviceBuffer): HostArray | null {
    if (buffer instanceof HostBuffer) return computed(buffer);
    return this.#remembered.get(buffer) ?? null;
  }

  /** True where the device has the elements, perhaps not alone. */
  isWritten(buffer: DeviceBuffer): boolean {
    return !(buffer instanceof HostBuffer) && !this.#unwritten.has(buffer);
  }

  /** Says what is in a buffer of the device from now on: null where the host does not know. */
  remember(buffer: DeviceBuffer, elements: HostArray | null): void {
    this.#unwritten.delete(buffer);
    if (elements !== null && elements.byteLength <= mostRemembered)
      this.#remembered.set(buffer, elements);
    else this.#remembered.delete(buffer);
  }

  /** Has the host keep elements for a buffer: of a dtype that the device lacks, or few. */
  keep(buffer: DeviceBuffer, elements: HostArray): void {
    if (buffer instanceof HostBuffer) {
      buffer.elements = elements;
      return;
    }
    this.remember(buffer, elements);
    this.#unwritten.add(buffer);
  }

  async synchronize(): Promise<void> {
    while (this.#tail !== null) await this.#tail;
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
  submit<T>(work: Waiting<T>): T | Promise<T> {
    if (this.#scalars.size > mostScalars) this.#dropScalars();
    if (this.#tail !== null) return this.#wait(this.#tail.then(() => finish(work, work.next())));
    const first = work.next();
    return first.done === true ? first.value : this.#wait(finish(work, first));
  }

  /** A kernel, made callable once. */
  launch(kernel: Kernel): Launch {
    let launch = this.#launches.get(kernel);
    if (launch === undefined) this.#launches.set(kernel, (launch = this.backend.prepare(kernel)));
    return launch;
  }

  /** Memory for what programs compute in between: one of them at a time. Null where one buffer cannot be so large. */
  arena(bytes: number): DeviceBuffer | null {
    if (bytes > this.limits.bufferBytes) return null;
    this.#noticeLoss();
    if (this.#arena !== null && this.#arena.length >= bytes) return this.#arena;
    // Not through the queue: it is work of the queue that asks.
    if (this.#arena !== null) this.backend.free(this.#arena);
    this.#arena = null;
    return (this.#arena = this.backend.allocate('uint8', bytes));
  }

  /** One element of the host's in a buffer that others share: it must not be written to. */
  scalar(dtype: DType, element: HostArray): DeviceBuffer {
    this.#noticeLoss();
    const bits = new Uint8Array(element.buffer, element.byteOffset, element.byteLength);
    const key = `${dtype} ${bits.join()}`;
    let buffer = this.#scalars.get(key);
    if (buffer === undefined) {
      // Not through the queue: it is work of the queue that asks.
      buffer = this.backend.allocate(dtype, 1);
      this.backend.write(buffer, element);
      this.#scalars.set(key, buffer);
    }
    return buffer;
  }

  /** Gives back the memory that programs compute in. */
  trim(): void {
    this.#dropScalars();
    const arena = this.#arena;
    this.#arena = null;
    if (arena !== null) this.free(arena);
  }

  /** A buffer that stands for elements which could not be computed. */
  failed(dtype: DType, error: unknown): DeviceBuffer {
    const buffer = new HostBuffer(dtype, 0, null);
    this.fail(buffer, error);
    return buffer;
  }

  /** The elements of a buffer could not be computed. */
  fail(buffer: DeviceBuffer, error: unknown): void {
    this.#failures.set(buffer, { error });
    this.#untold.add(error);
  }

  /** @throws what went wrong as the elements of a buffer were computed. */
  refuseFailed(buffer: DeviceBuffer): void {
    const failure = this.#failures.get(buffer);
    if (failure === undefined) return;
    this.#untold.delete(failure.error);
    throw failure.error;
  }

  #dropScalars(): void {
    const scalars = [...this.#scalars.values()];
    this.#scalars.clear();
    for (const scalar of scalars) this.free(scalar);
  }

  /** Forgets memory that is gone with the device. */
  #noticeLoss(): void {
    const { losses } = this;
    if (losses === this.#losses) return;
    this.#losses = losses;
    this.trim();
  }

  #change(buffer: DeviceBuffer, act: () => void): void {
    this.#after(() => {
      this.#failures.delete(buffer);
      act();
    }, buffer);
  }

  /** Acts behind all work. Where that is later, an error is one of the buffer's. */
  #after(act: () => void, buffer?: DeviceBuffer): void {
    if (this.#tail === null) return act();
    void this.#tail.then(() => {
      try {
        act();
      } catch (error) {
        if (buffer === undefined) this.#untold.add(error);
        else this.fail(buffer, error);
      }
    });
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

/** Elements in a buffer, or in a part of it. */
export function* fetched(
  { backend }: DeviceQueue,
  buffer: DeviceBuffer,
  part?: BufferPart,
): Waiting<HostArray> {
  const answer = backend.read(buffer, part);
  return answer instanceof Promise ? yield answer : answer;
}

/** The answer of anything else that has to be waited for. */
export function* waited<T>(promise: Promise<T>): Waiting<T> {
  const answers: T[] = [];
  yield promise.then((answer) => {
    answers.push(answer);
    return noElements;
  });
  return answers[0];
}

const noElements: HostArray = new Uint8Array(0);

async function finish<T>(
  work: Waiting<T>,
  first: IteratorResult<Promise<HostArray>, T>,
): Promise<T> {
  let step = first;
  while (step.done !== true) {
    const answer = await step.value.then(
      (elements) => ({ elements }),
      (error: unknown) => ({ error }),
    );
    step = 'error' in answer ? work.throw(answer.error) : work.next(answer.elements);
  }
  return step.value;
}

function partOf(elements: HostArray, part: BufferPart | undefined): HostArray {
  if (part === undefined) return elements.slice();
  const { dtype, length, offset } = part;
  return viewOf(dtype, elements.slice().buffer, offset, length);
}

function computed({ elements }: HostBuffer): HostArray {
  if (elements !== null) return elements;
  throw new InternalError('elements were read before they were computed');
}
