import type { NodeModules } from '../../base/node.js';

/**
 * A compiled `main`: it takes the memory and the address of its table; for a team also the address where
 * that meets, the number of the thread and how many there are.
 */
export type NativeFunction = (memory: Uint8Array, table: number, ...team: number[]) => void;

interface Library {
  func(
    name: string,
    result: string,
    parameters: readonly unknown[],
  ): (...args: readonly unknown[]) => void;
}

/** A function of this process that native code can call. */
export interface Callback {
  /** Its type, as a parameter. */
  readonly type: unknown;
  readonly pointer: unknown;
}

/** Interface of `koffi`, an optional dependency, as far as it is used. */
export interface LibraryLoader {
  load(file: string): Library;
  /** The address of the first byte of a view. */
  address?(view: Uint8Array): bigint;
  /** Makes a function of one int32 callable by native code, for as long as the process lives. */
  callback?(run: (value: number) => void): Callback;
}

/** Interface of `koffi` for callbacks, as far as it is used. */
interface CallbackMaker {
  proto(result: string, parameters: readonly string[]): unknown;
  pointer(type: unknown): unknown;
  register(run: (value: number) => void, type: unknown): unknown;
}

/** `koffi`, or what is missing. It is loaded when there is something to load with it. */
export function findLoader({ module }: NodeModules): LibraryLoader | string {
  const require = module.createRequire(import.meta.url);
  try {
    require.resolve('koffi');
  } catch {
    return 'koffi is not installed: npm install koffi';
  }
  type Koffi = CallbackMaker & Required<Pick<LibraryLoader, 'load' | 'address'>>;
  const koffi = (): Koffi => require('koffi') as Koffi;
  return {
    load: (file) => koffi().load(file),
    address: (view) => koffi().address(view),
    callback: (run) => {
      const { proto, pointer, register } = koffi();
      const type = pointer(proto('void', ['int32_t']));
      return { type, pointer: register(run, type) };
    },
  };
}

/** The libraries that this process has loaded. They stay, since nobody knows who still calls them. */
export class Libraries {
  readonly #loader: LibraryLoader;
  readonly #loaded: Map<string, Library> = new Map();

  constructor(loader: LibraryLoader) {
    this.#loader = loader;
  }

  /** @throws Error of the loader for what is no library or has no such function. */
  function(file: string, name: string, hasTeam: boolean): NativeFunction {
    return this.#at(file).func(name, 'void', [...forOne, ...(hasTeam ? forTeam : [])]);
  }

  /** Passes a callback to a function of a library. */
  give(file: string, name: string, { type, pointer }: Callback): void {
    this.#at(file).func(name, 'void', [type])(pointer);
  }

  #at(file: string): Library {
    let library = this.#loaded.get(file);
    if (library === undefined) this.#loaded.set(file, (library = this.#loader.load(file)));
    return library;
  }
}

const forOne: readonly string[] = ['uint8_t *', 'int64_t'];
const forTeam: readonly string[] = ['int64_t', 'int32_t', 'int32_t'];

/** From where other threads can find the loader. */
export const loaderBase: string = import.meta.url;
