import {
  allocate,
  bytesOf,
  copyElements,
  copyOfElements,
  type DType,
  type HostArray,
} from '../../base/dtype.js';
import { ArgumentError, DeviceError, InternalError } from '../../base/errors.js';
import type { BufferBackend, DeviceBuffer } from './backend.js';
import { cpu, type Device } from './device.js';
import { type BufferPlace, Elsewhere, freeDropped, type LaterPlace } from './elsewhere.js';
import { isFar } from './far.js';
import type { MemoryHolder } from './linear.js';
import { type Claim, Residence } from './residents.js';
import { returnCopy } from './slab.js';

/** Location of a pinned storage. */
class PinnedLocation implements MemoryHolder {
  readonly device: Device;
  readonly address: number;
  readonly #held: WeakRef<MemoryHolder> = new WeakRef(this);
  #view: HostArray | null = null;
  #epoch = 0;

  constructor(device: Device, address: number) {
    this.device = device;
    this.address = address;
    device.linear.hold(this.#held);
  }

  /** Gives the memory back. */
  release(): void {
    this.device.linear.unhold(this.#held);
    this.device.release(this.address);
  }

  memoryReplaced(): void {
    this.#view = null;
  }

  /** The elements where they are, fresh as of `#epoch`. */
  view({ dtype, length }: Storage): HostArray {
    const { device, address } = this;
    if (this.#view === null || this.#epoch !== device.epoch) {
      this.#epoch = device.epoch;
      this.#view = device.view(dtype, address, length);
    }
    return this.#view;
  }
}

/** Gives back the memory of pinned storages that were dropped without `unpin`. */
const abandoned = new FinalizationRegistry<PinnedLocation>((location) => location.release());

/**
 * The elements of an array, row-major. They are where they are needed: in an ordinary typed array that the
 * garbage collector owns, in the memory of a device, or in both (decision 36). `pin` keeps long-lived state
 * in the device's memory, where programs use it in place.
 */
export class Storage {
  readonly dtype: DType;
  /** Null where only the place knows it. */
  readonly #length: number | null;
  /** The elements on the host; null where only a device has them. */
  #home: HostArray | null;
  #berth: PinnedLocation | null = null;
  /** Null on the CPU. Where it is not, all else about places is null. */
  #elsewhere: BufferPlace | null = null;
  #claim: Claim | null = null;
  #wasRead = false;
  /** 0 until somebody asks. */
  #version = 0;
  /** True if the elements are part of an array that others see, so that they have to stay there. */
  readonly #isWindow: boolean;
  /** True if it was made without elements. */
  #startsAbsent = false;

  /** Takes the array over. */
  constructor(dtype: DType, home: HostArray);
  /** @internal Elements that only a device has; see `onDevice`. */
  constructor(dtype: DType, home: HostArray | null, length: number | null, isWindow?: boolean);
  constructor(
    dtype: DType,
    home: HostArray | null,
    length: number | null = home!.length,
    isWindow: boolean = false,
  ) {
    this.dtype = dtype;
    this.#length = length;
    this.#home = home;
    this.#isWindow = isWindow;
  }

  static zeros(dtype: DType, length: number): Storage {
    return new Storage(dtype, allocate(dtype, length));
  }

  /** A storage without elements, which may be written, and only then read. */
  static absent(dtype: DType, length: number): Storage {
    const storage = new Storage(dtype, null, length);
    storage.#startsAbsent = true;
    return storage;
  }

  /** Part of another array: what is written to the storage appears there. */
  static window(dtype: DType, part: HostArray): Storage {
    return new Storage(dtype, part, part.length, true);
  }

  /** Takes over the elements that lie at an address of a device, and the memory there. */
  static onDevice(dtype: DType, length: number, device: Device, address: number): Storage {
    const storage = new Storage(dtype, null, length);
    storage.#reside(device, address, true);
    return storage;
  }

  /** Takes over a buffer of another device than the CPU. */
  static ofBuffer(backend: BufferBackend, buffer: DeviceBuffer): Storage {
    const storage = new Storage(buffer.dtype, null, buffer.length);
    storage.#elsewhere = new Elsewhere(backend, buffer, storage);
    return storage;
  }

  /** Elements that a device will have when it is known how many there are. */
  static later(dtype: DType, place: LaterPlace): Storage {
    const storage = new Storage(dtype, null, null);
    storage.#elsewhere = place;
    return storage;
  }

  /** The number of elements. */
  get length(): number {
    return this.#length ?? this.#elsewhere!.buffer.length;
  }

  /** The device that has the elements; null for the CPU. */
  get backend(): BufferBackend | null {
    return this.#elsewhere === null ? null : this.#elsewhere.backend;
  }

  /** True while it has no elements. */
  get isAbsent(): boolean {
    if (!this.#startsAbsent) return false;
    return [this.#home, this.#berth, this.#elsewhere, this.#claim].every((place) => place === null);
  }

  /** The buffer on the device that has the elements. */
  get buffer(): DeviceBuffer {
    if (this.#elsewhere !== null) return this.#elsewhere.buffer;
    throw new InternalError('elements on the CPU are in no buffer');
  }

  /**
   * A copy of elements on the CPU, on another device.
   * @throws DeviceError when the device has no room for it, or not this dtype.
   */
  onBackend(backend: BufferBackend): Storage {
    freeDropped(backend);
    const buffer = backend.allocate(this.dtype, this.length);
    backend.write(buffer, this.elements);
    return Storage.ofBuffer(backend, buffer);
  }

  /** True where the elements can be read at once. */
  get isKnown(): boolean {
    return this.#elsewhere?.isKnown ?? true;
  }

  /** A copy of the elements for the host, from wherever they are. The one way that may have to be waited for. */
  read(): HostArray | Promise<HostArray> {
    return this.#elsewhere === null ? this.copy() : this.#elsewhere.read();
  }

  /**
   * The elements on the host. Not to be written to: `write` and `fill` do that. Those of a pinned storage
   * are to be read at once, since they move when a program runs.
   * @throws DeviceError when a device has them that does not answer at once.
   */
  get host(): HostArray {
    return this.#home ?? this.#fetched();
  }

  /** The elements wherever they are, to be read at once. */
  get elements(): HostArray {
    return (
      this.#home ?? this.#berth?.view(this) ?? this.#claim?.residence.elements ?? this.#fetched()
    );
  }

  /** The elements in an array of their own. */
  copy(): HostArray {
    return copyOfElements(this.dtype, this.elements);
  }

  /**
   * The address in the memory of a device where the storage is pinned, -1 when it is not, or when it lies where
   * only native code reaches it and addresses are not `isWide`.
   */
  addressOn(device: Device, isWide: boolean = true): number {
    const berth = this.#berth;
    if (berth === null || berth.device !== device) return -1;
    return isWide || !isFar(berth.address) ? berth.address : -1;
  }

  get isPinned(): boolean {
    return this.#berth !== null;
  }

  /**
   * A number that no other elements have: it changes whenever these do. Of a window, whose elements others write,
   * it is another one each time.
   */
  get version(): number {
    if (this.#version === 0 || this.#isWindow) this.#version = ++versions;
    return this.#version;
  }

  /** Notes that a program is about to write elements where they are. */
  changes(): void {
    this.#version = 0;
  }

  /** True if the elements lie in the memory of a device, for now, though they are not pinned. */
  get isResident(): boolean {
    return this.#claim !== null && this.#claim.residence.address >= 0;
  }

  /**
   * The address of the elements in the memory of a device for one run. What is read for the second time
   * stays there; what is read once is a `guest`, whose memory the caller gives back afterwards.
   * @throws DeviceError when the memory is exhausted; nothing is changed then.
   */
  lend(device: Device, guests: number[]): number {
    const residence = this.#claim?.residence;
    const wasRead = this.#wasRead;
    this.#wasRead = true;
    if (residence?.residents === device.residents) {
      if (residence.address >= 0) {
        device.residents.use(residence);
        return residence.address;
      }
      device.residents.missed(residence);
    }
    const { host } = this;
    const address = device.take(bytesOf(this.dtype) * this.length);
    copyElements(device.view(this.dtype, address, this.length), host);
    if (wasRead && !this.#isWindow && this.#berth === null) this.#reside(device, address, false);
    else guests.push(address);
    return address;
  }

  /**
   * Takes over elements that lie at an address of a device, and the memory there, in the place of its own.
   * False for a storage that has to stay where it is, which copies them.
   */
  adopt(device: Device, address: number): boolean {
    this.changes();
    if (this.#elsewhere !== null) {
      this.#elsewhere.backend.write(this.buffer, device.view(this.dtype, address, this.length));
      return false;
    }
    if (this.#isWindow || this.#berth !== null) {
      copyElements(this.host, device.view(this.dtype, address, this.length));
      return false;
    }
    this.#leave();
    this.#home = null;
    this.#reside(device, address, true);
    return true;
  }

  /** Replaces all elements. An unpinned storage takes the array over; a pinned one copies it. */
  write(elements: HostArray): void {
    if (elements.length !== this.length) {
      throw new ArgumentError('the number of elements of an array cannot change', {
        op: 'Storage.write',
        expected: String(this.length),
        actual: String(elements.length),
      });
    }
    this.changes();
    if (this.#elsewhere !== null) this.#elsewhere.backend.write(this.buffer, elements);
    else if (this.#berth === null) {
      this.#leave();
      this.#home = elements;
    } else copyElements(this.host, elements);
  }

  /** Copies elements over the present ones. */
  fill(elements: HostArray): void {
    this.changes();
    if (this.#elsewhere !== null) return this.#elsewhere.backend.write(this.buffer, elements);
    if (this.#claim !== null) this.#leave();
    if (this.#home === null && this.#berth === null) this.#home = elements.slice();
    else copyElements(this.host, elements);
  }

  /**
   * Moves the elements into the memory of a device for good; nothing when they already are pinned there, or
   * are on another device than the CPU.
   */
  pin(device: Device = cpu): void {
    if (this.#elsewhere !== null) return;
    if (this.#berth !== null) {
      if (this.#berth.device === device) return;
      this.unpin();
    }
    const elements = this.host;
    const address = device.takePinned(bytesOf(this.dtype) * this.length);
    this.#leave();
    this.#berth = new PinnedLocation(device, address);
    this.#home = null;
    copyElements(this.host, elements);
    abandoned.register(this, this.#berth, this);
  }

  /** Moves the elements back into an array of their own. */
  unpin(): void {
    const berth = this.#berth;
    if (berth === null) return;
    this.#home = this.copy();
    this.#berth = null;
    abandoned.unregister(this);
    berth.release();
  }

  /**
   * Gives the memory back at once: nobody may read the elements any more. For what the library has made for
   * itself alone.
   */
  release(): void {
    if (this.#elsewhere !== null) {
      this.#elsewhere.free();
      this.#elsewhere = null;
      return;
    }
    if (this.#berth !== null || this.#isWindow) return;
    this.#leave();
    const home = this.#home;
    this.#home = null;
    if (home !== null) returnCopy(home);
  }

  #fetched(): HostArray {
    if (this.#berth !== null) return this.#berth.view(this);
    if (this.#elsewhere !== null) return readAtOnce(this.#elsewhere);
    if (this.isAbsent) throw hasNoElements(this);
    const elements = this.#residence.fetch();
    if (!this.isResident) this.#leave();
    return (this.#home = elements);
  }

  get #residence(): Residence {
    if (this.#claim !== null) return this.#claim.residence;
    throw new InternalError('elements were read after their memory was given back');
  }

  #reside({ residents }: Device, address: number, isOnly: boolean): void {
    this.#leave();
    this.#claim = residents.add(new Residence(residents, this.dtype, this.length, address, isOnly));
  }

  /** Ends the residence. */
  #leave(): void {
    const claim = this.#claim;
    if (claim === null) return;
    this.#claim = null;
    claim.residence.residents.remove(claim.residence);
  }
}

function hasNoElements({ dtype, length }: Storage): ArgumentError {
  return new ArgumentError('the elements of an array were needed that has a shape only', {
    op: 'read',
    expected: 'an array with elements',
    actual: `${length} elements of ${dtype} that were never made`,
    advice:
      'call initialize() on the network to draw them here, or load them; writeJob has them drawn where the job runs',
  });
}

/** Reads where nobody can wait. */
function readAtOnce({ backend, buffer }: BufferPlace): HostArray {
  const answer = backend.answersAtOnce ? backend.read(buffer) : (backend.readNow?.(buffer) ?? null);
  if (answer !== null && !(answer instanceof Promise)) return answer;
  throw new DeviceError(
    'the elements of an array were read on a device that does not answer at once',
    {
      op: 'read',
      expected: 'an array on the CPU',
      actual: `an array on the device ${backend.name}`,
      advice:
        'read a copy: const y = await x.cpu(), or await x.data(); before an export, await graph.cpu() or await net.cpu(). Code that is captured (hybridize) has the device decide tests and loops; with initDevice(name, { worker: true }) elements can be read at once',
    },
  );
}

/** Number of versions of elements of which anybody wanted to know. */
let versions = 0;
