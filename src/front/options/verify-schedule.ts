/** When a trace is compared with the current behavior of the code. */
export type VerifyPolicy = 'off' | 'second' | 'backoff' | 'always';

/**
 * The calls of one trace at which it is verified. With `backoff` these are the calls 2, 4, 8 and so on: the
 * cost of verification vanishes, and a stale answer lasts no longer than the calls before it.
 */
export class VerifySchedule {
  readonly #policy: VerifyPolicy;
  #next: number;
  /** The last call at which the code ran: at first, the traced one. */
  last = 1;

  constructor(policy: VerifyPolicy) {
    this.#policy = policy;
    this.#next = policy === 'off' ? Infinity : 2;
  }

  /** True when the call with this number, counted from 1, has to be verified. */
  isDue(call: number): boolean {
    return call >= this.#next;
  }

  /** Records that the code ran at a call and agreed. */
  passed(call: number): void {
    this.last = call;
    if (call < this.#next) return;
    if (this.#policy === 'second') this.#next = Infinity;
    else if (this.#policy === 'always') this.#next = call + 1;
    else while (this.#next <= call) this.#next *= 2;
  }
}
