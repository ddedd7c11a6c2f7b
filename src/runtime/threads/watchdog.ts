import type { SharedGround, WatchdogMessage } from './recipe.js';
import type { Host, NodeThreads } from './host.js';

/** One end of a channel, in Node or in a browser. */
interface Life {
  on?(kind: 'close', hear: () => void): void;
  addEventListener?(kind: 'close', hear: () => void): void;
  start?(): void;
}

/**
 * The watchdog thread: it waits for workers to die. While a job runs nobody else could notice, since the main
 * thread and all workers are in it, away from their event loops. For a worker that dies in a job it sets the
 * failure flag, so that the others leave it, and counts it out.
 *
 * A worker holds one end of a channel, which closes when the worker has stopped running: after that
 * notification it writes nothing. The function is serialized to text, like the code of workers.
 */
export function watchdog(): void {
  const host = globalThis as Host<WatchdogMessage>;
  const builtin = host.process?.getBuiltinModule ?? host.require;
  const threads = builtin?.('node:worker_threads') as NodeThreads<WatchdogMessage> | undefined;
  /** Dropping an end would close the channel. */
  const lives = new Map<number, Life>();
  let ground: SharedGround | null = null;
  let words = new Int32Array(0);

  const died = (worker: number): void => {
    const { control, own, meeting } = ground!.layout;
    const mine = control.workers + worker * own.words;
    lives.delete(worker);
    Atomics.store(words, mine + own.ready, 0);
    Atomics.store(words, mine + own.dead, 1);
    if (Atomics.load(words, mine + own.inside) === 0) return;
    // The job cannot end before the last of these, so they still refer to it.
    Atomics.store(words, control.lost, 1);
    Atomics.store(words, meeting.failed, 1);
    Atomics.add(words, meeting.passed, 1);
    Atomics.notify(words, meeting.passed);
    Atomics.store(words, mine + own.inside, 0);
    Atomics.add(words, control.left, 1);
    Atomics.notify(words, control.left);
  };

  const hear = (message: WatchdogMessage): void => {
    if (message.kind === 'start') {
      ground = message.ground;
      words = new Int32Array(ground.memory.buffer, ground.base);
      return;
    }
    const { worker } = message;
    const { control, own } = ground!.layout;
    const life = message.life as Life;
    lives.set(worker, life);
    if (life.on === undefined) {
      life.addEventListener!('close', () => died(worker));
      life.start!();
    } else life.on('close', () => died(worker));
    Atomics.store(words, control.workers + worker * own.words + own.watched, 1);
  };
  if (threads === undefined) host.addEventListener!('message', ({ data }) => hear(data));
  else threads.parentPort.on!('message', hear);
}
