/** When a trace is compared with what the code does now. */
export type VerifyPolicy = 'off' | 'second' | 'backoff' | 'always';

/**
 * The calls of one trace at which it is compared. With `backoff` these are the calls 2, 4, 8 and so on: what
 * comparing costs vanishes, and an answer that is out of date lasts no longer than the calls before it.
 */
export class VerifySchedule {
  readonly #policy: VerifyPolicy;
  #next: number;
  /** The call at which the code ran last: at first, the one that was traced. */
  last = 1;

  constructor(policy: VerifyPolicy) {
    this.#policy = policy;
    this.#next = policy === 'off' ? Infinity : 2;
  }

  /** Whether the call with this number, counted from 1, has to be compared. */
  isDue(call: number): boolean {
    return call >= this.#next;
  }

  /** Notes that the code ran at a call and agreed. */
  passed(call: number): void {
    this.last = call;
    if (call < this.#next) return;
    if (this.#policy === 'second') this.#next = Infinity;
    else if (this.#policy === 'always') this.#next = call + 1;
    else while (this.#next <= call) this.#next *= 2;
  }
}
