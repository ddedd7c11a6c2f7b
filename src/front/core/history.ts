import type { Attributes } from '../../base/attributes/schema.js';
import type { Program } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import type { Declaration } from '../../ops/declare/declare.js';
import type { Capture } from './capture.js';
import type { Operation } from './operation.js';
import type { NDArray } from './ndarray.js';

/**
 * What one `record` has seen. It is over when a backward pass has used it up; until then the arrays
 * that took part must keep their values.
 */
export class Session {
  isOpen = true;
  /** The arrays with an attached gradient that took part, whether or not the result depends on them. */
  readonly participants: Set<NDArray> = new Set();
}

/**
 * A call that an array remembers, because it is still to be run (deferred) or because gradients may
 * flow back through it (recorded). Calls link to the arrays they read and arrays to the call that made
 * them, so whatever nothing can reach any more is simply collected: there is no tape to grow. `layOut`
 * turns the part that matters into a `Program`, which is what everything else works on.
 */
export class Origin {
  readonly declaration: Declaration;
  readonly attributes: Attributes;
  readonly regions: readonly Program[];
  /** The user's line; known for captured calls only, where there is time to find it. */
  readonly source: string | undefined;
  /** Grows from call to call: ascending order is an order in which the calls can run. */
  readonly serial: number;
  /** The capture the call was deferred by; null for one that ran at once. */
  readonly capture: Capture | null;
  /** The recording the call took part in; null when gradients stop here. */
  readonly session: Session | null;
  /** Whether an array with an attached gradient lies behind the call. */
  readonly isTracked: boolean;
  /** Of captured calls: whether gradients stop at them, and whether a backward pass has made them. */
  isPaused = false;
  isBackward = false;
  /** Arrays whose shapes tell the sizes that the call speaks of, where no operand does. */
  sizedBy: readonly NDArray[] = none;
  /** The types of the results as they were captured, with sizes that have become numbers since. */
  captured: readonly TensorType[] | null = null;
  operands: readonly NDArray[];
  results: readonly NDArray[];
  /** True once a backward pass has used the call up and dropped what it held. */
  isReleased: boolean;

  // Positional, and no object in between: this is on the path of every recorded call.
  constructor(
    { declaration, attributes, regions }: Operation,
    operands: readonly NDArray[],
    results: readonly NDArray[],
    capture: Capture | null,
    session: Session | null,
    source: string | undefined,
  ) {
    this.declaration = declaration;
    this.attributes = attributes;
    this.regions = regions;
    this.source = source;
    this.serial = nextSerial++;
    this.capture = capture;
    this.session = session;
    this.isTracked = session !== null && operands.some(isTracked);
    this.operands = operands;
    this.results = results;
    this.isReleased = false;
  }

  /**
   * Ends the call's part in gradients. One that ran at once forgets operands and results, so that the
   * chain behind it can be collected; a deferred one still needs them to run.
   */
  release(): void {
    this.isReleased = true;
    if (this.capture !== null) return;
    this.operands = [];
    this.results = [];
  }
}

const none: readonly NDArray[] = [];
let nextSerial = 0;

/** The serial that the next call will get. */
export function currentSerial(): number {
  return nextSerial;
}

/** Whether a backward pass is likely to ask for the array's gradient. */
export function isTracked({ gradient, origin }: NDArray): boolean {
  return (gradient !== null && gradient.req !== 'null') || origin?.isTracked === true;
}

/**
 * The calls that `heads` depend on, for elements or for sizes, in an order in which they can run. `follow` says whether to look
 * behind an array; where it refuses, the array is a leaf.
 */
export function collectOrigins(
  heads: Iterable<NDArray>,
  follow: (array: NDArray, origin: Origin) => boolean,
): Origin[] {
  const found = new Set<Origin>();
  const stack: NDArray[] = [...heads];
  for (let array = stack.pop(); array !== undefined; array = stack.pop()) {
    const { origin } = array;
    if (origin === null || found.has(origin) || !follow(array, origin)) continue;
    found.add(origin);
    const { operands, sizedBy } = origin;
    for (let i = 0; i < operands.length; i++) stack.push(operands[i]);
    for (let i = 0; i < sizedBy.length; i++) stack.push(sizedBy[i]);
  }
  return [...found].sort((a, b) => a.serial - b.serial);
}
