import { DeviceError } from '../../base/errors.js';
import { meeting } from '../../loop/team.js';
import { mainName } from '../../passes/lower/main.js';
import { control, controlBytes, gateBits, workerWords } from './control.js';
import type { EntryRecipe, TeamEntry, WorkerLayout, WorkerMessage } from './recipe.js';
import { mostThreads } from './settings.js';
import { type Spawned, spawn } from './spawn.js';

/** What a pool needs of the device whose memory its threads share. */
export interface PoolHome {
  readonly memory: WebAssembly.Memory;
  /** How many threads programs may run on now. */
  readonly threads: number;
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

/** Who is late misses the job: waiting may cost an eighth of what it can save, and never more than this. */
const mostPatience = 0.5;

/** How often the main thread looks whether the others are done before it sleeps. */
const looksForEnd = 20_000;

/** A worker that should be there, and that has been started at some time. */
interface Seat {
  worker: Spawned | null;
  sent: number;
}

/**
 * The threads that run programs together with the main thread. They are started when the first program asks
 * for them, find jobs in shared memory, and keep no process alive.
 *
 * A job is open for a short time. Who has joined by then runs it, whoever that is: no result depends on the
 * number of threads. So a worker that is slow, or gone, costs time and nothing else.
 */
export class Pool {
  readonly #home: PoolHome;
  readonly #base: number;
  readonly #words: Int32Array;
  readonly #seats: readonly Seat[];
  readonly #programs: Map<number, EntryRecipe> = new Map();
  readonly #notes: string[] = [];
  readonly #maySleep: boolean;
  #newest = 0;
  #joins = 0;
  #job = 0;
  #isClosed = false;
  /** Programs that nobody can run any more. */
  readonly #dropped: FinalizationRegistry<number>;

  constructor(home: PoolHome) {
    this.#home = home;
    const workers = mostThreads - 1;
    const bytes = controlBytes(workers);
    this.#base = home.take(bytes);
    // Memory that has grown is still shared with views on what it was.
    this.#words = new Int32Array(home.memory.buffer, this.#base, bytes / 4).fill(0);
    this.#seats = Array.from({ length: workers }, () => ({ worker: null, sent: 0 }));
    this.#maySleep = maySleep(this.#words);
    this.#words[meeting.maySleep] = Number(this.#maySleep);
    this.#dropped = new FinalizationRegistry((id) => this.#forget(id));
  }

  /** Where the threads of a job meet. */
  get meetingAddress(): number {
    return this.#base;
  }

  /** What went wrong with workers. */
  get notes(): readonly string[] {
    return this.#notes;
  }

  /** How often workers have joined a job. */
  get joins(): number {
    return this.#joins;
  }

  /** How many workers are waiting for work at this moment. */
  get ready(): number {
    return this.#seats.filter((_, worker) => this.#isReady(worker, 1)).length;
  }

  /**
   * A program as a function of its table and of what a team would gain. `own` runs it in this thread;
   * `threads` is the most that it is made for.
   */
  entry(
    recipe: EntryRecipe,
    own: TeamEntry,
    threads: number,
  ): (table: number, gain: number) => void {
    const id = ++this.#newest;
    this.#programs.set(id, recipe);
    this.#tell({ kind: 'program', id, recipe });
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
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#seats.map((seat, worker) => this.#leave(seat, worker)?.end()));
  }

  /** @internal Ends a worker as an accident would, between two jobs. */
  async kill(worker: number): Promise<void> {
    await this.#seats[worker].worker?.kill();
  }

  #leave(seat: Seat, worker: number): Spawned | null {
    const left = seat.worker;
    seat.worker = null;
    seat.sent = 0;
    Atomics.store(this.#words, this.#wordOf(worker, workerWords.ready), 0);
    return left;
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
    this.#awaitAll(joined);
    if (error !== null) throw error;
    if (Atomics.load(words, meeting.failed) !== 0) this.#refuse();
  }

