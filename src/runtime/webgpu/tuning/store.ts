import { environmentVariable, loadNodeModules, type NodeModules } from '../../../base/node.js';
import { type DeviceTuning, isDeviceTuning } from '../../execution/device-tuning.js';
import { cachePath, writeWhole } from '../../native/folder.js';

/** Text that outlives the process. */
export interface TextStore {
  /** Null where nothing has been written. */
  read(): string | null;
  write(text: string): void;
}

/** Name of what is stored. */
const name = 'kaon-tuning';

/** The store of this platform: a file in the cache folder of the user, or what pages keep; null where there is none. */
export async function platformStore(): Promise<TextStore | null> {
  const node = await loadNodeModules();
  return node === null ? pageStore(globalThis) : fileStore(node);
}

/** The store of a page; null where there is none. A browser that may not store anything throws when it is asked. */
export function pageStore(page: object): TextStore | null {
  if (!('localStorage' in page)) return null; // as in workers
  const own = page as { readonly localStorage: Storage };
  return {
    read: () => own.localStorage.getItem(name),
    write: (text) => own.localStorage.setItem(name, text),
  };
}

function fileStore(node: NodeModules): TextStore {
  const { files, path } = node;
  const names = ['KAON_CACHE', 'XDG_CACHE_HOME'];
  const environment = Object.fromEntries(names.map((each) => [each, environmentVariable(each)]));
  const file = (): string => path.join(cachePath(node, environment), `${name}.json`);
  return {
    read: () => (files.existsSync(file()) ? files.readFileSync(file(), 'utf8') : null),
    write: (text) => {
      const target = file();
      files.mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
      writeWhole(node, target, text);
    },
  };
}

/** A tuning in a store. What cannot be read or written is told once, and nothing else depends on it. */
export class TuningStore {
  readonly #texts: TextStore;
  readonly #warn: (problem: string) => void;
  #isUsable = true;

  constructor(texts: TextStore, warn: (problem: string) => void) {
    this.#texts = texts;
    this.#warn = warn;
  }

  /** Empty where nothing, or nothing of use, is there. */
  load(): DeviceTuning {
    const text = this.#tried(() => this.#texts.read()) ?? null;
    if (text === null) return {};
    let found: unknown;
    try {
      found = JSON.parse(text);
    } catch {
      found = null;
    }
    if (isDeviceTuning(found)) return found;
    this.#warn('what was stored of earlier measurements of kernels is damaged, and is ignored');
    return {};
  }

  /** Adds choices to what is stored by now: other processes store theirs. */
  add(adapter: string, choices: Readonly<Record<string, string>>): void {
    if (!this.#isUsable) return;
    const before = this.load();
    const after: DeviceTuning = { ...before, [adapter]: { ...before[adapter], ...choices } };
    this.#tried(() => this.#texts.write(`${JSON.stringify(after, null, 1)}\n`));
  }

  #tried<T>(act: () => T): T | undefined {
    try {
      return act();
    } catch (error) {
      if (this.#isUsable) {
        this.#warn(`measurements of kernels cannot be stored: ${String(error)}`);
      }
      this.#isUsable = false;
      return undefined;
    }
  }
}
