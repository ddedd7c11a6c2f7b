import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import { nonNegative } from '../../base/attributes/options.js';
import { backendNamed, newArrays } from '../../runtime/execution/backends.js';
import { cpu } from '../../runtime/memory/device.js';
import {
  isThreadCount,
  mostThreads,
  type ThreadCount,
  threadCount,
} from '../../runtime/threads/settings.js';
import { defaultTier, setDefaultTier, type Tier, tiers } from '../../runtime/execution/tiers.js';

/** Settings of the whole library. */
export interface Config {
  /** Capture in `staticGraph`. When false its functions run as written. Default true. */
  useStaticGraph: boolean;
  /**
   * Execution tier of operators and graphs that are first used from then on: `auto` starts on WebAssembly and
   * switches to native code when something has run for some time, `wasm` stays there, `native` waits for the
   * C compiler at first use. Default: the environment's `KAON_TIER`, or `auto`.
   */
  tier: Tier;
  /**
   * Number of threads for graphs and operators that are first used from then on; `auto` is one for each core.
   * Results do not depend on it. More than one has to be requested before the first array is computed,
   * because arrays then live in shared memory. Default: the environment's `KAON_THREADS`, or 1.
   */
  threads: ThreadCount;
  /**
   * Bytes of the device's memory that arrays other than parameters and pinned state may keep between runs. Less
   * is kept where a program does not use it again; what has to go is copied to the host. May be set at any
   * time. Default: 1 GiB.
   */
  memoryBudget: number;
  /**
   * Device of new arrays: of `array`, `zeros` and their like, random numbers, and initial values of parameters. Arrays
   * of a dtype that it lacks are made on the CPU. Another one than the CPU has to be set up before (`initDevice`).
   * Default: `cpu`.
   */
  device: string;
}

/** Rule of a setting, and its action when set. */
interface Setting<T> {
  readonly what: string;
  readonly expected: string;
  accepts(value: unknown): boolean;
  get(): T;
  set(value: T): void;
}

let useStaticGraph = true;

const settings: { readonly [K in keyof Config]: Setting<Config[K]> } = {
  useStaticGraph: {
    what: 'a switch',
    expected: 'true or false',
    accepts: (value) => typeof value === 'boolean',
    get: () => useStaticGraph,
    set: (value) => (useStaticGraph = value),
  },
  tier: {
    what: 'a tier',
    expected: tiers.join(', '),
    accepts: (value) => tiers.includes(value as Tier),
    get: defaultTier,
    set: setDefaultTier,
  },
  threads: {
    what: 'a number of threads',
    expected: `a whole number from 1 to ${mostThreads}, or auto`,
    accepts: isThreadCount,
    get: () => cpu.wantedThreads,
    set: (value) => (cpu.wantedThreads = threadCount(value, 'config.threads')),
  },
  memoryBudget: {
    what: 'a number of bytes',
    expected: 'a finite number of at least 0',
    accepts: nonNegative.accepts,
    get: () => cpu.residents.budget,
    set: (value) => (cpu.residents.budget = value),
  },
  device: {
    what: 'the name of a device',
    expected: 'a name',
    accepts: (value) => typeof value === 'string',
    get: () => newArrays.backend?.name ?? 'cpu',
    set: (value) => (newArrays.backend = backendNamed(value, 'config.device')),
  },
};

const names = Object.keys(settings) as (keyof Config)[];

/** Settings of the whole library; may be set at any time. Unknown names and invalid values are refused. */
export const config: Config = new Proxy({} as Config, {
  get: (_, name) => known(name)?.get(),
  has: (_, name) => known(name) !== undefined,
  ownKeys: () => names,
  getOwnPropertyDescriptor: (_, name) => {
    const setting = known(name);
    if (setting === undefined) return undefined;
    return { value: setting.get(), writable: true, enumerable: true, configurable: true };
  },
  set: (_, name, value) => {
    const setting = known(name) as Setting<unknown> | undefined;
    if (setting === undefined) {
      throw new ArgumentError(`there is no setting ${String(name)}`, {
        op: 'config',
        expected: names.join(', '),
        actual: String(name),
      });
    }
    if (!setting.accepts(value)) {
      throw new ArgumentError(`config.${String(name)} is ${setting.what}`, {
        op: 'config',
        expected: setting.expected,
        actual: describe(value),
      });
    }
    setting.set(value);
    return true;
  },
});

function known(name: string | symbol): Setting<Config[keyof Config]> | undefined {
  return Object.hasOwn(settings, name) ? settings[name as keyof Config] : undefined;
}
