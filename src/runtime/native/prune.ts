import type { NodeModules } from '../../base/node.js';

/** Age from which leftovers of killed processes are removed. */
const abandonedMilliseconds = 3_600_000;

/** File names of the cache: a folder may contain other files, too. */
const finished = /^[0-9a-f]{64}\.(?:so|json)$/;
const unfinished = /^(?:kaon-build-\w{6}|[0-9a-f]{64}\.json\.[0-9a-f-]{36}\.part)$/;

interface Found {
  readonly file: string;
  readonly bytes: number;
  readonly used: number;
}

/**
 * Removes least recently used files until `most` bytes are left, and leftovers of other processes; `kept`
 * always stays.
 */
export function prune(
  { files, path }: NodeModules,
  folder: string,
  most: number,
  kept: string,
): void {
  const found: Found[] = [];
  let total = 0;
  for (const name of files.readdirSync(folder)) {
    if (!finished.test(name) && !unfinished.test(name)) continue;
    const file = path.join(folder, name);
    // Another process may just have removed it.
    const stats = files.lstatSync(file, { throwIfNoEntry: false });
    if (stats === undefined) continue;
    if (finished.test(name)) {
      found.push({ file, bytes: stats.size, used: stats.mtimeMs });
      total += stats.size;
    } else if (Date.now() - stats.mtimeMs > abandonedMilliseconds) {
      files.rmSync(file, { recursive: true, force: true });
    }
  }
  found.sort((a, b) => a.used - b.used);
  for (const { file, bytes } of found) {
    if (total <= most) break;
    if (file === kept) continue;
    files.rmSync(file, { force: true });
    total -= bytes;
  }
}
