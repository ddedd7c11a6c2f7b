import type { CachedFunction, DiskCache } from './cache.js';
import { commonFlags, type Compiler, firstLine } from './compiler.js';
import { Job, type JobResult } from './job.js';
import type { Environment, NodeModules } from '../../base/node.js';
import type { NativeSource } from './source.js';

/** Result of a build: a function on disk, or the reason of the failure. */
export type BuildResult = CachedFunction | string;

/** A program that is being built. */
export interface Building {
  readonly source: NativeSource;
  /** Null until it is done. */
  built: BuildResult | null;
  /** True when a joint build failed, so that it is built alone. */
  isAlone: boolean;
}

interface Running {
  readonly members: readonly Building[];
  readonly folder: string;
  readonly job: Job;
}

/** Limits of a joint build: number of programs and size of their text. */
const mostMembers = 32;
const mostText = 2 ** 18;

export interface BuildSettings {
  readonly node: NodeModules;
  readonly env: Environment;
  readonly compiler: Compiler;
  readonly cache: DiskCache;
  /** Number of concurrent compilers. */
  readonly width: number;
  readonly limitMilliseconds: number;
}

/** Compiles programs in other processes, few at a time; those that arrive meanwhile are built together. */
export class Builds {
  readonly #settings: BuildSettings;
  readonly #byKey: Map<string, Building> = new Map();
  readonly #waiting: Building[] = [];
  readonly #running: Set<Running> = new Set();

  constructor(settings: BuildSettings) {
    this.#settings = settings;
  }

  add(source: NativeSource): Building {
    let building = this.#byKey.get(source.key);
    if (building === undefined) {
      const built = this.#settings.cache.find(source.key);
      building = { source, built, isAlone: false };
      if (built === null) {
        this.#byKey.set(source.key, building);
        this.#waiting.push(building);
        this.advance();
      }
    }
    return building;
  }

  /** Handles finished builds, and starts waiting ones. */
  advance(): void {
    for (const running of this.#running) {
      const result = running.job.poll();
      if (result === null) continue;
      this.#running.delete(running);
      this.#finish(running, result);
    }
    while (this.#waiting.length > 0 && this.#running.size < this.#settings.width) {
      const members = this.#next();
      try {
        this.#running.add(this.#start(members));
      } catch (error) {
        this.#withoutFolder(members, (error as Error).message);
      }
    }
  }

  #next(): readonly Building[] {
    const [first] = this.#waiting;
    let text = 0;
    let count = 0;
    for (const { source, isAlone } of this.#waiting) {
      text += source.text.length;
      if (count > 0 && (isAlone || first.isAlone || text > mostText || count === mostMembers))
        break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  #start(members: readonly Building[]): Running {
    const { node, env, compiler, cache, limitMilliseconds } = this.#settings;
    const folder = cache.buildFolder();
    const names = members.map((_, i) => `program${i}.c`);
    const flags = [...compiler.processorFlags, ...commonFlags];
    const args = [...compiler.command, ...flags, '-o', libraryName, ...names, '-lm'];
    try {
      members.forEach(({ source }, i) => {
        node.files.writeFileSync(node.path.join(folder, names[i]), source.text);
      });
      const job = new Job({
        node, env, folder, script: '"$@"', args, limitMilliseconds, ended: () => this.advance(),
      }); // prettier-ignore
      return { members, folder, job };
    } catch (error) {
      node.files.rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  #finish({ members, folder }: Running, { code, stderr }: JobResult): void {
    const { node, cache } = this.#settings;
    try {
      if (code === 0) {
        cache.add(
          node.path.join(folder, libraryName),
          members.map(({ source }) => source.key),
        );
        for (const member of members) this.#done(member, cache.find(member.source.key));
        return;
      }
      const shortage = this.#shortageIn(folder, stderr);
      if (shortage !== null) this.#withoutFolder(members, shortage);
      else if (members.length > 1) {
        for (const member of members) member.isAlone = true;
        this.#waiting.push(...members);
      } else {
        this.#done(members[0], `the compiler failed: ${firstLine(stderr)}`);
      }
    } catch (error) {
      this.#withoutFolder(members, (error as Error).message);
    } finally {
      node.files.rmSync(folder, { recursive: true, force: true });
    }
  }

  /**
   * Evidence that a disk is full, if there is any. Compilers do not always report it: their linkers write to
   * mapped memory, and are killed by a signal.
   */
  #shortageIn(folder: string, stderr: string): string | null {
    const { files, path } = this.#settings.node;
    const said = stderr.split('\n').find((line) => /no space left/i.test(line));
    if (said !== undefined) return said.trim();
    try {
      files.writeFileSync(path.join(folder, 'room'), new Uint8Array(enoughRoom));
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** The cache folder is not writable: retries in a temporary one, and then gives up. */
  #withoutFolder(members: readonly Building[], why: string): void {
    const { cache } = this.#settings;
    if (!cache.isTemporary) {
      cache.leaveFolder(`the cache folder takes nothing: ${why}`);
      this.#waiting.push(...members);
      return;
    }
    for (const member of members) this.#done(member, `there is no place for what is made: ${why}`);
  }

  #done(member: Building, built: BuildResult | null): void {
    member.built = built ?? 'what was compiled has gone from the cache';
    this.#byKey.delete(member.source.key);
  }
}

const libraryName = 'library.so';

/** Free bytes with which a compiler has not failed for lack of space. */
const enoughRoom = 2 ** 20;
