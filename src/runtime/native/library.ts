import type { NodeModules } from '../../base/node.js';

/**
 * A compiled `main`: it takes the memory and the address of its table; for a team also the address where
 * that meets, the number of the thread and how many there are.
 */
export type NativeFunction = (memory: Uint8Array, table: number, ...team: number[]) => void;

interface Library {
  func(name: string, result: string, parameters: readonly string[]): NativeFunction;
}

/** Interface of `koffi`, an optional dependency, as far as it is used. */
export interface LibraryLoader {
  load(file: string): Library;
  /** The address of the first byte of a view. */
  address?(view: Uint8Array): bigint;
}

/** `koffi`, or what is missing. It is loaded when there is something to load with it. */
export function findLoader({ module }: NodeModules): LibraryLoader | string {
  const require = module.createRequire(import.meta.url);
  try {
    require.resolve('koffi');
  } catch {
    return 'koffi is not installed: npm install koffi';
  }
  const koffi = (): Required<LibraryLoader> => require('koffi') as Required<LibraryLoader>;
  return { load: (file) => koffi().load(file), address: (view) => koffi().address(view) };
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
    let library = this.#loaded.get(file);
    if (library === undefined) this.#loaded.set(file, (library = this.#loader.load(file)));
    return library.func(name, 'void', [...forOne, ...(hasTeam ? forTeam : [])]);
  }
}

const forOne: readonly string[] = ['uint8_t *', 'int64_t'];
const forTeam: readonly string[] = ['int64_t', 'int32_t', 'int32_t'];

/** From where other threads can find the loader. */
export const loaderBase: string = import.meta.url;
