import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { OnnxRuntime } from '../../src/onnxruntime.js';
import { checkout } from '../support/sources.js';

/** The package, on which this one does not depend: of the checkout, or of its runs beside others. */
export const runtime: OnnxRuntime | null = found();

/** Reason to skip tests that need the package; false where it is installed. */
export const skip: string | false =
  runtime === null
    ? 'onnxruntime-node is not installed: npm ci --ignore-scripts --prefix parity'
    : false;

function found(): OnnxRuntime | null {
  for (const folder of ['.', 'parity', 'bench']) {
    const require = createRequire(join(checkout, folder, 'package.json'));
    try {
      return require('onnxruntime-node') as OnnxRuntime;
    } catch (error) {
      if ((error as { readonly code?: string }).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  return null;
}
