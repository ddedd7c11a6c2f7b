import { DeviceError } from '../../base/errors.js';
import { meeting } from '../../loop/language/team.js';
import { mainName } from '../../passes/lower/main/main.js';
import { controlWords, controlBytes, gateBits, workerWords } from './control.js';
import { Workers, maxWorkers } from './crew.js';
import { LostWorkerError } from './lost.js';
import type { EntryRecipe, WorkerConstants, TeamEntry } from './recipe.js';
import { type Spawn, spawn } from './spawn.js';

/** What a pool needs of the device whose memory its threads share. */
export interface PoolMemory {
  readonly memory: WebAssembly.Memory;
  /** How many threads programs may run on now. */
  readonly threads: number;
  /** How long a run may wait for its workers, in milliseconds; without it as long as is worth it. */
  readonly workerTimeout?: number | undefined;
  /** The address of new memory. */
  take(bytes: number): number;
}

/**
 * How long workers look for the next job before they sleep, in milliseconds: longer than what lies between
 * two steps of a loop in JavaScript.
 */
const awake = 0.2;

/** What a stretch of work takes one thread, in milliseconds: the unit of `Plan.gain`. */
const grainMilliseconds = 0.01;

/** The gain below which nobody is woken. */
const leastGain = 2;

/**
 * Who is late misses the job: waiting may cost an eighth of what it can save, and never more than this, which
 * is how long another thread that has the processor may keep it. The collector's threads do, whenever large
 * results are made one after the other.
 */
const maxWait = 4;

/** How often the main thread looks whether the others are done before it sleeps. */
const looksForEnd = 20_000;

/**
 * The threads that run programs together with the main thread. They are started when the first program asks
 * for them, find jobs in shared memory, and keep no process alive.
 *
 * A job is open for a short time. Who has joined by then runs it, whoever that is: no result depends on the
 * number of threads. So a worker that is slow, or gone, costs time and nothing else. For one that dies in a
 * job see `guard` and `LostWorkerError`.
 */
export class WorkerPool {
  readonly #home: PoolMemory;
  readonly #base: number;
  readonly #words: Int32Array;
  readonly #crew: Workers;
  readonly #maySleep: boolean;
  #joins = 0;
  #job = 0;
  /** Programs that nobody can run any more. */
  readonly #dropped: FinalizationRegistry<number>;

  /** @param start How threads are started; tests have ways of their own. */
  constructor(home: PoolMemory, start: Spawn = spawn) {
    this.#home = home;
    const bytes = controlBytes(maxWorkers);
    this.#base = home.take(bytes);
    // Memory that has grown is still shared with views on what it was.
    this.#words = new Int32Array(home.memory.buffer, this.#base, bytes / 4).fill(0);
    this.#crew = new Workers({ memory: home.memory, base: this.#base, layout }, this.#words, start);
    this.#maySleep = maySleep(this.#words);
    this.#words[meeting.maySleep] = Number(this.#maySleep);
    this.#dropped = new FinalizationRegistry((id) => this.#crew.forget(id));
  }

  /** Where the threads of a job meet. */
  get meetingAddress(): number {
    return this.#base;
  }

  /** What went wrong with workers. */
  get notes(): readonly string[] {
    return this.#crew.notes;
  }

  /** How often workers have joined a job. */
  get joins(): number {
    return this.#joins;
  }

  /** How many workers are waiting for work at this moment. */
  get ready(): number {
    return this.#crew.ready(1);
  }

  /**
   * A program as a function of its table and of what a team would gain. `own` runs it in this thread;
   * `threads` is the most that it is made for. The function throws a `LostWorkerError` when a worker dies
   * while it runs.
   */
  entry(
    recipe: EntryRecipe,
    own: TeamEntry,
    threads: number,
  ): (table: number, gain: number) => void {
    const id = this.#crew.add(recipe);
    const run = (table: number, gain: number): void => {
      const workers =
        gain < leastGain ? 0 : this.#callable(id, Math.min(threads, this.#home.threads) - 1);
      if (workers === 0) own(table, 0, 1);
      else this.#run(id, own, table, workers, gain);
    };
    this.#dropped.register(run, id);
    return run;
  }

  /** Ends all workers for good; programs run on in this thread. */
  close(): Promise<void> {
    return this.#crew.close();
  }

