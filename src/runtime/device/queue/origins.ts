import type { HostArray } from '../../../base/dtype.js';
import type { DeviceBuffer } from '../../memory/backend.js';

/** Something that went wrong. */
export interface Failure {
  readonly error: unknown;
}

/** Elements by which a run tells what it refuses, once somebody reads them. */
export interface Reports {
  /** On the device; freed when they are read. */
  readonly buffers: readonly DeviceBuffer[];
  /** What they say is wrong; null where all is right. */
  look(reports: readonly HostArray[]): Failure | null;
}

/**
 * Run about which is not yet known whether its operators refuse elements: the device has not been asked. Meanwhile
 * other runs go on with its results, and fail if it does.
 */
export class Origin {
  /** Set when it is known. */
  failure: Failure | null = null;
  isKnown = false;
  #reports: Reports | null;
  /** Runs that the operands come from. */
  #parents: readonly Origin[];

  constructor(reports: Reports | null, parents: readonly Origin[]) {
    this.#reports = reports;
    this.#parents = parents;
  }

  /** An origin that is known to have failed. */
  static failed(error: unknown): Origin {
    const origin = new Origin(null, []);
    origin.#end({ error });
    return origin;
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

/** The origins of operands that may be wrong, each once. */
export function openOrigins(operands: readonly { readonly origin: Origin | null }[]): Origin[] {
  const open = operands.flatMap(({ origin }) =>
    origin === null || (origin.isKnown && origin.failure === null) ? [] : [origin],
  );
  return [...new Set(open)];
}
