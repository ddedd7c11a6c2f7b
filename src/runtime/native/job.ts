import type { ChildProcess } from 'node:child_process';
import type { Environment, NodeModules } from '../../base/node.js';

/** Result of a job. */
export interface JobResult {
  /** Null when it timed out or could not be started. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface JobOptions {
  readonly node: NodeModules;
  readonly env: Environment;
  /** Working directory of the script, which also receives its output. Owned by the job. */
  readonly folder: string;
  /** For the shell; `$1` and so on are `args`. */
  readonly script: string;
  readonly args: readonly string[];
  readonly limitMilliseconds: number;
  /** Called when it has ended, if the event loop runs. */
  readonly ended?: () => void;
}

/** All running jobs, to be killed with the process. */
const running = new Set<Job>();

function endAll(): void {
  for (const job of running) job.end();
}

/**
 * Space reserved for output files: a script can report even that the disk is full, where a growing file could
 * not be written. Blank, since the rest is read, too.
 */
const reserved: Readonly<Record<'code' | 'stderr', string>> = {
  code: '\n'.repeat(16),
  stderr: '\n'.repeat(4096),
};

/**
 * A shell script in a process of its own. It signals completion by a file, so that code which never returns
 * to the event loop can see it; it does not keep this process alive, and ends with it.
 */
export class Job {
  readonly #options: JobOptions;
  readonly #child: ChildProcess;
  readonly #deadline: number;
  readonly #timer: ReturnType<typeof setTimeout>;
  #problem: string | null = null;
  #result: JobResult | null = null;

  /** @throws Error of the system when the folder is not writable. */
  constructor(options: JobOptions) {
    this.#options = options;
    const { node, env, folder, script, args, limitMilliseconds } = options;
    for (const [name, blank] of Object.entries(reserved)) {
      node.files.writeFileSync(node.path.join(folder, name), blank);
    }
    const whole = `{ (\n${script}\n) >stdout 2<>stderr 3>&-; echo $? >&3; } 3<>code`;
    this.#child = node.childProcess.spawn('/bin/sh', ['-c', whole, 'sh', ...args], {
      cwd: folder,
      // A process group of its own, so that compilers it has started are killed with it.
      detached: true,
      stdio: 'ignore',
      env: { ...env, LC_ALL: 'C', TMPDIR: folder },
    });
    this.#child.on('error', ({ message }) => (this.#problem = message));
    this.#child.on('exit', () => {
      // When killed from outside, it leaves no code.
      if (this.poll() === null) this.#problem ??= 'it was ended by something else';
      options.ended?.();
    });
    this.#child.unref();
    if (running.size === 0) process.on('exit', endAll);
    running.add(this);
    this.#deadline = performance.now() + limitMilliseconds;
    this.#timer = setTimeout(() => this.poll(), limitMilliseconds + 1);
    this.#timer.unref();
  }

  /** Polls for completion; null while it runs. */
  poll(): JobResult | null {
    if (this.#result !== null) return this.#result;
    const { limitMilliseconds } = this.#options;
    const code = this.#read('code').trim();
    if (code !== '') return this.#finish(Number(code));
    if (this.#child.pid === undefined) return this.#finish(null, 'there is no shell');
    if (this.#problem !== null) return this.#finish(null, this.#problem);
    if (performance.now() < this.#deadline) return null;
    return this.#finish(null, `it took longer than ${limitMilliseconds / 1000} s`);
  }

  /** Kills it, and removes its files. */
  end(): void {
    if (this.#result === null) this.#finish(null, 'it was ended');
    this.#options.node.files.rmSync(this.#options.folder, { recursive: true, force: true });
  }

  #finish(code: number | null, problem?: string): JobResult {
    this.#result = { code, stdout: this.#read('stdout'), stderr: problem ?? this.#read('stderr') };
    clearTimeout(this.#timer);
    running.delete(this);
    if (running.size === 0) process.off('exit', endAll);
    const { pid, exitCode, signalCode } = this.#child;
    // Until this process has been notified of the exit, the process id is not reused.
    if (code === null && pid !== undefined && exitCode === null && signalCode === null) kill(pid);
    return this.#result;
  }

  #read(name: string): string {
    const { files, path } = this.#options.node;
    const file = path.join(this.#options.folder, name);
    return files.existsSync(file) ? files.readFileSync(file, 'utf8') : '';
  }
}

function kill(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended in the meantime.
  }
}

/** Created lazily: pages without cross-origin isolation have no shared memory. */
let cell: Int32Array<SharedArrayBuffer> | undefined;

/** Blocks without the event loop. */
export function sleep(milliseconds: number): void {
  cell ??= new Int32Array(new SharedArrayBuffer(4));
  Atomics.wait(cell, 0, 0, milliseconds);
}
