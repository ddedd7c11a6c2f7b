import { Storage } from '../../runtime/memory/storage.js';
import { type GradientMark, type GradientUser, undecided } from './gradient-use.js';
import { type GradReq, NDArray } from './ndarray.js';

/** The serial number of the latest pass that wrote a gradient. */
let latest = 0;

/**
 * The gradient that an array keeps. Backward passes hand over an array. A captured step writes the
 * gradients of pinned arrays into memory of their own instead, pinned as well, so that a step copies
 * nothing; whoever asks for the gradient then gets a copy, because the next step writes there again.
 */
export class KeptGradient {
  readonly req: GradReq;
  /** What was handed over or copied last; null while it is zeros or in `#home`. */
  #value: NDArray | null = null;
  #home: NDArray | null = null;
  #isHome = false;
  /** The serial number of the pass that wrote it; 0 before the first, null where nobody knows whether there was one. */
  #written: number | null = 0;

  /**
   * Zeros at first. The memory of an `earlier` gradient of the array goes on being used: pinned anew at
   * each reset, it would pile up in a loop without pauses, where finalizers do not run.
   */
  constructor(req: GradReq, earlier: KeptGradient | null = null) {
    this.req = req;
    this.#home = earlier === null ? null : earlier.#home;
  }

  /** The gradient as a value of its own; null while it is the zeros that attaching starts with. */
  get value(): NDArray | null {
    if (this.#value === null && this.#isHome) {
      this.#value = new NDArray(this.#home!.type, this.#home!.held);
    }
    return this.#value;
  }

  set value(value: NDArray | null) {
    this.#value = value;
    this.#isHome = false;
  }

  /** Notes that someone has written other elements into `array`; false if that is not the gradient. */
  isChanged(array: NDArray): boolean {
    if (this.#value !== array) return false;
    this.#isHome = false;
    return true;
  }

  /** The gradient for a graph to read at once: in place where it lies in pinned memory. */
  get operand(): NDArray | null {
    return this.#isHome ? this.#home : this.#value;
  }

  /** Where a graph may write the gradient of `owner`; `wrote` says that it has. Null when unpinned. */
  home(owner: NDArray): Storage | null {
    if (owner.elements?.isPinned !== true) return null;
    if (this.#home === null) {
      const { dtype, length } = owner.elements;
      this.#home = new NDArray(owner.type, Storage.zeros(dtype, length));
      this.#home.pin();
    }
    return this.#home.elements;
  }

  wrote(): void {
    this.#value = null;
    this.#isHome = true;
  }

  /** Whether a pass has written it that `user` has not used yet. */
  isNewTo(user: GradientUser, owner: NDArray): boolean {
    if (this.req === 'null') return false;
    if (this.#written === null) throw undecided(user);
    return this.#written !== 0 && user.lastUsed(owner) !== this.#written;
  }

  /** Notes what code has done to it. */
  mark(mark: GradientMark, owner: NDArray): void {
    if (mark.kind === 'either') {
      this.#written = null;
      return;
    }
    if (mark.kind === 'written') this.#written = ++latest;
    else if (mark.kind === 'reset') this.#written = 0;
    for (const user of mark.users) user.noteUse(owner, this.#written ?? 0);
  }
}