  /** @internal Ends a worker as an accident would. */
  kill(worker: number): Promise<void> {
    return this.#crew.kill(worker);
  }

  #run(id: number, own: TeamEntry, table: number, workers: number, gain: number): void {
    const words = this.#words;
    const joined = this.#gather(id, table, workers, gain);
    if (joined === 0) return own(table, 0, 1);
    this.#joins += joined;
    let error: unknown = null;
    try {
      own(table, 0, joined + 1);
    } catch (thrown) {
      error = thrown;
      Atomics.store(words, meeting.failed, 1);
      Atomics.add(words, meeting.passed, 1);
      Atomics.notify(words, meeting.passed);
    }
    this.#awaitAll();
    if (error !== null) throw error;
    if (Atomics.load(words, controlWords.lost) !== 0) this.#mourn();
    if (Atomics.load(words, meeting.failed) !== 0) this.#refuse();
  }

  /** Opens a job, waits a little, and closes it; gives the number of workers that are in it. */
  #gather(id: number, table: number, workers: number, gain: number): number {
    const words = this.#words;
    Atomics.store(words, meeting.arrived, 0);
    // Who died in its sleep has not counted itself out.
    Atomics.store(words, meeting.sleeping, 0);
    Atomics.store(words, meeting.failed, 0);
    Atomics.store(words, controlWords.lost, 0);
    Atomics.store(words, controlWords.failure, 0);
    Atomics.store(words, controlWords.program, id);
    Atomics.store(words, controlWords.table, table);
    Atomics.store(words, controlWords.most, workers);
    this.#job = (this.#job + 1) & 0xffffff;
    Atomics.store(words, controlWords.gate, (this.#job << gateBits.job) | gateBits.open);
    this.#crew.wake();
    const patience = this.#home.workerTimeout ?? Math.min(maxWait, (gain * grainMilliseconds) / 8);
    const begin = performance.now();
    for (let looks = 1; this.#joined() < workers; looks++) {
      if (looks % 16 === 0 && performance.now() - begin > patience) break;
    }
    return Atomics.and(words, controlWords.gate, ~gateBits.open) & gateBits.joined;
  }

  #joined(): number {
    return Atomics.load(this.#words, controlWords.gate) & gateBits.joined;
  }

  /**
   * Whatever they do, all who are in a job come out of it: by its end, because one of them has failed, or
   * because the guard has found them dead.
   */
  #awaitAll(): void {
    const words = this.#words;
    for (let looks = 0; looks < looksForEnd; looks++) if (!this.#crew.isInside) return;
    Atomics.store(words, controlWords.asleep, 1);
    for (;;) {
      const left = Atomics.load(words, controlWords.left);
      if (!this.#crew.isInside) break;
      if (this.#maySleep) Atomics.wait(words, controlWords.left, left);
    }
    Atomics.store(words, controlWords.asleep, 0);
  }

  #mourn(): never {
    this.#crew.noteDeaths('a worker died in the middle of a run, of which nothing was used');
    throw new LostWorkerError();
  }

  #refuse(): never {
    const words = this.#words;
    const length = Atomics.load(words, controlWords.failure);
    const from = controlWords.failure + 1;
    throw new DeviceError('a thread has failed in the middle of a program', {
      op: 'run',
      actual: String.fromCharCode(...words.subarray(from, from + length)),
      advice: 'set config.threads to 1 to see whether it fails on one thread, too',
    });
  }

  /** How many of the first `most` workers could join a job; starts those that are missing. */
  #callable(id: number, most: number): number {
    const crew = this.#crew;
    crew.fill(most);
    const { workerTimeout } = this.#home;
    if (workerTimeout === undefined) return crew.ready(id, most);
    const begin = performance.now();
    while (crew.isComing(id, most) && performance.now() - begin < workerTimeout) this.#rest();
    return crew.ready(id, most);
  }

  /** Lets others have the processor. */
  #rest(): void {
    if (this.#maySleep) Atomics.wait(this.#words, controlWords.asleep, 0, 0.1);
  }
}

const layout: WorkerConstants = {
  control: controlWords,
  own: workerWords,
  gate: gateBits,
  meeting,
  mainName,
  awake,
};

/** Whether this thread may sleep, which the main thread of a browser may not. */
function maySleep(words: Int32Array): boolean {
  try {
    Atomics.wait(words, 0, 1, 0);
    return true;
  } catch {
    return false;
  }
}
