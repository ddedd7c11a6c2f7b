import type { Host, NodeThreads } from '../threads/host.js';
import type { sharedWords } from './messages.js';

/** One end of a channel, in Node or in a browser. */
interface Life {
  on?(kind: 'close', hear: () => void): void;
  addEventListener?(kind: 'close', hear: () => void): void;
  start?(): void;
}

/** Message to the watcher of a worker. */
export interface WatchMessage {
  /** Closes when the worker dies, which has the other end. */
  readonly life: MessagePort;
  readonly memory: SharedArrayBuffer;
  readonly words: typeof sharedWords;
}

/**
 * Program of a thread that waits for the worker of a GPU to die, as by exhausting its heap, and tells whoever sleeps
 * until an answer: the sleeper hears nothing of it, being away from its event loop. It becomes text, so it uses
 * nothing of this file but types.
 */
export function watchWorker(): void {
  const host = globalThis as Host<WatchMessage>;
  const builtin = host.process?.getBuiltinModule ?? host.require;
  const threads = builtin?.('node:worker_threads') as NodeThreads<WatchMessage> | undefined;
  /** Dropping an end would close the channel. */
  const held: Life[] = [];

  const hear = ({ life, memory, words }: WatchMessage): void => {
    const own = life as Life;
    const shared = new Int32Array(memory);
    const died = (): void => {
      // The worker may have told more than that it is gone.
      Atomics.compareExchange(shared, words.dead, 0, 1);
      Atomics.notify(shared, words.answered);
      Atomics.notify(shared, words.finished);
    };
    held.push(own);
    if (own.on === undefined) {
      own.addEventListener!('close', died);
      own.start!();
    } else own.on('close', died);
  };
  if (threads === undefined) host.addEventListener!('message', ({ data }) => hear(data));
  else threads.parentPort.on!('message', hear);
}
