import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { OnnxRuntime } from '../../src/onnxruntime.js';
import { checkout } from '../support/sources.js';

/** A package of onnxruntime, on which this one does not depend: of the checkout, or of its runs beside others. */
export interface InstalledRuntime {
  readonly name: 'onnxruntime-node' | 'onnxruntime-web';
  /** The module; null where it is not installed. */
  readonly runtime: OnnxRuntime | null;
  /** Reason to skip tests that need the package; false where it is installed. */
  readonly skip: string | false;
}

/** Both packages. That of browsers runs in Node as well, as WebAssembly. */
export const runtimes: readonly InstalledRuntime[] = (
  ['onnxruntime-node', 'onnxruntime-web'] as const
).map((name) => {
  const runtime = found(name);
  const skip =
    runtime === null && `${name} is not installed: npm ci --ignore-scripts --prefix parity`;
  return { name, runtime, skip };
});

function found(name: string): OnnxRuntime | null {
  for (const folder of ['.', 'parity', 'bench']) {
    const require = createRequire(join(checkout, folder, 'package.json'));
    try {
      return require(name) as OnnxRuntime;
    } catch (error) {
      if ((error as { readonly code?: string }).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  return null;
}
