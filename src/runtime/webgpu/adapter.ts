import { DeviceError } from '../../base/errors.js';
import { nodeModules } from '../../base/node.js';
import type { GpuProperties } from './commands.js';
import { GpuEncoder } from './encoder.js';
import { errorOfFailure } from './failure.js';

/** Name of the package that brings WebGPU to Node. It is optional, so bundlers must not see it. */
const packageName: string = 'webgpu';

/** Options of the package: timestamps as the GPU has them, not rounded to 65.536 us as for pages that are not trusted. */
const packageOptions: readonly string[] = ['disable-dawn-features=timestamp_quantization'];

/** Package that brings WebGPU to Node. */
export interface WebGpuPackage {
  create(options: readonly string[]): GPU;
}

/**
 * Entry points of WebGPU in use. Node aborts once the object from `create` has been collected, whatever else is still
 * in use.
 */
const entries: Set<GPU> = new Set();

/**
 * Entry point of WebGPU: the engine's own, or that of the package `webgpu`.
 * @throws DeviceError that names what is missing.
 */
async function findGpu(): Promise<GPU> {
  const own = (globalThis.navigator as { readonly gpu?: GPU } | undefined)?.gpu;
  if (own !== undefined) return own;
  const [known] = entries;
  if (known !== undefined) return known;
  if ((globalThis as { readonly process?: object }).process === undefined) {
    throw new DeviceError('there is no WebGPU', {
      op: 'initDevice',
      expected: 'navigator.gpu',
      actual: 'a browser without it, or a page that is not served by HTTPS or from localhost',
      advice: 'compute on the CPU: config.device = "cpu"',
    });
  }
  let loaded: WebGpuPackage;
  try {
    loaded = (await import(/* @vite-ignore */ /* webpackIgnore: true */ packageName)) as WebGpuPackage; // prettier-ignore
  } catch (cause) {
    throw noPackage(cause);
  }
  const gpu = loaded.create(packageOptions);
  entries.add(gpu);
  return gpu;
}

/** Address and options by which a thread of Node loads WebGPU. */
export interface PackageStart {
  readonly address: string;
  readonly options: readonly string[];
}

/**
 * The package that brings WebGPU to the threads of Node; null where engines have WebGPU.
 * @throws DeviceError when it is not installed.
 */
export function packageStart(): PackageStart | null {
  const node = nodeModules();
  if (node === null || 'gpu' in (globalThis.navigator ?? {})) return null;
  try {
    const file = node.module.createRequire(import.meta.url).resolve(packageName);
    return { address: node.address.pathToFileURL(file).href, options: packageOptions };
  } catch (cause) {
    throw noPackage(cause);
  }
}

function noPackage(cause: unknown): DeviceError {
  return new DeviceError('there is no WebGPU', {
    op: 'initDevice',
    expected: 'the package webgpu',
    actual: 'it cannot be loaded',
    advice: 'npm install webgpu',
    cause,
  });
}

/**
 * A GPU of this thread, with the limits of its adapter. Default: the adapter for high performance.
 * @throws DeviceError when there is none.
 */
export async function openGpu(adapter?: GPUAdapter): Promise<GpuEncoder> {
  const device = await opened(openDevice(await findGpu(), adapter));
  return new GpuEncoder(device, propertiesOf(device), errorOfFailure);
}

/**
 * A device that is being opened.
 * @throws DeviceError when there is none.
 */
export async function opened<T>(device: Promise<T | null>): Promise<T> {
  let found: T | null;
  try {
    found = await device;
  } catch (cause) {
    const actual = cause instanceof Error ? cause.message : String(cause);
    throw new DeviceError('the GPU could not be opened', { op: 'initDevice', actual, cause });
  }
  if (found !== null) return found;
  throw new DeviceError('there is no adapter for WebGPU', {
    op: 'initDevice',
    expected: 'a GPU with a driver for Vulkan, Metal or Direct3D 12',
    actual: 'none',
    advice: 'compute on the CPU: config.device = "cpu"',
  });
}

/**
 * A device with everything that kernels gain by: unless asked, devices have the least that WebGPU guarantees. Null
 * where there is no adapter. Workers get the function as text, so it uses nothing of this file but types.
 */
export async function openDevice(gpu: GPU, given?: GPUAdapter): Promise<GPUDevice | null> {
  const adapter = given ?? (await gpu.requestAdapter({ powerPreference: 'high-performance' }));
  if (adapter === null) return null;
  const { limits, features } = adapter;
  return adapter.requestDevice({
    requiredFeatures: features.has('timestamp-query') ? ['timestamp-query'] : [],
    requiredLimits: {
      maxBufferSize: limits.maxBufferSize,
      maxStorageBufferBindingSize: limits.maxStorageBufferBindingSize,
      maxStorageBuffersPerShaderStage: limits.maxStorageBuffersPerShaderStage,
      maxComputeWorkgroupStorageSize: limits.maxComputeWorkgroupStorageSize,
      maxComputeInvocationsPerWorkgroup: limits.maxComputeInvocationsPerWorkgroup,
      maxComputeWorkgroupSizeX: limits.maxComputeWorkgroupSizeX,
    },
  });
}

/** Properties of a device. Workers get the function as text, so it uses nothing of this file but types. */
export function propertiesOf({ limits, adapterInfo }: GPUDevice): GpuProperties {
  const bytes = Math.min(limits.maxStorageBufferBindingSize, limits.maxBufferSize);
  // Older engines tell nothing of the adapter.
  const { vendor, architecture, device, description } = adapterInfo ?? {};
  const names = [vendor, architecture, device, description].filter((name) => name);
  return {
    adapter: names.join(' ') || 'unknown',
    bufferBytes: Math.floor(bytes / 256) * 256,
    features: {
      maxWorkgroupInvocations: Math.min(
        limits.maxComputeInvocationsPerWorkgroup,
        limits.maxComputeWorkgroupSizeX,
      ),
      maxWorkgroupsPerDimension: limits.maxComputeWorkgroupsPerDimension,
      maxStorageBuffers: limits.maxStorageBuffersPerShaderStage,
    },
  };
}
