import type { Environment, NodeModules } from '../../base/node.js';

/** A folder that only this user can write to. */
export interface CacheFolder {
  readonly path: string;
  /** True when it is removed with this process. */
  readonly isTemporary: boolean;
  /** Problem of the preferred location; null for none. */
  readonly note: string | null;
}

/** Folder of compiled programs: `KAON_CACHE`, or this system's cache location. */
export function cachePath({ path, system }: NodeModules, env: Environment): string {
  const wanted = env['KAON_CACHE'];
  if (wanted !== undefined && wanted !== '') return path.resolve(wanted);
  const home = system.homedir();
  const place =
    process.platform === 'darwin'
      ? path.join(home, 'Library', 'Caches')
      : env['XDG_CACHE_HOME'] || path.join(home, '.cache');
  return path.join(place, 'kaon');
}

/**
 * The cache folder, created when missing. Code from it is executed, so a folder that others own or can write
 * to is not used; then, and when it is not writable, a new temporary folder replaces it.
 * @throws Error of the system when not even that is possible.
 */
export function openFolder(node: NodeModules, env: Environment): CacheFolder {
  const wanted = cachePath(node, env);
  const note = problemWith(node, wanted);
  return note === null ? { path: wanted, isTemporary: false, note } : temporaryFolder(node, note);
}

/** Writes a file of the cache, which other processes may read at any time: they find all of it, or what was there. */
export function writeWhole({ files, crypto }: NodeModules, file: string, text: string): void {
  const part = `${file}.${crypto.randomUUID()}.part`;
  try {
    files.writeFileSync(part, text, { mode: 0o600, flag: 'wx' });
    files.renameSync(part, file);
  } catch (error) {
    files.rmSync(part, { force: true });
    throw error;
  }
}

/** A folder that is removed with this process. */
export function temporaryFolder({ files, path, system }: NodeModules, note: string): CacheFolder {
  const made = files.mkdtempSync(path.join(system.tmpdir(), 'kaon-'));
  process.on('exit', () => files.rmSync(made, { recursive: true, force: true }));
  return { path: made, isTemporary: true, note };
}

function problemWith({ files, path }: NodeModules, folder: string): string | null {
  try {
    files.mkdirSync(path.dirname(folder), { recursive: true });
    files.mkdirSync(folder, { recursive: true, mode: 0o700 });
    const found = files.statSync(folder);
    if (found.uid !== process.getuid?.())
      return `the cache folder ${folder} belongs to another user`;
    if ((found.mode & 0o022) !== 0) return `others may write to the cache folder ${folder}`;
    files.accessSync(folder, files.constants.W_OK);
    return null;
  } catch (error) {
    return `the cache folder cannot be used: ${(error as Error).message}`;
  }
}
