import { DeviceError } from '../../base/errors.js';
import { GpuEncoder } from './encoder.js';

/** Package that brings WebGPU to Node. */
interface WebGpuPackage {
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
  // A name that bundlers do not see: the package is optional.
  const name = 'webgpu';
  let loaded: WebGpuPackage;
  try {
    loaded = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as WebGpuPackage;
  } catch (cause) {
    throw new DeviceError('there is no WebGPU', {
      op: 'initDevice',
      expected: 'the package webgpu',
      actual: 'it cannot be loaded',
      advice: 'npm install webgpu',
      cause,
    });
  }
  const gpu = loaded.create([]);
  entries.add(gpu);
  return gpu;
}

/**
 * A GPU of this thread, with the limits of its adapter. Default: the adapter for high performance.
 * @throws DeviceError when there is none.
 */
export async function openGpu(adapter?: GPUAdapter): Promise<GpuEncoder> {
  const gpu = await findGpu();
  const found = adapter ?? (await gpu.requestAdapter({ powerPreference: 'high-performance' }));
  if (found === null) {
    throw new DeviceError('there is no adapter for WebGPU', {
      op: 'initDevice',
      expected: 'a GPU with a driver for Vulkan, Metal or Direct3D 12',
      actual: 'none',
      advice: 'compute on the CPU: config.device = "cpu"',
    });
  }
  try {
    return new GpuEncoder(await found.requestDevice(descriptorFor(found)));
  } catch (cause) {
    if (cause instanceof DeviceError) throw cause;
    const actual = cause instanceof Error ? cause.message : String(cause);
    throw new DeviceError('the GPU could not be opened', { op: 'initDevice', actual, cause });
  }
}

/** Everything that kernels gain by; devices have the least that WebGPU guarantees unless asked. */
function descriptorFor({ limits, features }: GPUAdapter): GPUDeviceDescriptor {
  return {
    requiredFeatures: features.has('shader-f16') ? ['shader-f16'] : [],
    requiredLimits: {
      maxBufferSize: limits.maxBufferSize,
      maxStorageBufferBindingSize: limits.maxStorageBufferBindingSize,
      maxStorageBuffersPerShaderStage: limits.maxStorageBuffersPerShaderStage,
      maxComputeWorkgroupStorageSize: limits.maxComputeWorkgroupStorageSize,
      maxComputeInvocationsPerWorkgroup: limits.maxComputeInvocationsPerWorkgroup,
      maxComputeWorkgroupSizeX: limits.maxComputeWorkgroupSizeX,
    },
  };
}
