/**
 * Layout of the words by which the main thread, its workers and the watchdog synchronize. Words that
 * different threads write often are on different cache lines. The words of the barrier come first.
 */
export const controlWords = {
  /** Event counter: workers sleep on it. */
  bell: 64,
  /** Number of sleeping workers. */
  sleeping: 65,
  /**
   * The job: its number, whether it is open, and the number of workers that joined. One word, so that no
   * worker joins a job that has begun.
   */
  gate: 80,
  /** Counts workers that leave a job: the main thread sleeps on it. */
  left: 96,
  /** 1 while the main thread sleeps until all have left. */
  asleep: 97,
  /** 1 when a worker has died in the job. */
  lost: 98,
  /** The program to run, the address of its table in two words, and the number of workers that may join. */
  program: 112,
  tableLow: 113,
  tableHigh: 114,
  most: 115,
  /** Error of the first thread that failed: its length, then characters. */
  failure: 128,
  mostCharacters: 255,
  /** From here on `workerWords` for each worker. */
  workers: 384,
} as const;

/** Words of one worker. They are never reused, even after it has died. */
export const workerWords = {
  /**
   * Highest program number that it has; programs are numbered in the order in which they are sent. 0 while it
   * is not running.
   */
  ready: 0,
  /** Number of messages sent to it. */
  sent: 1,
  /** 1 when the watchdog would notice its death. It joins no job before. */
  watched: 2,
  /** 1 when it has died. */
  dead: 3,
  /** 1 while it is in a job, or tries to join one. */
  inside: 16,
  words: 32,
} as const;

/** Fields of `gate`. The number of the job is above them. */
export const gateBits = { joined: 0x7f, open: 0x80, job: 8 } as const;

/** Bytes of a control block for a number of workers. */
export function controlBytes(workers: number): number {
  return 4 * (controlWords.workers + workers * workerWords.words);
}
