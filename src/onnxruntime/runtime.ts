import { UnsupportedError } from '../base/errors.js';

/** Tensor of onnxruntime. */
export interface OnnxRuntimeTensor {
  readonly type: string;
  readonly dims: readonly number[];
  readonly data: unknown;
}

/** Compiled model of onnxruntime. */
export interface OnnxRuntimeSession {
  run(
    feeds: Readonly<Record<string, OnnxRuntimeTensor>>,
  ): Promise<Readonly<Record<string, OnnxRuntimeTensor>>>;
}

/** The part of onnxruntime that is used: `onnxruntime-node`, `onnxruntime-web` and their like have it. */
export interface OnnxRuntime {
  readonly InferenceSession: {
    create(
      model: Uint8Array,
      options?: Readonly<Record<string, unknown>>,
    ): Promise<OnnxRuntimeSession>;
  };
  readonly Tensor: new (type: string, data: unknown, dims: readonly number[]) => OnnxRuntimeTensor;
}

/**
 * The runtime of this platform.
 * @throws UnsupportedError that names the package when it is not installed.
 */
export async function platformRuntime(): Promise<OnnxRuntime> {
  const isNode = typeof process === 'object' && process.versions?.node !== undefined;
  const name = isNode ? 'onnxruntime-node' : 'onnxruntime-web';
  let loaded: unknown;
  try {
    // By a variable, so that no bundler looks for the package of the other platform.
    loaded = isNode
      ? await import(/* @vite-ignore */ /* webpackIgnore: true */ name)
      : // @ts-expect-error: an optional peer dependency, which is not installed here
        await import('onnxruntime-web');
  } catch (cause) {
    throw new UnsupportedError(`the backend onnxruntime needs the package ${name}`, {
      op: 'onnxruntime',
      expected: `${name} 1.17 or later`,
      advice: `npm install ${name}`,
      cause,
    });
  }
  return runtimeIn(loaded);
}

/** A module of onnxruntime, whose names may lie in its default export. */
export function runtimeIn(loaded: unknown): OnnxRuntime {
  const modules = [loaded, (loaded as { readonly default?: unknown } | null)?.default];
  const found = modules.find(isRuntime);
  if (found !== undefined) return found;
  throw new UnsupportedError('this is no module of onnxruntime', {
    op: 'onnxruntime',
    expected: 'InferenceSession and Tensor, as onnxruntime-node and onnxruntime-web export them',
    actual: typeof loaded === 'object' && loaded !== null ? Object.keys(loaded).join(', ') : typeof loaded, // prettier-ignore
  });
}

function isRuntime(value: unknown): value is OnnxRuntime {
  if (typeof value !== 'object' || value === null) return false;
  const { InferenceSession: session, Tensor: tensor } = value as Partial<OnnxRuntime>;
  return typeof session?.create === 'function' && typeof tensor === 'function';
}
