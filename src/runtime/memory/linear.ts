import { ArgumentError, DeviceError } from '../../base/errors.js';
import { environmentVariable, processBytes } from '../../base/node.js';
import { supportsMemory64 } from '../../codegen/wasm/index.js';
import type { AddressScalar } from '../../loop/language/target.js';

const pageBytes = 65536;
/** The most pages of a memory: all that 32 bits can address, and all that engines give to 64. */
const mostPages: Readonly<Record<AddressScalar, number>> = { i32: 2 ** 16, i64: 2 ** 18 };
/** The bytes that are copied at once: a view of all memory may be too long for the engine. */
const chunkBytes = 2 ** 30;

/** Addresses of a device: of one width, or of 32 bits until they do not suffice. */
export type Addressing = AddressScalar | 'i32, then i64';

/** The methods of `WebAssembly.Memory` that take numbers of pages as bigint where addresses have 64 bits. */
interface WideMemory {
  grow(pages: bigint): bigint;
}

/** Holder of code for a memory, or of views on it. */
export interface MemoryHolder {
  /** Lets go of a memory that has been replaced. */
  memoryReplaced(): void;
}

interface LinearMemoryOptions {
  /** Default: as much as addresses reach, and the process may have. */
  readonly maximumBytes?: number;
  /** Default: 32 bits. */
  readonly addressing?: Addressing;
  /** The bytes beyond which addresses need 64 bits. Default: 4 GiB. */
  readonly narrowBytes?: number;
  /** Asked when the memory is made. */
  readonly isShared: () => boolean;
}

/**
 * The growable memory of WebAssembly on which a device works. It may begin with addresses of 32 bits, for which
 * engines have the faster code, and be replaced by one of 64 when it has to outgrow them (`widen`).
 */
export class LinearMemory {
  #addresses: AddressScalar;
  #mayWiden: boolean;
  readonly #maximumBytes: number;
  readonly #narrowBytes: number;
  readonly #isShared: () => boolean;
  #mostPages: number;
  #memory: WebAssembly.Memory | null = null;
  #buffer: ArrayBufferLike | null = null;
  /** Told when the memory is replaced: code for it, and even views that it has outgrown, would keep it alive. */
  readonly #holders: Set<WeakRef<MemoryHolder>> = new Set();

  constructor(options: LinearMemoryOptions) {
    const {
      maximumBytes = Infinity,
      addressing = 'i32',
      narrowBytes = 2 ** 32,
      isShared,
    } = options;
    this.#maximumBytes = maximumBytes;
    this.#narrowBytes = narrowBytes;
    this.#isShared = isShared;
    this.#addresses = addressing === 'i64' ? 'i64' : 'i32';
    this.#mayWiden = addressing === 'i32, then i64';
    this.#mostPages = this.#pagesOf(this.#addresses);
  }

