import { controlWords, workerWords } from './control.js';
import { watchdog } from './watchdog.js';
import type { EntryRecipe, SharedGround, WorkerMessage } from './recipe.js';
import { mostThreads } from './settings.js';
import { type Spawn, type Spawned, functionText } from './spawn.js';
import { work } from './worker.js';

/** Workers that keep crashing are not restarted. */
const maxRestarts = 8;

/** Limit of workers ever started: the words of a dead one are never reused. */
export const maxWorkers: number = mostThreads - 1 + maxRestarts;

/** A worker slot, with the worker that was started for it. */
interface WorkerSlot {
  worker: Spawned | null;
  /** The number of the worker, by which it finds its words. */
  number: number;
  sent: number;
}

/**
 * The workers of a pool, the programs that they have, and the watchdog that notices when one dies. They are
 * started at first use, and restarted when one is gone.
 */
export class Workers {
  readonly #ground: SharedGround;
  readonly #words: Int32Array;
  readonly #spawn: Spawn;
  readonly #slots: WorkerSlot[] = [];
  readonly #programs: Map<number, EntryRecipe> = new Map();
  readonly #notes: string[] = [];
  #watchdog: Spawned | null = null;
  #newest = 0;
  #started = 0;
  #isClosed = false;

  constructor(ground: SharedGround, words: Int32Array, spawn: Spawn) {
    this.#ground = ground;
    this.#words = words;
    this.#spawn = spawn;
  }

  /** Failures of workers. */
  get notes(): readonly string[] {
    return this.#notes;
  }

  /** Sends a program to all workers; returns its number. */
  add(recipe: EntryRecipe): number {
    const id = ++this.#newest;
    this.#programs.set(id, recipe);
    this.#tell({ kind: 'program', id, recipe });
    return id;
  }

  forget(id: number): void {
    this.#programs.delete(id);
    this.#tell({ kind: 'forget', id });
  }

  /** Number of the first `most` workers that could run a program now. */
  ready(id: number, most: number = Infinity): number {
    let count = 0;
    for (let at = 0; at < this.#slots.length && count < most; at++) {
      if (this.#isReady(this.#slots[at], id)) count++;
    }
    return count;
  }

  /** True when one of the first `most` workers is running and could run a program later. */
  isComing(id: number, most: number): boolean {
    return this.#slots
      .slice(0, most)
      .some((slot) => slot.worker !== null && !this.#isReady(slot, id) && !this.#isDead(slot));
  }

  /** Starts the missing ones of the first `most` workers. */
  fill(most: number): void {
    for (let at = 0; at < most; at++) {
      const slot = (this.#slots[at] ??= { worker: null, number: 0, sent: 0 });
      if (slot.worker !== null && this.#isDead(slot)) this.#leave(slot);
      if (slot.worker === null) this.#start(slot);
    }
  }

  /** True when a worker is in a job. */
  get isInside(): boolean {
    for (const slot of this.#slots) {
      if (slot.worker !== null && this.#word(slot, 'inside') !== 0) return true;
    }
    return false;
  }

  /** Wakes sleeping workers. */
  wake(): void {
    const words = this.#words;
    Atomics.add(words, controlWords.bell, 1);
    if (Atomics.load(words, controlWords.sleeping) > 0) Atomics.notify(words, controlWords.bell);
  }

  /** Adds a note about workers that have died in a job. */
  noteDeaths(note: string): void {
    this.#notes.push(note);
    for (const slot of this.#slots) {
      if (slot.worker !== null && this.#isDead(slot)) this.#leave(slot);
    }
  }

  /** Ends all workers for good. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const left = this.#slots.map((slot) => this.#leave(slot));
    await Promise.all([...left, this.#watchdog].map((thread) => thread?.end()));
    this.#watchdog = null;
  }

  /** @internal Kills a worker as a crash would. */
  async kill(slot: number): Promise<void> {
    await this.#slots[slot]?.worker?.kill();
  }

  #isReady(slot: WorkerSlot, id: number): boolean {
    if (slot.worker === null || this.#word(slot, 'watched') === 0) return false;
    return this.#word(slot, 'ready') >= id;
  }

  #isDead(slot: WorkerSlot): boolean {
    return this.#word(slot, 'dead') !== 0;
  }

  #start(slot: WorkerSlot): void {
    if (this.#isClosed) return;
    if (this.#started === this.#slots.length + maxRestarts) {
      this.#giveUp('workers keep crashing');
      return;
    }
    const number = this.#started++;
    const { port1, port2 } = new MessageChannel();
    try {
      this.#watchdog ??= this.#startWatchdog();
      slot.worker = this.#spawn(functionText(work), (reason) => this.#died(number, reason));
    } catch (error) {
      this.#giveUp(`no worker can be started: ${String(error)}`);
      return;
    }
    slot.number = number;
    slot.sent = 0;
    this.#watchdog.post({ kind: 'watch', worker: number, life: port1 }, [port1]);
    const start = { kind: 'start', ground: this.#ground, worker: number, life: port2 } as const;
    this.#send(slot, start, [port2]);
    for (const [id, recipe] of this.#programs) this.#send(slot, { kind: 'program', id, recipe });
  }

  #startWatchdog(): Spawned {
    const started = this.#spawn(functionText(watchdog), (reason) => {
      // Without the watchdog a wait could block forever.
      this.#giveUp(`the watchdog of the workers ${reason}`);
      void this.close();
    });
    started.post({ kind: 'start', ground: this.#ground });
    return started;
  }

  #died(number: number, reason: string): void {
    if (this.#isClosed) return;
    this.#notes.push(`a worker ${reason}; another takes its place`);
    const slot = this.#slots.find((one) => one.worker !== null && one.number === number);
    if (slot !== undefined) this.#leave(slot);
  }

  #giveUp(why: string): void {
    this.#isClosed = true;
    this.#notes.push(`${why}; programs run on one thread`);
  }

  #leave(slot: WorkerSlot): Spawned | null {
    const left = slot.worker;
    if (left === null) return null;
    slot.worker = null;
    Atomics.store(this.#words, this.#at(slot, 'ready'), 0);
    return left;
  }

  #tell(message: WorkerMessage): void {
    for (const slot of this.#slots) if (slot.worker !== null) this.#send(slot, message);
  }

  #send(slot: WorkerSlot, message: WorkerMessage, moved?: readonly MessagePort[]): void {
    // Incremented before the message is sent: a worker that sees the count waits for the message; otherwise
    // it would miss it.
    slot.sent++;
    Atomics.store(this.#words, this.#at(slot, 'sent'), slot.sent);
    slot.worker!.post(message, moved);
    this.wake();
  }

  #word(slot: WorkerSlot, name: Exclude<keyof typeof workerWords, 'words'>): number {
    return Atomics.load(this.#words, this.#at(slot, name));
  }

  #at({ number }: WorkerSlot, name: keyof typeof workerWords): number {
    return controlWords.workers + number * workerWords.words + workerWords[name];
  }
}
