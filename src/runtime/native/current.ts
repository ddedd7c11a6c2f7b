import { NativeTier } from './tier.js';

let native: NativeTier | null = null;

/** The native tier of this process. */
export function nativeTier(): NativeTier {
  return (native ??= new NativeTier());
}

/** Replaces the native tier; null restores the default one. Returns the previous one. */
export function installNativeTier(next: NativeTier | null): NativeTier | null {
  const previous = native;
  native = next;
  return previous;
}
