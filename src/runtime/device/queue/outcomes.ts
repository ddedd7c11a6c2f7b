import type { HostArray } from '../../../base/dtype.js';
import { DeviceError } from '../../../base/errors.js';
import type { DeviceBuffer } from '../../memory/backend.js';

/** Something that went wrong. */
export interface Failure {
  readonly error: unknown;
}

/** Elements by which a run tells what it refuses, once somebody reads them. */
export interface Reports {
  /** On the device; freed when they are read. */
  readonly buffers: readonly DeviceBuffer[];
  /** Failure that they tell of; null where all is right. */
  look(reports: readonly HostArray[]): Failure | null;
}

/**
 * Outcome of a run whose operators may have refused elements: it is not known until the device has been asked.
 * Meanwhile other runs go on with the results, and fail if this one has.
 */
export class Outcome {
  /** Set when it is known. */
  failure: Failure | null = null;
  isKnown = false;
  #reports: Reports | null;
  /** Outcomes of the runs that the operands come from. */
  #parents: readonly Outcome[];

  constructor(reports: Reports | null, parents: readonly Outcome[]) {
    this.#reports = reports;
    this.#parents = parents;
  }

  /** The outcome of work that has failed. */
  static failed(error: unknown): Outcome {
    const outcome = new Outcome(null, []);
    outcome.#end({ error });
    return outcome;
  }

  get buffers(): readonly DeviceBuffer[] {
    return this.#reports?.buffers ?? [];
  }

  /**
   * Tells it what its buffers hold, when all is known about its parents.
   * @returns A failure of its own that nobody has been told of.
   */
  settle(reports: readonly HostArray[]): Failure | null {
    const inherited = this.#parents.find(({ failure }) => failure !== null)?.failure ?? null;
    const own = inherited === null ? (this.#reports?.look(reports) ?? null) : null;
    this.#end(inherited ?? own);
    return own;
  }

  /** Tells it that its buffers cannot be read. */
  lose(error: unknown): void {
    if (this.#reports !== null) this.#end({ error });
    else this.settle([]);
  }

  #end(failure: Failure | null): void {
    this.failure = failure;
    this.isKnown = true;
    this.#reports = null;
    this.#parents = [];
  }
}

/** The outcomes behind operands that are not known to be right, each once. */
export function openOutcomes(operands: readonly { readonly outcome: Outcome | null }[]): Outcome[] {
  const open = operands.flatMap(({ outcome }) =>
    outcome === null || (outcome.isKnown && outcome.failure === null) ? [] : [outcome],
  );
  return [...new Set(open)];
}

/** The error for results of runs of which nobody can tell any more what they refuse. */
export function reportsLost(): DeviceError {
  return new DeviceError('whether an operator refuses elements was lost with the device', {
    op: 'read',
    advice: 'make the array again from what the host has',
  });
}
