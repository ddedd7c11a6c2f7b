import type { Module } from '../../loop/language/nodes.js';
import type { Target } from '../../loop/language/target.js';
import { type Building, Builds } from './builds.js';
import { type CachedFunction, DiskCache } from './cache.js';
import { type Compiler, CompilerSearch } from './compiler.js';
import { sleep } from './job.js';
import { type Callback, findLoader, Libraries, type LibraryLoader, type NativeFunction } from './library.js'; // prettier-ignore
import {
  type Environment,
  isNodeLoading,
  nodeImitation,
  nodeModules,
  type NodeModules,
  processBytes,
} from '../../base/node.js';
import type { ProcessMemory } from '../memory/far.js';
import { markSetter, nativeSource } from './source.js';

/** A function that does what a program's `main` does, and where it is. */
export interface NativeCode extends CachedFunction {
  readonly run: NativeFunction;
}

/** A program that is to become native code. */
export interface NativeRequest {
  /** The code, or why there is none; null while that is open. */
  poll(): NativeCode | string | null;
  /** Waits for it; null only where that takes a turn of the event loop. */
  wait(): NativeCode | string | null;
}

export interface NativeSettings {
  /** Variables of the environment. Default: those of the process. */
  readonly env?: Environment;
  /** Loads libraries, or says why it cannot. Default: `koffi`. */
  readonly findLoader?: (node: NodeModules) => LibraryLoader | string;
  /** Time limit of a compilation in milliseconds. Default two minutes. */
  readonly limitMilliseconds?: number;
  /** Time that a program must have run before it is compiled, in milliseconds. Default 100. */
  readonly hotMilliseconds?: number;
  /** True to use native code even where it is no faster. Default false. */
  readonly atAnySpeed?: boolean;
  /** Bytes that the cache may take on disk. Default 256 MiB. */
  readonly cacheBytes?: number;
  /** Number of compilers that run at once. Default 2. */
  readonly width?: number;
}

/** State while a compiler is searched for. */
interface Setup {
  readonly node: NodeModules;
  readonly loader: LibraryLoader;
  readonly cache: DiskCache;
  readonly search: CompilerSearch;
  /** Folder of the search. */
  readonly folder: string;
}

/** State once a compiler has been found. */
interface Workshop {
  readonly node: NodeModules;
  readonly compiler: Compiler;
  readonly builds: Builds;
  readonly libraries: Libraries;
  readonly loader: LibraryLoader;
}

/** All that makes and loads native code. */
export class NativeTier {
  readonly hotMilliseconds: number;
  readonly atAnySpeed: boolean;
  readonly #settings: NativeSettings;
  #setup: Setup | string | null = null;
  #workshop: Workshop | string | null = null;
  #marking: Callback | null = null;

  constructor(settings: NativeSettings = {}) {
    this.#settings = settings;
    this.hotMilliseconds = settings.hotMilliseconds ?? 100;
    this.atAnySpeed = settings.atAnySpeed ?? false;
  }

  /** Problem of the cache; null for none. */
  get note(): string | null {
    return this.#setup === null || typeof this.#setup === 'string' ? null : this.#setup.cache.note;
  }

  /** @param lower Makes the program for what the compiler compiles for. */
  request(lower: (target: Target) => Module): NativeRequest {
    let building: Building | null = null;
    let code: NativeCode | string | null = null;
    const poll = (): NativeCode | string | null => {
      if (code !== null) return code;
      const workshop = this.#opened();
      if (workshop === null) return null;
      if (typeof workshop === 'string') return (code = workshop);
      if (building === null) {
        const { node, compiler, builds } = workshop;
        try {
          building = builds.add(nativeSource(node, compiler, lower(compiler.target)));
        } catch (error) {
          // Whatever is wrong here, the program runs on as it did.
          return (code = `it cannot be made: ${(error as Error).message}`);
        }
      } else workshop.builds.advance();
      const { built } = building;
      if (built === null) return null;
      return (code =
        typeof built === 'string' ? built : functionOf(workshop, built, building.source.hasTeam));
    };
    const wait = (): NativeCode | string | null => {
      for (let made = poll(); ; made = poll()) {
        if (made !== null || isNodeLoading()) return made;
        sleep(1);
      }
    };
    return { poll, wait };
  }

  /** Access of native code to memory outside that of WebAssembly, or why there is no native code. */
  memory(): ProcessMemory | string {
    let workshop = this.#opened();
    while (workshop === null && !isNodeLoading()) {
      sleep(1);
      workshop = this.#opened();
    }
    if (workshop === null) return 'Node is still loading';
    if (typeof workshop === 'string') return workshop;
    const { loader } = workshop;
    if (loader.address === undefined) return 'this version of koffi tells no addresses';
    const { address } = loader;
    return {
      pointer: (buffer) => Number(address(new Uint8Array(buffer, 0, 1))),
      bytes: processBytes(),
    };
  }

  /**
   * Has the marks of a program call a function, the same one for all programs.
   * @returns The reason why they cannot; null where they do.
   */
  mark({ file, name }: NativeCode, run: (step: number) => void): string | null {
    const workshop = this.#opened();
    if (workshop === null || typeof workshop === 'string') return 'there is no native code';
    const { loader, libraries } = workshop;
    if (loader.callback === undefined) return 'this version of koffi makes no callbacks';
    this.#marking ??= loader.callback(run);
    libraries.give(file, markSetter(name), this.#marking);
    return null;
  }

  #opened(): Workshop | string | null {
    try {
      return (this.#workshop ??= this.#open());
    } catch (error) {
      return (this.#workshop = `native code has no place to be made in: ${(error as Error).message}`);
    }
  }

  #open(): Workshop | string | null {
    this.#setup ??= this.#prepare();
    if (this.#setup === null || typeof this.#setup === 'string') return this.#setup;
    const { node, loader, cache, search, folder } = this.#setup;
    const compiler = search.poll();
    if (compiler === null) return null;
    node.files.rmSync(folder, { recursive: true, force: true });
    if (typeof compiler === 'string') return compiler;
    const { env = process.env, limitMilliseconds = 120_000, width = 2 } = this.#settings;
    return {
      node,
      compiler,
      builds: new Builds({ node, env, compiler, cache, width, limitMilliseconds }),
      libraries: new Libraries(loader),
      loader,
    };
  }

  #prepare(): Setup | string | null {
    const node = nodeModules();
    if (node === null) return isNodeLoading() ? null : 'there is no Node here';
    const imitation = nodeImitation();
    if (imitation !== null) return `native code is made in Node only, not in ${imitation}`;
    if (process.platform === 'win32')
      return 'compilers are started by /bin/sh, which Windows lacks';
    const { env = process.env, cacheBytes = 2 ** 28 } = this.#settings;
    const loader = (this.#settings.findLoader ?? findLoader)(node);
    if (typeof loader === 'string') return loader;
    const cache = new DiskCache(node, env, cacheBytes);
    // Not in the cache, whose disk may be full.
    const folder = node.files.mkdtempSync(node.path.join(node.system.tmpdir(), 'kaon-'));
    return { node, loader, cache, folder, search: new CompilerSearch(node, env, folder) };
  }
}

function functionOf(
  { libraries }: Workshop,
  built: CachedFunction,
  hasTeam: boolean,
): NativeCode | string {
  try {
    return { ...built, run: libraries.function(built.file, built.name, hasTeam) };
  } catch (error) {
    return `what was compiled cannot be loaded: ${(error as Error).message}`;
  }
}
