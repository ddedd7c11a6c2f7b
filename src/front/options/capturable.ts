import type { HybridizeOptions } from './hybridize-options.js';

/** An object whose methods are captured with knowledge of its parts and their names. */
export interface Capturable {
  /** Names of the reads of graphs captured from its methods. */
  captureOptions(): Pick<HybridizeOptions, 'nameOf' | 'partsOf'>;
}

export function isCapturable(value: object): value is Capturable {
  return 'captureOptions' in value && typeof value.captureOptions === 'function';
}

type Class = abstract new (...args: never[]) => object;

const opaque: Class[] = [];

/** Guards objects of a class by identity instead of by their fields. */
export function guardByIdentity(kind: Class): void {
  opaque.push(kind);
}

/** True when the fields of an object are not guarded. */
export function isGuardedByIdentity(object: object): boolean {
  return opaque.some((kind) => object instanceof kind);
}
