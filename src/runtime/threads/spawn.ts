import type { WorkerMessage } from './recipe.js';
import { builtin } from './settings.js';
import { workerText } from './worker.js';

/** A worker, of Node or of a browser. It keeps no process alive. */
export interface Spawned {
  post(message: WorkerMessage): void;
  end(): Promise<unknown>;
}

/** What is used of Node's workers. */
interface NodeWorker {
  postMessage(message: WorkerMessage): void;
  terminate(): Promise<number>;
  unref(): void;
  on(event: 'error', hear: (error: unknown) => void): void;
  on(event: 'exit', hear: (code: number) => void): void;
}

interface NodeThreads {
  readonly Worker: new (
    text: string,
    options: { eval: boolean; execArgv: string[]; name: string },
  ) => NodeWorker;
}

/**
 * Starts a worker from text. `died` hears once if it ends by itself, and why.
 * @throws Error where workers cannot be started, as a page's policy may have it.
 */
export function spawn(died: (reason: string) => void): Spawned {
  const threads = builtin<NodeThreads>('node:worker_threads');
  return threads === undefined ? spawnInBrowser(died) : spawnInNode(threads, died);
}

function post(worker: Pick<NodeWorker, 'postMessage'>, message: WorkerMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has no origin
  worker.postMessage(message);
}

function spawnInNode({ Worker }: NodeThreads, died: (reason: string) => void): Spawned {
  // What the process was started with, such as preloaded modules, is nothing to a worker.
  const worker = new Worker(workerText(), { eval: true, execArgv: [], name: 'kaon' });
  let reason = '';
  let isWanted = true;
  worker.on('error', (error) => (reason = `: ${String(error)}`));
  worker.on('exit', (code) => {
    if (isWanted) died(`a worker ended with code ${code}${reason}`);
  });
  worker.unref();
  return {
    post: (message) => post(worker, message),
    end: () => {
      isWanted = false;
      return worker.terminate();
    },
  };
}

function spawnInBrowser(died: (reason: string) => void): Spawned {
  const url = URL.createObjectURL(new Blob([workerText()], { type: 'text/javascript' }));
  const worker = new Worker(url, { name: 'kaon' });
  worker.addEventListener('error', (event) => {
    worker.terminate();
    died(`a worker ended: ${event.message}`);
  });
  return {
    post: (message) => post(worker, message),
    end: () => {
      worker.terminate();
      URL.revokeObjectURL(url);
      return Promise.resolve();
    },
  };
}
