import type * as ChildProcess from 'node:child_process';
import type * as Crypto from 'node:crypto';
import type * as Files from 'node:fs';
import type * as Module from 'node:module';
import type * as System from 'node:os';
import type * as Path from 'node:path';
import type * as Workers from 'node:worker_threads';

/** The modules of Node that are used anywhere but for reading and writing users' files. */
export interface NodeModules {
  readonly childProcess: typeof ChildProcess;
  readonly crypto: typeof Crypto;
  readonly files: typeof Files;
  readonly module: typeof Module;
  readonly system: typeof System;
  readonly path: typeof Path;
  readonly workers: typeof Workers;
}

/** Variables of the process. */
export type Environment = Readonly<Record<string, string | undefined>>;

type Builtin = (name: string) => unknown;

let modules: NodeModules | null = null;
let search: 'not begun' | 'under way' | 'over' = 'not begun';

/**
 * Node's modules, without importing them, since the same code is loaded in browsers. Null where there is
 * no Node; before Node 20.16, which cannot give modules at once, also null until a later turn of the event
 * loop.
 */
export function nodeModules(): NodeModules | null {
  if (modules !== null) return modules;
  if (typeof process === 'undefined' || process.versions?.node === undefined) return null;
  const { getBuiltinModule } = process as { readonly getBuiltinModule?: Builtin };
  if (getBuiltinModule !== undefined) return (modules = collect(getBuiltinModule));
  if (search === 'not begun') void load();
  return null;
}

/** Whether `nodeModules` will have an answer later. */
export function isNodeLoading(): boolean {
  return search === 'under way';
}

async function load(): Promise<void> {
  search = 'under way';
  try {
    modules = await importAll();
  } catch {
    // Something that only calls itself Node: it stays as if there were none.
  } finally {
    search = 'over';
  }
}

function collect(builtin: Builtin): NodeModules {
  return {
    childProcess: builtin('node:child_process') as typeof ChildProcess,
    crypto: builtin('node:crypto') as typeof Crypto,
    files: builtin('node:fs') as typeof Files,
    module: builtin('node:module') as typeof Module,
    system: builtin('node:os') as typeof System,
    path: builtin('node:path') as typeof Path,
    workers: builtin('node:worker_threads') as typeof Workers,
  };
}

/** @internal For Node before 20.16. */
export async function importAll(): Promise<NodeModules> {
  const [childProcess, crypto, files, module, system, path, workers] = await Promise.all([
    import('node:child_process'),
    import('node:crypto'),
    import('node:fs'),
    import('node:module'),
    import('node:os'),
    import('node:path'),
    import('node:worker_threads'),
  ]);
  return { childProcess, crypto, files, module, system, path, workers };
}
