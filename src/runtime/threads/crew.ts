import { controlWords, workerWords } from './control.js';
import { watchdog } from './guard.js';
import type { EntryRecipe, SharedGround, WorkerMessage } from './recipe.js';
import { mostThreads } from './settings.js';
import { type Spawn, type Spawned, functionText } from './spawn.js';
import { work } from './worker.js';

/** Who ends again and again would not do better the next time. */
const maxRestarts = 8;

/** How many workers there can ever be: the words of one that is gone are never another's. */
export const maxWorkers: number = mostThreads - 1 + maxRestarts;

/** A worker that should be there, and that has been started at some time. */
interface WorkerSlot {
  worker: Spawned | null;
  /** The number of the worker, by which it finds its words. */
  number: number;
  sent: number;
}

/**
 * The workers of a pool, with the programs that they know, and the guard that notices when one dies.
 * They are started when they are needed first, and again where one is gone.
 */
export class Workers {
  readonly #ground: SharedGround;
  readonly #words: Int32Array;
  readonly #spawn: Spawn;
  readonly #seats: WorkerSlot[] = [];
  readonly #programs: Map<number, EntryRecipe> = new Map();
  readonly #notes: string[] = [];
  #guard: Spawned | null = null;
  #newest = 0;
  #started = 0;
  #isClosed = false;

  constructor(ground: SharedGround, words: Int32Array, spawn: Spawn) {
    this.#ground = ground;
    this.#words = words;
    this.#spawn = spawn;
  }

  /** What went wrong with workers. */
  get notes(): readonly string[] {
    return this.#notes;
  }

  /** Tells all of a program; its number. */
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

  /** How many of the first `most` workers could run a program at this moment. */
  ready(id: number, most: number = Infinity): number {
    let count = 0;
    for (let at = 0; at < this.#seats.length && count < most; at++) {
      if (this.#isReady(this.#seats[at], id)) count++;
    }
    return count;
  }

  /** Whether one of the first `most` workers is there and could run a program later. */
  isComing(id: number, most: number): boolean {
    return this.#seats
      .slice(0, most)
      .some((seat) => seat.worker !== null && !this.#isReady(seat, id) && !this.#isDead(seat));
  }

  /** Starts those of the first `most` workers that are missing. */
  fill(most: number): void {
    for (let at = 0; at < most; at++) {
      const seat = (this.#seats[at] ??= { worker: null, number: 0, sent: 0 });
      if (seat.worker !== null && this.#isDead(seat)) this.#leave(seat);
      if (seat.worker === null) this.#start(seat);
    }
  }

  /** Whether anybody is in a job. */
  get isInside(): boolean {
    for (const seat of this.#seats) {
      if (seat.worker !== null && this.#word(seat, 'inside') !== 0) return true;
    }
    return false;
  }

  /** Wakes whoever sleeps. */
  wake(): void {
    const words = this.#words;
    Atomics.add(words, controlWords.bell, 1);
    if (Atomics.load(words, controlWords.sleeping) > 0) Atomics.notify(words, controlWords.bell);
  }

  /** Says something about those that have died in a job. */
  noteDeaths(note: string): void {
    this.#notes.push(note);
    for (const seat of this.#seats) {
      if (seat.worker !== null && this.#isDead(seat)) this.#leave(seat);
    }
  }

  /** Ends all for good. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const left = this.#seats.map((seat) => this.#leave(seat));
    await Promise.all([...left, this.#guard].map((thread) => thread?.end()));
    this.#guard = null;
  }

  /** @internal Ends a worker as an accident would. */
  async kill(seat: number): Promise<void> {
    await this.#seats[seat]?.worker?.kill();
  }

  #isReady(seat: WorkerSlot, id: number): boolean {
    if (seat.worker === null || this.#word(seat, 'watched') === 0) return false;
    return this.#word(seat, 'ready') >= id;
  }

  #isDead(seat: WorkerSlot): boolean {
    return this.#word(seat, 'dead') !== 0;
  }

  #start(seat: WorkerSlot): void {
    if (this.#isClosed) return;
    if (this.#started === this.#seats.length + maxRestarts) {
      this.#giveUp('workers end again and again');
      return;
    }
    const number = this.#started++;
    const { port1, port2 } = new MessageChannel();
    try {
      this.#guard ??= this.#startGuard();
      seat.worker = this.#spawn(functionText(work), (reason) => this.#died(number, reason));
    } catch (error) {
      this.#giveUp(`no worker can be started: ${String(error)}`);
      return;
    }
    seat.number = number;
    seat.sent = 0;
    this.#guard.post({ kind: 'watch', worker: number, life: port1 }, [port1]);
    const start = { kind: 'start', ground: this.#ground, worker: number, life: port2 } as const;
    this.#send(seat, start, [port2]);
    for (const [id, recipe] of this.#programs) this.#send(seat, { kind: 'program', id, recipe });
  }

  #startGuard(): Spawned {
    const started = this.#spawn(functionText(watchdog), (reason) => {
      // Whom nobody watches must not be waited for.
      this.#giveUp(`the guard of the workers ${reason}`);
      void this.close();
    });
    started.post({ kind: 'start', ground: this.#ground });
    return started;
  }

  #died(number: number, reason: string): void {
    if (this.#isClosed) return;
    this.#notes.push(`a worker ${reason}; another takes its place`);
    const seat = this.#seats.find((one) => one.worker !== null && one.number === number);
    if (seat !== undefined) this.#leave(seat);
  }

  #giveUp(why: string): void {
    this.#isClosed = true;
    this.#notes.push(`${why}; programs run on one thread`);
  }

  #leave(seat: WorkerSlot): Spawned | null {
    const left = seat.worker;
    if (left === null) return null;
    seat.worker = null;
    Atomics.store(this.#words, this.#at(seat, 'ready'), 0);
    return left;
  }

  #tell(message: WorkerMessage): void {
    for (const seat of this.#seats) if (seat.worker !== null) this.#send(seat, message);
  }

  #send(seat: WorkerSlot, message: WorkerMessage, moved?: readonly MessagePort[]): void {
    // Who hears of a message before it comes waits for it; who did not hear of it would go on looking.
    seat.sent++;
    Atomics.store(this.#words, this.#at(seat, 'sent'), seat.sent);
    seat.worker!.post(message, moved);
    this.wake();
  }

  #word(seat: WorkerSlot, name: Exclude<keyof typeof workerWords, 'words'>): number {
    return Atomics.load(this.#words, this.#at(seat, name));
  }

  #at({ number }: WorkerSlot, name: keyof typeof workerWords): number {
    return controlWords.workers + number * workerWords.words + workerWords[name];
  }
}
