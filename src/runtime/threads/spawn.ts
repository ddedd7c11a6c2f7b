import type { Worker as NodeWorker } from 'node:worker_threads';
import { nodeModules, type NodeModules } from '../../base/node.js';
import type { WorkerMessage } from './recipe.js';
import { workerText } from './worker.js';

/** A worker, of Node or of a browser. It keeps no process alive. */
export interface Spawned {
  post(message: WorkerMessage): void;
  end(): Promise<unknown>;
  /** Ends it as if by itself. */
  kill(): Promise<unknown>;
}

/**
 * Starts a worker from text. `died` hears once if it ends by itself, and why.
 * @throws Error where workers cannot be started, as a page's policy may have it.
 */
export function spawn(died: (reason: string) => void): Spawned {
  const node = nodeModules();
  return node === null ? spawnInBrowser(died) : spawnInNode(node, died);
}

function post(worker: NodeWorker | Worker, message: WorkerMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has no origin
  worker.postMessage(message);
}

function spawnInNode({ workers }: NodeModules, died: (reason: string) => void): Spawned {
  // What the process was started with, such as preloaded modules, is nothing to a worker.
  const worker = new workers.Worker(workerText(), { eval: true, execArgv: [], name: 'kaon' });
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
    kill: () => worker.terminate(),
  };
}

function spawnInBrowser(died: (reason: string) => void): Spawned {
  const url = URL.createObjectURL(new Blob([workerText()], { type: 'text/javascript' }));
  const worker = new Worker(url, { name: 'kaon' });
  const kill = (reason: string): Promise<void> => {
    worker.terminate();
    died(`a worker ended${reason}`);
    return Promise.resolve();
  };
  worker.addEventListener('error', (event) => void kill(`: ${event.message}`));
  return {
    post: (message) => post(worker, message),
    end: () => {
      worker.terminate();
      URL.revokeObjectURL(url);
      return Promise.resolve();
    },
    kill: () => kill(''),
  };
}
