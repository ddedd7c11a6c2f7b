import type { Host, NodeThreads } from './host.js';
import type { EntryRecipe, SharedGround, TeamEntry, WorkerMessage } from './recipe.js';

/** Interface of the loader of shared libraries, as far as it is used. */
interface Loader {
  load(file: string): {
    func(name: string, result: string, parameters: readonly string[]): (...args: unknown[]) => void;
  };
}

/**
 * Program of a worker. It becomes text, since a bundle has no other file and a package may lie anywhere:
 * so it is complete in itself, but for types.
 *
 * It looks for jobs in shared memory, and sleeps there when there have been none for a while. Messages
 * come by the event loop, so it goes back to that whenever one has been sent.
 */
export function work(): void {
  const host = globalThis as Host<WorkerMessage>;
  const builtin = host.process?.getBuiltinModule ?? host.require;
  const threads = builtin?.('node:worker_threads') as NodeThreads<WorkerMessage> | undefined;
  const entries = new Map<number, TeamEntry>();
  let ground: SharedGround | null = null;
  /** Objects that would be closed if this thread released them. */
  const held: unknown[] = [];
  let words = new Int32Array(0);
  /** The first word of this worker. */
  let mine = 0;
  let heard = 0;
  let newest = 0;
  let seen = 0;

  /** Marks are made by the first thread of a team, which is no worker. */
  const mark = (): void => {};

  const entryOf = (recipe: EntryRecipe): TeamEntry => {
    const { memory, base, layout } = ground!;
    if (recipe.kind === 'wasm') {
      const { exports } = new WebAssembly.Instance(recipe.module, { env: { memory, mark } });
      const main = exports[layout.mainName] as (...args: (number | bigint)[]) => void;
      if (recipe.addresses === 'i32')
        return (table, thread, count) => main(table, 0, 0, base, thread, count);
      const [whole, wideBase] = [BigInt(0), BigInt(base)];
      return (table, thread, count) => {
        const at = BigInt(table);
        main(at, at, whole, whole, wideBase, thread, count);
      };
    }
    const { createRequire } = builtin!('node:module') as {
      createRequire(from: string): (name: string) => unknown;
    };
    const loader = createRequire(recipe.from)('koffi') as Loader;
    const parameters = ['uint8_t *', 'int64_t', 'int64_t', 'int32_t', 'int32_t'];
    const main = loader.load(recipe.library).func(recipe.symbol, 'void', parameters);
    let bytes = new Uint8Array(memory.buffer);
    return (table, thread, count) => {
      if (bytes.buffer !== memory.buffer) bytes = new Uint8Array(memory.buffer);
      main(bytes, table, base, thread, count);
    };
  };

  /** Lets the others go, and says why. Who waits reads `failed` after `passed`. */
  const fail = (error: unknown): void => {
    const { control, meeting } = ground!.layout;
    if (Atomics.compareExchange(words, meeting.failed, 0, 1) === 0) {
      const text = String(error).slice(0, control.mostCharacters);
      for (let i = 0; i < text.length; i++) words[control.failure + 1 + i] = text.charCodeAt(i);
      Atomics.store(words, control.failure, text.length);
    }
    Atomics.add(words, meeting.passed, 1);
    Atomics.notify(words, meeting.passed);
  };

  /** Joins the job that a value of the gate stands for, if that is still possible; gives its number there. */
  const join = (gate: number): number => {
    const { control, gate: bits } = ground!.layout;
    const most = Atomics.load(words, control.most);
    for (let now = gate; (now & bits.open) !== 0 && (now & bits.joined) < most;) {
      const before = Atomics.compareExchange(words, control.gate, now, now + 1);
      if (before === now) return (now & bits.joined) + 1;
      if (before >>> bits.job !== gate >>> bits.job) return 0;
      now = before;
    }
    return 0;
  };

  /** The guard does this for who has died. */
  const leave = (): void => {
    const { control, own } = ground!.layout;
    Atomics.store(words, mine + own.inside, 0);
    Atomics.add(words, control.left, 1);
    if (Atomics.load(words, control.asleep) !== 0) Atomics.notify(words, control.left);
  };

  const runJob = (gate: number): void => {
    const { control, own, gate: bits } = ground!.layout;
    const entry = entries.get(Atomics.load(words, control.program));
    if (entry === undefined || Atomics.load(words, mine + own.watched) === 0) return;
    // Before it joins: from then on the others count on it.
    Atomics.store(words, mine + own.inside, 1);
    const thread = join(gate);
    if (thread > 0) {
      let now = Atomics.load(words, control.gate);
      while ((now & bits.open) !== 0) now = Atomics.load(words, control.gate);
      const low = Atomics.load(words, control.tableLow) >>> 0;
      const table = Atomics.load(words, control.tableHigh) * 2 ** 32 + low;
      try {
        entry(table, thread, (now & bits.joined) + 1);
      } catch (error) {
        fail(error);
      }
    }
    leave();
  };

  /** Until a message has been sent. */
  const serve = (): void => {
    const { control, own, gate: bits, awake } = ground!.layout;
    Atomics.store(words, mine + own.ready, newest);
    let since = performance.now();
    for (let looks = 1; ; looks++) {
      const rung = Atomics.load(words, control.bell);
      if (Atomics.load(words, mine + own.sent) !== heard) break;
      const gate = Atomics.load(words, control.gate);
      const job = gate >>> bits.job;
      if (job !== seen && (gate & bits.open) !== 0) {
        seen = job;
        runJob(gate);
        since = performance.now();
      } else if (looks % 64 === 0 && performance.now() - since > awake) {
        Atomics.add(words, control.sleeping, 1);
        Atomics.wait(words, control.bell, rung);
        Atomics.sub(words, control.sleeping, 1);
        since = performance.now();
      }
    }
    Atomics.store(words, mine + own.ready, 0);
  };

  const hear = (message: WorkerMessage): void => {
    heard++;
    if (message.kind === 'start') {
      ({ ground } = message);
      held.push(message.life);
      const { control, own } = ground.layout;
      mine = control.workers + message.worker * own.words;
      words = new Int32Array(ground.memory.buffer, ground.base);
    } else if (message.kind === 'forget') entries.delete(message.id);
    else {
      // One that cannot be made here is never joined. The others do without this worker.
      try {
        entries.set(message.id, entryOf(message.recipe));
      } catch {
        entries.delete(message.id);
      }
      newest = message.id;
    }
    serve();
  };
  if (threads === undefined) host.addEventListener!('message', ({ data }) => hear(data));
  else threads.parentPort.on!('message', hear);
}
