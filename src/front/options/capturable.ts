import type { HybridizeOptions } from './hybridize-options.js';

/** An object whose methods can be captured knowing its parts and their names. */
export interface Capturable {
  /** How graphs captured from its methods name what they read. */
  captureOptions(): Pick<HybridizeOptions, 'nameOf' | 'partsOf'>;
}

export function isCapturable(value: object): value is Capturable {
  return 'captureOptions' in value && typeof value.captureOptions === 'function';
}

type Class = abstract new (...args: never[]) => object;

const opaque: Class[] = [];

/** Lets captured code depend on which object of a class it works with, not on the fields of that object. */
export function guardByIdentity(kind: Class): void {
  opaque.push(kind);
}

/** Whether the fields of an object are nothing to captured code. */
export function isGuardedByIdentity(object: object): boolean {
  return opaque.some((kind) => object instanceof kind);
}
