import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installNativeTier } from '../../../src/runtime/native/current.js';
import { type NativeSettings, NativeTier } from '../../../src/runtime/native/tier.js';

function hasLoader(): boolean {
  try {
    createRequire(import.meta.url).resolve('koffi');
    return true;
  } catch {
    return false;
  }
}

const hasCompiler = ['cc', 'clang', 'gcc'].some(
  (name) => spawnSync(name, ['--version']).status === 0,
);

/**
 * Whether this machine can make native code. Where it cannot, tests check that programs do the same on
 * wasm, and that the reports say why.
 */
export const canCompile: boolean = hasCompiler && hasLoader() && process.platform !== 'win32';

/** The tier that programs reach here, for names of tests. */
export const reached: 'native' | 'wasm' = canCompile ? 'native' : 'wasm';

/** A new folder, which goes when the work in it is done. */
export function inFolder<R>(work: (folder: string) => R): R {
  const folder = mkdtempSync(join(tmpdir(), 'kaon-test-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  let result: R;
  try {
    result = work(folder);
  } catch (error) {
    remove();
    throw error;
  }
  if (!(result instanceof Promise)) {
    remove();
    return result;
  }
  return result.finally(remove) as R;
}

/** Makes native code in a way of its own while something runs, with a cache that is empty at first. */
export function withTier<R>(
  settings: NativeSettings,
  work: (tier: NativeTier, cache: string) => R,
): R {
  return inFolder((folder) => {
    const cache = settings.env?.['KAON_CACHE'] ?? join(folder, 'cache');
    const tier = new NativeTier({
      ...settings,
      env: { ...(settings.env ?? process.env), KAON_CACHE: cache },
    });
    const previous = installNativeTier(tier);
    const restore = (): void => void installNativeTier(previous);
    let result: R;
    try {
      result = work(tier, cache);
    } catch (error) {
      restore();
      throw error;
    }
    if (!(result instanceof Promise)) {
      restore();
      return result;
    }
    return result.finally(restore) as R;
  });
}
