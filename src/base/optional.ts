import { UnsupportedError } from './errors.js';

/*
 * Packages that users install where they need them. The functions that need one answer at once, so entry points load
 * it before: ES modules wait for it, those of CommonJS, which cannot wait, `require` it.
 */

const packages = new Map<string, { readonly content: unknown } | { readonly failure: unknown }>();

/** Imports a package, unless it is there; that it is missing is an error only for those who need it. */
export async function importOptional(name: string, load: () => Promise<unknown>): Promise<void> {
  if (packages.has(name)) return;
  try {
    packages.set(name, { content: await load() });
  } catch (failure) {
    packages.set(name, { failure });
  }
}

/** Requires a package, unless it is there, as `importOptional` imports it. */
export function requireOptional(name: string, load: () => unknown): void {
  if (packages.has(name)) return;
  try {
    packages.set(name, { content: load() });
  } catch (failure) {
    packages.set(name, { failure });
  }
}

/**
 * A package that has been loaded, for the function that needs it.
 * @throws UnsupportedError where it is not installed.
 */
export function optionalPackage<T>(name: string, op: string, flags = ''): T {
  const found = packages.get(name);
  if (found !== undefined && 'content' in found) return found.content as T;
  throw new UnsupportedError(`the package ${name} is not installed`, {
    op,
    advice: `install it beside kaon: npm install ${flags}${name}`,
    cause: found?.failure,
  });
}
