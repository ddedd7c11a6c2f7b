import { encodeModule } from './module.js';

const answers = new Map<boolean, boolean>();

/**
 * True when this engine has memory of 64-bit addresses, which threads can share if `shared`. Tested once by validating
 * a module that imports one.
 */
export function supportsMemory64({ shared = false }: { readonly shared?: boolean } = {}): boolean {
  let answer = answers.get(shared);
  if (answer === undefined) {
    const module = encodeModule({ kind: 'module', kernels: [] }, { addresses: 'i64', shared });
    answers.set(shared, (answer = WebAssembly.validate(module)));
  }
  return answer;
}
