import {
  callable,
  checkOptions as check,
  eitherRule,
  integerFrom,
  oneOfValues,
  type OptionRules,
  valueRule,
  textRule,
} from '../../base/attributes/options.js';
import type { SavePolicy } from '../../passes/gradient/rematerialize.js';
import { engineNamed } from '../../runtime/engine/engine.js';
import { type Tier, tiers } from '../../runtime/execution/tiers.js';
import type { DynamicAxes } from './dynamic.js';
import type { NDArray } from '../core/ndarray.js';
import type { VerifyPolicy } from './verify-schedule.js';

export interface HybridizeOptions {
  /** False leaves the function uncaptured. Default true. */
  readonly active?: boolean;
  /**
   * Verification: later calls are retraced and compared, so that no change is silently frozen: the calls 2,
   * 4, 8, 16 and so on of each trace (`backoff`, the default), only the second, every one, or none. The
   * fields of blocks are guarded on each call regardless.
   */
  readonly verify?: VerifyPolicy;
  /**
   * Axes that stay symbolic from the first trace on: names by array and axis, null for the others.
   * `[['batch', null], null]` says that the first axis of the first array may have any size, and nothing
   * about the second. Unnamed sizes become symbols when they keep changing.
   */
  readonly dynamic?: DynamicAxes | null;
  /** Policy for values saved for a backward pass; others are recomputed. Default `all`. */
  readonly save?: SavePolicy;
  /**
   * Execution tier of the graphs. `wasm` stays WebAssembly; `native` waits for the C compiler at the first
   * run; `auto` switches to native code when a graph has run for some time and that has been compiled
   * meanwhile. Where there is no native code graphs run on WebAssembly, and `explain` says why. Default:
   * `config.tier`.
   */
  readonly tier?: Tier;
  /**
   * Refuse calls that the device of the arrays lacks, with a `DeviceError` that names them and their lines, rather
   * than run them on the CPU. Default false.
   */
  readonly strict?: boolean;
  /**
   * Name of an external engine (`registerBackend`), which runs the sub-graphs that it supports; all else runs here.
   * Default: none.
   */
  readonly backend?: string;
  /**
   * Run here what the backend supports but then fails to compile, rather than throw a `DeviceError`; `explain` says
   * why. Default false.
   */
  readonly fallback?: boolean;
  /**
   * Limit of traces: a call that would need one more is a `TraceError` that names the failing guard, and
   * nothing of it is computed. Default: none.
   */
  readonly maxTraces?: number;
  /** Name of the function in `explain`. */
  readonly name?: string;
  /** @internal Names of outer arrays, for graphs and messages. */
  readonly nameOf?: (array: NDArray) => string | undefined;
  /** @internal The parts of the object whose method is captured, by path, to report changes. */
  readonly partsOf?: () => ReadonlyMap<string, string>;
}

const rules: OptionRules<HybridizeOptions> = {
  active: oneOfValues(true, false),
  verify: oneOfValues('backoff', 'off', 'second', 'always'),
  dynamic: valueRule(
    'a list with an entry for each array, or null',
    (value): value is unknown => value === null || Array.isArray(value),
  ),
  save: eitherRule(
    oneOfValues('all', 'none', 'auto'),
    valueRule('a number of bytes', nonNegativeNumber),
  ),
  tier: oneOfValues(...tiers),
  strict: oneOfValues(true, false),
  backend: textRule,
  fallback: oneOfValues(true, false),
  maxTraces: integerFrom(1),
  name: textRule,
  nameOf: callable,
  partsOf: callable,
};

function nonNegativeNumber(value: unknown): value is number {
  return typeof value === 'number' && value >= 0;
}

/** @throws ArgumentError for unknown options and invalid values. */
export function checkHybridizeOptions(options: HybridizeOptions): void {
  check('hybridize', options, rules, ['nameOf', 'partsOf']);
  if (options.backend !== undefined) engineNamed(options.backend, 'hybridize');
}
