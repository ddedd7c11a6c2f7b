import { checkArgument } from '../base/attributes/options.js';
import { ArgumentError, FormatError, UnsupportedError } from '../base/errors.js';
import { loadNodeModules, type NodeModules } from '../base/node.js';
import { fileName, readFile, replaceFile } from '../nn/files.js';
import { type JobFile, jobFiles } from './job.js';

/** The folder of a job. */
export class JobFolder {
  readonly #op: string;
  readonly #path: string;
  readonly #modules: NodeModules;

  private constructor(op: string, path: string, modules: NodeModules) {
    this.#op = op;
    this.#path = path;
    this.#modules = modules;
  }

  /**
   * @param op Public function, for messages.
   * @throws UnsupportedError where there is no file system.
   */
  static async at(op: string, folder: string | URL): Promise<JobFolder> {
    checkArgument(op, 'folder', folder, fileName);
    const modules = await loadNodeModules();
    if (modules === null) {
      throw new UnsupportedError('there is no file system here', {
        op,
        expected: 'the file system of Node, Deno or Bun',
      });
    }
    const path = folder instanceof URL ? modules.address.fileURLToPath(folder) : folder;
    return new JobFolder(op, path, modules);
  }

  #file(name: string): string {
    return this.#modules.path.join(this.#path, ...name.split('/'));
  }

  exists(name: string): boolean {
    return this.#modules.files.existsSync(this.#file(name));
  }

  /** Refuses a folder with a job: checkpoints and metrics in it belong to that one. */
  async refuseJob(): Promise<void> {
    if (!this.exists(jobFiles.job)) return;
    throw new ArgumentError(`there is a job in ${this.#path}`, {
      op: this.#op,
      expected: 'a folder without a job, or none',
      actual: `the file ${jobFiles.job}`,
      advice: 'write to another folder, or remove this one',
    });
  }

  /** Writes a file, whole or not at all, and the folders that it lies in. */
  async write(name: string, content: string | Uint8Array): Promise<void> {
    const file = this.#file(name);
    try {
      await this.#modules.asyncFiles.mkdir(this.#modules.path.dirname(file), { recursive: true });
    } catch (cause) {
      throw new FormatError(`the folder of ${file} cannot be made`, {
        op: this.#op,
        expected: 'a path where folders can be made',
        actual: String((cause as Error).message),
        cause,
      });
    }
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    await replaceFile(this.#op, file, bytes);
  }

  /** @throws FormatError for a file that cannot be read. */
  read(name: string): Promise<Uint8Array> {
    return readFile(this.#op, this.#file(name));
  }

  /** @throws FormatError for a file that is not JSON. */
  async readJson(name: string): Promise<unknown> {
    const text = new TextDecoder().decode(await this.read(name));
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw new FormatError(`${name} of the job is not JSON`, {
        op: this.#op,
        expected: 'JSON',
        actual: String((cause as Error).message),
        cause,
      });
    }
  }

  /** @throws FormatError for a folder without a job, and for a job of another version. */
  async readJob(): Promise<JobFile> {
    if (!this.exists(jobFiles.job)) {
      throw new FormatError(`${this.#path} is not the folder of a job`, {
        op: this.#op,
        expected: `a folder with ${jobFiles.job}, as writeJob makes it`,
        actual: 'none',
      });
    }
    const job = (await this.readJson(jobFiles.job)) as Partial<JobFile> | null;
    if (job?.version !== 1) {
      throw new FormatError('the job is of another version', {
        op: this.#op,
        expected: '1',
        actual: String(job?.version),
      });
    }
    if (Array.isArray(job.programs?.step?.meta?.inputs)) return job as JobFile;
    throw new FormatError(`${jobFiles.job} does not describe a step`, {
      op: this.#op,
      expected: 'the programs of the job, as writeJob tells them',
      actual: `an object with ${Object.keys(job).join(', ')}`,
    });
  }

  /** The bytes of a growing file from a position on: none while there is no file, null when it is shorter. */
  async readFrom(name: string, position: number): Promise<Uint8Array | null> {
    if (!this.exists(name)) return position === 0 ? new Uint8Array() : null;
    const file = await this.#modules.asyncFiles.open(this.#file(name), 'r');
    try {
      const { size } = await file.stat();
      if (size < position) return null;
      const bytes = new Uint8Array(size - position);
      const { bytesRead } = await file.read(bytes, 0, bytes.length, position);
      return bytes.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }
}
