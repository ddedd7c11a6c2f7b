import { DeviceError } from '../../base/errors.js';
import { meeting } from '../../loop/language/team.js';
import { mainName } from '../../passes/lower/main/main.js';
import { controlWords, controlBytes, gateBits, workerWords } from './control.js';
import { Workers, maxWorkers } from './workers.js';
import { LostWorkerError } from './lost.js';
import type { EntryRecipe, WorkerConstants, TeamEntry } from './recipe.js';
import { type Spawn, spawn } from './spawn.js';

/** Services of the device whose memory the threads of a pool share. */
export interface PoolMemory {
  readonly memory: WebAssembly.Memory;
  /** Number of threads that programs may run on now. */
  readonly threads: number;
  /** Limit of the wait for workers in a run, in milliseconds; by default a limit by cost. */
  readonly workerTimeout?: number | undefined;
  /** The address of new memory. */
  take(bytes: number): number;
}

/**
 * Milliseconds that workers spin for the next job before they sleep: longer than the gap between two steps of
 * a JavaScript loop.
 */
const awake = 0.2;

/** Milliseconds of a unit of work of one thread: the unit of `ProgramPlan.gain`. */
const grainMilliseconds = 0.01;

/** The gain below which no worker is woken. */
const leastGain = 2;

/**
 * Limit of the wait for late workers, in milliseconds: waiting may cost an eighth of what it can save, and
 * never more than this, which is how long another thread may occupy the processor. The collector's threads
 * do, whenever large results are made in sequence.
 */
const maxWait = 4;

/** Number of times the main thread polls for the end of a job before it sleeps. */
const looksForEnd = 20_000;

/**
 * The threads that run programs together with the main thread. They are started at first use, find jobs in
 * shared memory, and keep no process alive.
 *
 * A job is open for a short time. Workers that have joined by then run it; no result depends on the number of
 * threads. So a worker that is slow, or gone, costs time and nothing else. For one that dies in a job see
 * `watchdog` and `LostWorkerError`.
 */
export class WorkerPool {
  readonly #home: PoolMemory;
  readonly #base: number;
  readonly #words: Int32Array;
  readonly #workers: Workers;
  readonly #maySleep: boolean;
  #joins = 0;
  #job = 0;
  /** Programs that can no longer run. */
  readonly #dropped: FinalizationRegistry<number>;

  /** @param start Starts threads; tests replace it. */
  constructor(home: PoolMemory, start: Spawn = spawn) {
    this.#home = home;
    const bytes = controlBytes(maxWorkers);
    this.#base = home.take(bytes);
    // Memory that has grown is still shared with views of its earlier size.
    this.#words = new Int32Array(home.memory.buffer, this.#base, bytes / 4).fill(0);
    this.#workers = new Workers(
      { memory: home.memory, base: this.#base, layout },
      this.#words,
      start,
    );
    this.#maySleep = maySleep(this.#words);
    this.#words[meeting.maySleep] = Number(this.#maySleep);
    this.#dropped = new FinalizationRegistry((id) => this.#workers.forget(id));
  }

  /** Address of the barrier of a job's threads. */
  get meetingAddress(): number {
    return this.#base;
  }

  /** Failures of workers. */
  get notes(): readonly string[] {
    return this.#workers.notes;
  }

  /** Number of times that workers have joined a job. */
  get joins(): number {
    return this.#joins;
  }

  /** Number of workers that wait for work now. */
  get ready(): number {
    return this.#workers.ready(1);
  }

  /**
   * A program as a function of its table and of the gain of a team. `own` runs it in this thread; `threads`
   * is the most that it is made for. The function throws a `LostWorkerError` when a worker dies while it
   * runs.
   */
  entry(
    recipe: EntryRecipe,
    own: TeamEntry,
    threads: number,
  ): (table: number, gain: number) => void {
    const id = this.#workers.add(recipe);
    const run = (table: number, gain: number): void => {
      const workers =
        gain < leastGain ? 0 : this.#callable(id, Math.min(threads, this.#home.threads) - 1);
      if (workers === 0) own(table, 0, 1);
      else this.#run(id, own, table, workers, gain);
    };
    this.#dropped.register(run, id);
    return run;
  }

  /** Ends all workers for good; programs then run in this thread only. */
  close(): Promise<void> {
    return this.#workers.close();
  }

  /** @internal Kills a worker as a crash would. */
  kill(worker: number): Promise<void> {
    return this.#workers.kill(worker);
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

  /** Opens a job, waits a little, and closes it; returns the number of workers that are in it. */
  #gather(id: number, table: number, workers: number, gain: number): number {
    const words = this.#words;
    Atomics.store(words, meeting.arrived, 0);
    // A worker that died in its sleep has not decremented the count.
    Atomics.store(words, meeting.sleeping, 0);
    Atomics.store(words, meeting.failed, 0);
    Atomics.store(words, controlWords.lost, 0);
    Atomics.store(words, controlWords.failure, 0);
    Atomics.store(words, controlWords.program, id);
    Atomics.store(words, controlWords.tableLow, table);
    Atomics.store(words, controlWords.tableHigh, Math.floor(table / 2 ** 32));
    Atomics.store(words, controlWords.most, workers);
    this.#job = (this.#job + 1) & 0xffffff;
    Atomics.store(words, controlWords.gate, (this.#job << gateBits.job) | gateBits.open);
    this.#workers.wake();
    const timeout = this.#home.workerTimeout ?? Math.min(maxWait, (gain * grainMilliseconds) / 8);
    const begin = performance.now();
    for (let looks = 1; this.#joined() < workers; looks++) {
      if (looks % 16 === 0 && performance.now() - begin > timeout) break;
    }
    return Atomics.and(words, controlWords.gate, ~gateBits.open) & gateBits.joined;
  }

  #joined(): number {
    return Atomics.load(this.#words, controlWords.gate) & gateBits.joined;
  }

  /**
   * Waits until all workers in a job have left it: by its end, because one of them has failed, or because the
   * watchdog has found them dead.
   */
  #awaitAll(): void {
    const words = this.#words;
    for (let looks = 0; looks < looksForEnd; looks++) if (!this.#workers.isInside) return;
    Atomics.store(words, controlWords.asleep, 1);
    for (;;) {
      const left = Atomics.load(words, controlWords.left);
      if (!this.#workers.isInside) break;
      if (this.#maySleep) Atomics.wait(words, controlWords.left, left);
    }
    Atomics.store(words, controlWords.asleep, 0);
  }

  #mourn(): never {
    this.#workers.noteDeaths('a worker died during a run, whose results were discarded');
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

  /** Number of the first `most` workers that could join a job; starts missing ones. */
  #callable(id: number, most: number): number {
    const workers = this.#workers;
    workers.fill(most);
    const { workerTimeout } = this.#home;
    if (workerTimeout === undefined) return workers.ready(id, most);
    const begin = performance.now();
    while (workers.isComing(id, most) && performance.now() - begin < workerTimeout) this.#rest();
    return workers.ready(id, most);
  }

  /** Yields the processor. */
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

/** True when this thread may block, which the main thread of a browser may not. */
function maySleep(words: Int32Array): boolean {
  try {
    Atomics.wait(words, 0, 1, 0);
    return true;
  } catch {
    return false;
  }
}
