import type { TensorType } from '../../ir/types.js';
import { mode } from '../core/mode.js';
import { NDArray } from '../core/ndarray.js';

/** Limit of arguments for the fast path, which compares each with each. */
const mostArguments = 8;

/**
 * Cache key of a call on distinct bare arrays. Most calls repeat the previous one: comparing each argument
 * then is as conclusive as comparing whole signatures. Made before the call runs, which may attach gradients.
 */
export class BareCall {
  readonly #types: readonly TensorType[];
  readonly #gradients: readonly (string | undefined)[];
  readonly #isRecorded: boolean = mode.session !== null;
  readonly #isTraining: boolean = mode.training;

  private constructor(args: readonly NDArray[]) {
    this.#types = args.map(({ type }) => type);
    this.#gradients = args.map(({ gradient }) => gradient?.req);
  }

  /** Null for calls of another kind. */
  static of(args: readonly unknown[]): BareCall | null {
    return args.length <= mostArguments && areBare(args) ? new BareCall(args) : null;
  }

  /** True when a call has the same key. Types are interned: equal ones are one object while they are in use. */
  fits(args: readonly unknown[]): boolean {
    if (args.length !== this.#types.length) return false;
    if ((mode.session !== null) !== this.#isRecorded || mode.training !== this.#isTraining) {
      return false;
    }
    if (!areBare(args)) return false;
    for (let i = 0; i < args.length; i++) {
      const { type, gradient } = args[i];
      if (type !== this.#types[i] || gradient?.req !== this.#gradients[i]) return false;
    }
    return true;
  }
}

/** True for distinct computed arrays. */
function areBare(args: readonly unknown[]): args is readonly NDArray[] {
  for (let i = 0; i < args.length; i++) {
    const array = args[i];
    if (!(array instanceof NDArray) || array.elements === null) return false;
    for (let k = 0; k < i; k++) if (args[k] === array) return false;
  }
  return true;
}