  /** Opens a job, waits a little, and closes it; gives the number of workers that are in it. */
  #gather(id: number, table: number, workers: number, gain: number): number {
    const words = this.#words;
    Atomics.store(words, meeting.arrived, 0);
    Atomics.store(words, meeting.failed, 0);
    Atomics.store(words, control.left, 0);
    Atomics.store(words, control.failure, 0);
    Atomics.store(words, control.program, id);
    Atomics.store(words, control.table, table);
    Atomics.store(words, control.most, workers);
    this.#job = (this.#job + 1) & 0xffffff;
    Atomics.store(words, control.gate, (this.#job << gateBits.job) | gateBits.open);
    this.#ring();
    const patience = Math.min(mostPatience, (gain * grainMilliseconds) / 8);
    const begin = performance.now();
    for (let looks = 1; this.#joined() < workers; looks++) {
      if (looks % 16 === 0 && performance.now() - begin > patience) break;
    }
    return Atomics.and(words, control.gate, ~gateBits.open) & gateBits.joined;
  }

  #joined(): number {
    return Atomics.load(this.#words, control.gate) & gateBits.joined;
  }

  /** Whatever they do, all who are in a job come out of it: by its end, or because one of them has failed. */
  #awaitAll(joined: number): void {
    const words = this.#words;
    for (let looks = 0; looks < looksForEnd; looks++) {
      if (Atomics.load(words, control.left) === joined) return;
    }
    Atomics.store(words, control.asleep, 1);
    for (let left = 0; (left = Atomics.load(words, control.left)) !== joined;) {
      if (this.#maySleep) Atomics.wait(words, control.left, left);
    }
    Atomics.store(words, control.asleep, 0);
  }

  #refuse(): never {
    const words = this.#words;
    const length = Atomics.load(words, control.failure);
    const from = control.failure + 1;
    throw new DeviceError('a thread has failed in the middle of a program', {
      op: 'run',
      actual: String.fromCharCode(...words.subarray(from, from + length)),
      advice: 'set config.threads to 1 to see whether it fails on one thread, too',
    });
  }

  /** How many of the first `most` workers could join a job; starts those that are missing. */
  #callable(id: number, most: number): number {
    let count = 0;
    for (let worker = 0; worker < most; worker++) {
      if (this.#seats[worker].worker === null) this.#start(worker);
      else if (this.#isReady(worker, id)) count++;
    }
    return count;
  }

  #isReady(worker: number, id: number): boolean {
    return Atomics.load(this.#words, this.#wordOf(worker, workerWords.ready)) >= id;
  }

  #start(worker: number): void {
    if (this.#isClosed) return;
    const seat = this.#seats[worker];
    try {
      seat.worker = spawn((reason) => {
        this.#leave(seat, worker);
        this.#notes.push(`${reason}; another takes its place`);
      });
    } catch (error) {
      this.#isClosed = true;
      this.#notes.push(`no worker can be started: ${String(error)}`);
      return;
    }
    const { memory } = this.#home;
    this.#send(worker, { kind: 'start', memory, base: this.#base, worker, layout });
    for (const [id, recipe] of this.#programs) this.#send(worker, { kind: 'program', id, recipe });
  }

  #tell(message: WorkerMessage): void {
    this.#seats.forEach(({ worker }, number) => {
      if (worker !== null) this.#send(number, message);
    });
  }

  #send(worker: number, message: WorkerMessage): void {
    const seat = this.#seats[worker];
    // Who hears of a message before it comes waits for it; who did not hear of it would go on looking.
    seat.sent++;
    Atomics.store(this.#words, this.#wordOf(worker, workerWords.sent), seat.sent);
    seat.worker!.post(message);
    this.#ring();
  }

  /** Wakes whoever sleeps. */
  #ring(): void {
    Atomics.add(this.#words, control.bell, 1);
    if (Atomics.load(this.#words, control.sleeping) > 0) Atomics.notify(this.#words, control.bell);
  }

  #forget(id: number): void {
    this.#programs.delete(id);
    this.#tell({ kind: 'forget', id });
  }

  #wordOf(worker: number, word: number): number {
    return control.workers + worker * workerWords.words + word;
  }
}

const layout: WorkerLayout = {
  control,
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
