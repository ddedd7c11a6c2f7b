import { encodeModule } from './module.js';

let answer: boolean | undefined;

/** True when this engine has memory of 64-bit addresses, tested once by validating a module that imports one. */
export function supportsMemory64(): boolean {
  return (answer ??= WebAssembly.validate(
    encodeModule({ kind: 'module', kernels: [] }, { addresses: 'i64' }),
  ));
}
