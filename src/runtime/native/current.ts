import { NativeTier } from './tier.js';

let native: NativeTier | null = null;

/** What makes native code for this process. */
export function nativeTier(): NativeTier {
  return (native ??= new NativeTier());
}

/** Replaces what makes native code, null by what the process has by itself. Returns what was in place. */
export function installNativeTier(next: NativeTier | null): NativeTier | null {
  const previous = native;
  native = next;
  return previous;
}
