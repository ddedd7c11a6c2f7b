import { type CacheFolder, openFolder, temporaryFolder, writeWhole } from './folder.js';
import type { Environment, NodeModules } from '../../base/node.js';
import { prune } from './prune.js';

/** One function in a library on disk. */
export interface CachedFunction {
  readonly file: string;
  readonly name: string;
}

/** Contents of an entry file: the program with this key is in the library with this digest. */
interface Entry {
  readonly library: string;
}

const digestForm = /^[0-9a-f]{64}$/;

/** File extension of libraries in the cache. */
const libraryEnding = '.so';
const entryEnding = '.json';

/** The function name of a program. */
export function functionName(key: string): string {
  return `kaon_${key}`;
}

/**
 * Cache of compiled programs on disk. A library is named by the digest of its content, which is checked
 * before it is loaded, and never changes; an entry file for each program names its library. Files are renamed
 * into place as a whole, so any number of processes may share a folder.
 */
export class DiskCache {
  readonly #node: NodeModules;
  #folder: CacheFolder;
  readonly #most: number;
  readonly #checked: Set<string> = new Set();

  /**
   * @param most Size limit in bytes.
   * @throws Error of the system when no folder at all can be written.
   */
  constructor(node: NodeModules, env: Environment, most: number) {
    this.#node = node;
    this.#most = most;
    this.#folder = openFolder(node, env);
  }

  /** Problem of the folder; null for none. */
  get note(): string | null {
    return this.#folder.note;
  }

  get isTemporary(): boolean {
    return this.#folder.isTemporary;
  }

  /** Switches to a temporary folder. */
  leaveFolder(why: string): void {
    this.#folder = temporaryFolder(this.#node, why);
    this.#checked.clear();
  }

  /** A new folder to build in, on the same disk. */
  buildFolder(): string {
    return this.#node.files.mkdtempSync(this.#path('kaon-build-'));
  }

  /** The function of a program; null when there is none with valid content. */
  find(key: string): CachedFunction | null {
    const { files } = this.#node;
    const entryFile = this.#path(key + entryEnding);
    const library = this.#libraryOf(entryFile);
    if (library === null) return null;
    const file = this.#path(library + libraryEnding);
    if (!this.#checked.has(library)) {
      if (this.#digestOf(file) !== library) {
        files.rmSync(file, { force: true });
        files.rmSync(entryFile, { force: true });
        return null;
      }
      this.#checked.add(library);
    }
    this.#touch(file);
    this.#touch(entryFile);
    return { file, name: functionName(key) };
  }

  /** Adds a library that was built in `buildFolder`, with the programs of these keys. */
  add(built: string, keys: readonly string[]): void {
    const { files } = this.#node;
    const library = this.#digestOf(built)!;
    const file = this.#path(library + libraryEnding);
    files.chmodSync(built, 0o600);
    files.renameSync(built, file);
    for (const key of keys) {
      const entry: Entry = { library };
      writeWhole(this.#node, this.#path(key + entryEnding), JSON.stringify(entry));
    }
    this.#checked.add(library);
    prune(this.#node, this.#folder.path, this.#most, file);
  }

  #path(name: string): string {
    return this.#node.path.join(this.#folder.path, name);
  }

  #libraryOf(entryFile: string): string | null {
    const { files } = this.#node;
    let text: string;
    try {
      text = files.readFileSync(entryFile, 'utf8');
    } catch {
      return null; // there is none, or none that can be read: it is made again
    }
    try {
      const { library } = JSON.parse(text) as Partial<Entry>;
      if (typeof library === 'string' && digestForm.test(library)) return library;
    } catch {
      // Invalid content.
    }
    files.rmSync(entryFile, { force: true });
    return null;
  }

  /** Null when the file is missing or belongs to another user. */
  #digestOf(file: string): string | null {
    const { files, crypto } = this.#node;
    try {
      const found = files.lstatSync(file);
      if (!found.isFile() || found.uid !== process.getuid?.()) return null;
      return crypto.createHash('sha256').update(files.readFileSync(file)).digest('hex');
    } catch {
      return null;
    }
  }

  /** Records a use, for least recently used eviction. */
  #touch(file: string): void {
    const now = new Date();
    try {
      this.#node.files.utimesSync(file, now, now);
    } catch {
      // The folder may have become read-only; its contents are still valid.
    }
  }
}
