import type { HybridizeOptions } from './hybridizeoptions.js';

/** An object whose methods can be captured knowing its parts: their names, and whether they were replaced. */
export interface Capturable {
  /** What graphs captured from its methods depend on. */
  captureOptions(): Pick<HybridizeOptions, 'nameOf' | 'keyOf' | 'partsOf'>;
}

export function isCapturable(value: object): value is Capturable {
  return 'captureOptions' in value && typeof value.captureOptions === 'function';
}