  /** Type of addresses now. */
  get addresses(): AddressScalar {
    const isUndecided = this.#addresses === 'i64' && this.#memory === null;
    if (isUndecided && !supportsMemory64({ shared: this.#isShared() })) {
      this.#addresses = 'i32';
      this.#mostPages = this.#pagesOf('i32');
    }
    return this.#addresses;
  }

  get isMade(): boolean {
    return this.#memory !== null;
  }

  /** @throws DeviceError when the engine gives no memory at all. */
  get memory(): WebAssembly.Memory {
    return (this.#memory ??= this.#create(Math.min(16, this.#mostPages)));
  }

  /** The memory's bytes; another object after the memory has grown. */
  get buffer(): ArrayBufferLike {
    return (this.#buffer ??= this.memory.buffer);
  }

  /** True if the memory is shared with other threads. */
  get isShared(): boolean {
    return typeof SharedArrayBuffer === 'function' && this.buffer instanceof SharedArrayBuffer;
  }

  /** The most bytes with addresses of the present type. */
  get capacity(): number {
    return this.#mostPages * pageBytes;
  }

  /** The most bytes that `widen` could give; 0 where it cannot. */
  get widened(): number {
    if (!this.#mayWiden || this.#addresses === 'i64') return 0;
    const shared = this.#memory === null ? this.#isShared() : this.isShared;
    return supportsMemory64({ shared }) ? this.#pagesOf('i64') * pageBytes : 0;
  }

  /** Registers a holder, until `unhold` or until it is dropped. */
  hold(holder: WeakRef<MemoryHolder>): void {
    this.#holders.add(holder);
  }

  unhold(holder: WeakRef<MemoryHolder>): void {
    this.#holders.delete(holder);
  }

  /** @throws RangeError when there is no room for so many bytes more; nothing is changed then. */
  grow(bytes: number): void {
    const wanted = Math.max(bytes, this.buffer.byteLength / 4);
    try {
      this.#growBy(Math.ceil(wanted / pageBytes));
    } catch {
      this.#growBy(Math.ceil(bytes / pageBytes));
    }
    this.#buffer = this.memory.buffer;
  }

  /**
   * Goes on in a memory of 64-bit addresses, where what lies in the first `used` bytes keeps its addresses; code for
   * the old memory must not run any more. False when the engine gives no such memory: then nothing is changed.
   */
  widen(used: number): boolean {
    const old = this.memory;
    const before = this.buffer;
    const narrowPages = this.#mostPages;
    this.#mayWiden = false;
    this.#addresses = 'i64';
    this.#mostPages = this.#pagesOf('i64');
    let memory: WebAssembly.Memory;
    try {
      memory = this.#create(before.byteLength / pageBytes);
    } catch (error) {
      // The caller tells that there is no memory, as it does without memory64.
      if (!(error instanceof DeviceError)) throw error;
      this.#addresses = 'i32';
      this.#mostPages = narrowPages;
      return false;
    }
    for (let at = 0; at < used; at += chunkBytes) {
      const length = Math.min(chunkBytes, used - at);
      new Uint8Array(memory.buffer, at, length).set(new Uint8Array(before, at, length));
    }
    this.#memory = memory;
    this.#buffer = memory.buffer;
    // Detaches views on memory that is not shared: what is written to them must not be lost in silence.
    old.grow(0);
    for (const holder of this.#holders) holder.deref()?.memoryReplaced();
    this.#holders.clear();
    return true;
  }

  #pagesOf(addresses: AddressScalar): number {
    const most = addresses === 'i64' ? processBytes() : this.#narrowBytes;
    return Math.min(
      Math.ceil(Math.min(this.#maximumBytes, most) / pageBytes),
      mostPages[addresses],
    );
  }

  #growBy(pages: number): void {
    // The types of TypeScript know no memory of 64-bit addresses.
    if (this.#addresses === 'i64') (this.memory as unknown as WideMemory).grow(BigInt(pages));
    else this.memory.grow(pages);
  }

  #create(initial: number): WebAssembly.Memory {
    const shared = this.#memory === null ? this.#isShared() : this.isShared;
    const maximum = this.#mostPages;
    try {
      if (this.addresses === 'i32') return new WebAssembly.Memory({ initial, maximum, shared });
      const pages = { initial: BigInt(initial), maximum: BigInt(maximum) };
      const wide = { address: 'i64', ...pages, shared };
      // As in `#growBy`.
      return new WebAssembly.Memory(wide as unknown as WebAssembly.MemoryDescriptor);
    } catch (cause) {
      // Some engines have no address range for all that addresses can name.
      if (maximum === mostPages[this.#addresses] && initial <= maximum / 2) {
        this.#mostPages = maximum / 2;
        return this.#create(initial);
      }
      throw new DeviceError('the engine gives no memory to the device', {
        expected: `an address range of ${maximum * pageBytes} bytes`,
        advice: 'make a Device with a smaller maximumBytes',
        cause,
      });
    }
  }
}

/**
 * Addressing that the environment asks for (`KAON_ADDRESSES`): 64 bits from the start, or only where 32 do not
 * suffice.
 * @throws ArgumentError for another value, and for 64 where the engine has no such memory.
 */
export function addressingOfEnvironment(): Addressing {
  const text = environmentVariable('KAON_ADDRESSES') ?? '';
  if (text === '') return 'i32, then i64';
  if (text === '64' && supportsMemory64()) return 'i64';
  throw new ArgumentError('programs cannot have such addresses here', {
    op: 'KAON_ADDRESSES',
    expected: supportsMemory64() ? '64, or nothing' : 'nothing: this engine has no memory64',
    actual: text,
  });
}
