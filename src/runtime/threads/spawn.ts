import type { Transferable as Moved, Worker as NodeWorker } from 'node:worker_threads';
import { nodeModules, type NodeModules } from '../../base/node.js';

/** A thread with an event loop, of Node or of a browser. It keeps no process alive. */
export interface Spawned {
  /** Transfers the ports and buffers in `moved`. */
  post(message: object, moved?: readonly (MessagePort | ArrayBuffer)[]): void;
  /** Calls back for each message from the thread. */
  listen(hear: (message: unknown) => void): void;
  /** Keeps the process alive while the thread runs, or no longer. */
  keepAlive(isKept: boolean): void;
  end(): Promise<unknown>;
  /** Kills it as a crash would. */
  kill(): Promise<unknown>;
}

/** Starts a thread from text. `died` is called once if it ends by itself, with the reason: "ended with ...". */
export type Spawn = (text: string, died: (reason: string) => void) => Spawned;

/**
 * Starts threads as this platform does.
 * @throws Error when they cannot be started, such as by a page's policy.
 */
export const spawn: Spawn = (text, died) => {
  const node = nodeModules();
  return node === null ? spawnInBrowser(text, died) : spawnInNode(node, text, died);
};

/**
 * Call of a self-contained function as text. Bundlers that keep names call `__name`.
 *
 * @param given Its arguments as text.
 */
export function functionText(work: (...given: never[]) => void, given: string = ''): string {
  return `const __name = (made) => made;\n(${work.toString()})(${given});`;
}

function spawnInNode(
  { workers }: NodeModules,
  text: string,
  died: (reason: string) => void,
): Spawned {
  // Options of the process, such as preloaded modules, are not passed on to a worker.
  const worker: NodeWorker = new workers.Worker(text, { eval: true, execArgv: [], name: 'kaon' });
  let reason = '';
  let isWanted = true;
  worker.on('error', (error) => (reason = `: ${String(error)}`));
  worker.on('exit', (code) => {
    if (isWanted) died(`ended with code ${code}${reason}`);
  });
  worker.unref();
  return {
    // Node's channels are those of the web, but with declarations of their own.
    post: (message, moved = []) => worker.postMessage(message, moved as unknown as Moved[]),
    listen(hear) {
      worker.on('message', hear);
      // Which keeps the process alive by itself.
      worker.unref();
    },
    keepAlive: (isKept) => (isKept ? worker.ref() : worker.unref()),
    end: () => {
      isWanted = false;
      return worker.terminate();
    },
    kill: () => worker.terminate(),
  };
}

function spawnInBrowser(text: string, died: (reason: string) => void): Spawned {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  const worker = new Worker(url, { name: 'kaon' });
  const kill = (reason: string): Promise<void> => {
    worker.terminate();
    died(`ended${reason}`);
    return Promise.resolve();
  };
  worker.addEventListener(
    'error',
    (event) => void kill(`: ${event.message ?? 'it could not be started'}`),
  );
  return {
    post: (message, moved = []) => worker.postMessage(message, [...moved]),
    listen: (hear) => worker.addEventListener('message', ({ data }) => hear(data)),
    keepAlive() {},
    end: () => {
      worker.terminate();
      URL.revokeObjectURL(url);
      return Promise.resolve();
    },
    kill: () => kill(''),
  };
}
