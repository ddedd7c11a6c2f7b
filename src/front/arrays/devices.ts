import {
  checkOptions,
  eitherRule,
  nonNegative,
  oneOfValues,
  type OptionRules,
  valueRule,
} from '../../base/attributes/options.js';
import { type DType, dtypes } from '../../base/dtype.js';
import { provideDevice, setUpDevice } from '../../runtime/device/register.js';
import { backendNamed, measuredKernels } from '../../runtime/execution/backends.js';
import { type DeviceTuning, isDeviceTuning } from '../../runtime/execution/device-tuning.js';
import { cpu } from '../../runtime/memory/device.js';
import { config } from './config.js';

/** Options of a device. */
export interface InitDeviceOptions {
  /** The most bytes of its memory that arrays may take. Default: the device's own limit. */
  readonly memoryBudget?: number;
  /** Run it in a worker, so that its elements can be read at once. Default false. */
  readonly worker?: boolean;
  /** Adapter, where there are several: what the device takes for one. */
  readonly adapter?: unknown;
  /**
   * Choice among kernels that compute the same, of which each GPU has another fastest one. `background`: what has been
   * measured on this adapter, by earlier processes too; what has not is measured while the GPU is at rest, for plans that
   * are made later. A record of `deviceTuning`: these choices, and nothing is measured, so that equal programs give
   * equal bits in every process. Default `off`: choices that follow from sizes alone.
   */
  readonly tuning?: 'off' | 'background' | DeviceTuning;
}

const optionRules: OptionRules<InitDeviceOptions> = {
  memoryBudget: nonNegative,
  worker: oneOfValues(true, false),
  adapter: valueRule('a GPUAdapter, as navigator.gpu.requestAdapter() gives it', isAdapter),
  tuning: eitherRule(
    oneOfValues('off', 'background'),
    valueRule('a record of deviceTuning()', isDeviceTuning),
  ),
};

function isAdapter(value: unknown): value is unknown {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['requestDevice', 'limits', 'features'].every((name) => name in value)
  );
}

/** Values of options that are not given. */
const usualOptions: InitDeviceOptions = { worker: false, tuning: 'off' };

/**
 * Sets up a device, so that arrays can live on it: `x.to(name)`, `config.device = name`. Once it is set up it stays
 * as it is: to call it again without options is to wait until a device that was lost is there again.
 *
 * @throws DeviceError when the device is not there; ArgumentError for a name that no device has, and for options
 * other than those with which the device was set up.
 */
export async function initDevice(name: string, options: InitDeviceOptions = {}): Promise<void> {
  checkOptions<InitDeviceOptions>('initDevice', options, optionRules);
  // Loaded here and nowhere else, so that programs without it can be bundled without it.
  provideDevice('webgpu', async (given) => {
    const { setUpWebGpu } = await import('../../runtime/webgpu/setup.js');
    return setUpWebGpu(given);
  });
  await setUpDevice(name, { ...options }, { ...usualOptions });
}

/** A device in use. */
export interface DeviceInfo {
  readonly name: string;
  /** Bytes of its memory that arrays and what programs keep take. */
  readonly bytesInUse: number;
  /** Bytes of arrays that have moved to the host to make room; they come back when they are used. */
  readonly bytesSpilled: number;
  /** The most bytes that one array may have. */
  readonly largestArray: number;
  readonly dtypes: readonly DType[];
  /** True if elements can be read without waiting. */
  readonly answersAtOnce: boolean;
}

/**
 * Description of a device, with the memory that it has in use. Default: the device of new arrays,
 * `config.device`. Memory of the CPU is that of programs; arrays of the collector's are not counted.
 *
 * @throws ArgumentError for a device that is not set up.
 */
export function deviceInfo(name: string = config.device): DeviceInfo {
  const backend = backendNamed(name, 'deviceInfo');
  if (backend === null) {
    const { bytesInUse, mostBytes } = cpu;
    return { name, bytesInUse, bytesSpilled: 0, largestArray: mostBytes, dtypes, answersAtOnce: true }; // prettier-ignore
  }
  const { bytesInUse, bytesSpilled = 0, limits, answersAtOnce } = backend;
  const held = dtypes.filter((dtype) => limits.dtypes.has(dtype));
  const largestArray = Math.min(limits.bufferBytes, limits.budget ?? Infinity);
  return { name, bytesInUse, bytesSpilled, largestArray, dtypes: held, answersAtOnce };
}

/**
 * Fastest kernels of a device by adapter, as far as programs have asked for them: what is still to be measured is
 * measured first. Plain data, to be given to `initDevice`. Default: the device of new arrays, `config.device`.
 *
 * @throws ArgumentError for a device that is not set up; DeviceError for one that measures no kernels, and while a
 * profile is recorded.
 */
export function deviceTuning(name: string = config.device): Promise<DeviceTuning> {
  return measuredKernels(name, 'deviceTuning');
}
