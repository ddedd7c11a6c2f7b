import { Storage } from '../../runtime/memory/storage.js';
import {
  type GradientMark,
  type GradientUser,
  type GradReq,
  undecided,
} from '../capture/gradient-use.js';
import { NDArray } from './ndarray.js';

/** The serial number of the latest pass that wrote a gradient. */
let latest = 0;

/**
 * The gradient that an array keeps. Backward passes supply an array. A captured step writes the gradients of
 * pinned arrays into pinned memory of their own instead, so that a step copies nothing; readers then get a
 * copy, because the next step overwrites it.
 */
export class KeptGradient {
  readonly req: GradReq;
  /** The last supplied or copied value; null while it is zeros or in `#home`. */
  #value: NDArray | null = null;
  #home: NDArray | null = null;
  #isHome = false;
  /** Serial number of the pass that wrote it; 0 before the first, null when unknown. */
  #written: number | null = 0;

  /**
   * Zeros at first. Reuses the memory of an `earlier` gradient of the array: pinned anew at each reset,
   * memory would accumulate in a loop without pauses, in which finalizers do not run.
   */
  constructor(req: GradReq, earlier: KeptGradient | null = null) {
    this.req = req;
    this.#home = earlier === null ? null : earlier.#home;
  }

  /** The gradient as a separate value; null while it is the initial zeros. */
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

  /** Moves it with its array: `move` gives the value elsewhere. */
  moved(move: (value: NDArray) => NDArray): void {
    const { value } = this;
    this.#home = null;
    this.#isHome = false;
    this.#value = value === null ? null : move(value);
  }

  /** Records that elements were written into `array`; false if that is not the gradient. */
  isChanged(array: NDArray): boolean {
    if (this.#value !== array) return false;
    this.#isHome = false;
    return true;
  }

  /** The gradient as an operand of a graph that runs at once: in place when pinned. */
  get operand(): NDArray | null {
    return this.#isHome ? this.#home : this.#value;
  }

  /**
   * Pinned memory in which a graph may write the gradient of `owner`; `wrote` confirms the write. Null when
   * unpinned.
   */
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

  /** True when a pass has written it and `user` has not used it yet. */
  isNewTo(user: GradientUser, owner: NDArray): boolean {
    if (this.req === 'null') return false;
    if (this.#written === null) throw undecided(user);
    return this.#written !== 0 && user.lastUsed(owner) !== this.#written;
  }

  /** Applies an effect of code. */
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
