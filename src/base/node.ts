import type * as ChildProcess from 'node:child_process';
import type * as Crypto from 'node:crypto';
import type * as Files from 'node:fs';
import type * as AsyncFiles from 'node:fs/promises';
import type * as Module from 'node:module';
import type * as System from 'node:os';
import type * as Path from 'node:path';
import type * as Address from 'node:url';
import type * as Workers from 'node:worker_threads';

/** The Node modules that Kaon uses. */
export interface NodeModules {
  readonly childProcess: typeof ChildProcess;
  readonly crypto: typeof Crypto;
  readonly files: typeof Files;
  readonly asyncFiles: typeof AsyncFiles;
  readonly module: typeof Module;
  readonly system: typeof System;
  readonly path: typeof Path;
  readonly address: typeof Address;
  readonly workers: typeof Workers;
}

/** Variables of the process. */
export type Environment = Readonly<Record<string, string | undefined>>;

type Builtin = (name: string) => unknown;

/**
 * An environment variable; undefined where there is none, or where the runtime does not let this program see
 * its environment (Deno without `--allow-env`).
 */
export function environmentVariable(name: string): string | undefined {
  const { process } = globalThis as { readonly process?: { readonly env?: Environment } };
  try {
    return process?.env?.[name];
  } catch (error) {
    if (/^(NotCapable|PermissionDenied)$/.test((error as Error).name)) return undefined;
    throw error;
  }
}

/** The name of a Node-compatible runtime; null in Node itself and elsewhere. */
export function nodeImitation(): 'Bun' | 'Deno' | null {
  if ('Bun' in globalThis) return 'Bun';
  return 'Deno' in globalThis ? 'Deno' : null;
}

/** Bytes of memory that this process may have; infinite where nobody says. */
export function processBytes(): number {
  const node = nodeModules();
  if (node === null) return Infinity;
  const limit = process.constrainedMemory?.() ?? 0;
  const total = node.system.totalmem();
  return limit > 0 ? Math.min(limit, total) : total;
}

let modules: NodeModules | null = null;
/** The pending import of Node's modules where they cannot be had synchronously; null before it starts. */
let loading: Promise<void> | null = null;
let isLoading = false;

/**
 * Node's modules, without importing them, since the same code is loaded in browsers. Null where there is no
 * Node; before Node 20.16, which has no synchronous access to modules, also null until a later turn of the
 * event loop.
 */
export function nodeModules(): NodeModules | null {
  if (modules !== null) return modules;
  if (typeof process === 'undefined' || process.versions?.node === undefined) return null;
  const { getBuiltinModule } = process as { readonly getBuiltinModule?: Builtin };
  if (getBuiltinModule !== undefined) return (modules = collect(getBuiltinModule));
  loading ??= load();
  return null;
}

/** Node's modules, for callers that can wait; null where there is no Node. */
export async function loadNodeModules(): Promise<NodeModules | null> {
  if (nodeModules() === null) await loading;
  return modules;
}

/** True while the import of Node's modules is pending. */
export function isNodeLoading(): boolean {
  return isLoading;
}

async function load(): Promise<void> {
  isLoading = true;
  try {
    modules = await importAll();
  } catch {
    // A runtime that claims to be Node without its modules is treated as no Node.
  } finally {
    isLoading = false;
  }
}

function collect(builtin: Builtin): NodeModules {
  return {
    childProcess: builtin('node:child_process') as typeof ChildProcess,
    crypto: builtin('node:crypto') as typeof Crypto,
    files: builtin('node:fs') as typeof Files,
    asyncFiles: builtin('node:fs/promises') as typeof AsyncFiles,
    module: builtin('node:module') as typeof Module,
    system: builtin('node:os') as typeof System,
    path: builtin('node:path') as typeof Path,
    address: builtin('node:url') as typeof Address,
    workers: builtin('node:worker_threads') as typeof Workers,
  };
}

/** @internal Fallback before Node 20.16. */
export async function importAll(): Promise<NodeModules> {
  // Bundlers for browsers would resolve module names written as literals in the import.
  const names = ['node:child_process', 'node:crypto', 'node:fs', 'node:fs/promises', 'node:module', 'node:os', 'node:path', 'node:url', 'node:worker_threads']; // prettier-ignore
  const byName = new Map<string, unknown>();
  for (const name of names) byName.set(name, await import(/* @vite-ignore */ /* webpackIgnore: true */ name)); // prettier-ignore
  return collect((name) => byName.get(name));
}
