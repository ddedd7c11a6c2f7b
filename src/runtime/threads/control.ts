/**
 * The words in which the main thread, its workers and their guard agree on who runs what. Words that
 * different threads write often are on different cache lines. The words of `meeting` come first.
 */
export const controlWords = {
  /** Counts whatever workers should look at: they sleep on it. */
  bell: 64,
  /** How many workers sleep. */
  sleeping: 65,
  /**
   * The job: its number, whether it can still be joined, and how many have. One word, so that nobody
   * joins a job that has begun.
   */
  gate: 80,
  /** Counts who leaves a job: the main thread sleeps on it. */
  left: 96,
  /** Whether the main thread sleeps until all have left. */
  asleep: 97,
  /** Whether a worker has died in the job. */
  lost: 98,
  /** The program to run, where its table is, and how many workers may join. */
  program: 112,
  table: 113,
  most: 114,
  /** What the first thread that failed has to say: its length, then characters. */
  failure: 128,
  mostCharacters: 255,
  /** From here on `workerWords` for each worker. */
  workers: 384,
} as const;

/** Words of one worker. No other worker ever gets them, also when it is gone. */
export const workerWords = {
  /** Programs are numbered in the order in which they are sent: it has all up to this. 0 while it is away. */
  ready: 0,
  /** How many messages have been sent to it. */
  sent: 1,
  /** Whether the guard would notice its death. It joins no job before. */
  watched: 2,
  /** Whether it has died. */
  dead: 3,
  /** Whether it is in a job, or tries to join one. */
  inside: 16,
  words: 32,
} as const;

/** The parts of `gate`. The number of the job is above them. */
export const gateBits = { joined: 0x7f, open: 0x80, job: 8 } as const;

/** Bytes of a control block for a number of workers. */
export function controlBytes(workers: number): number {
  return 4 * (controlWords.workers + workers * workerWords.words);
}
