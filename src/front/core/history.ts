import type { Attributes } from '../../base/attributes/schema.js';
import type { Program } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import type { Declaration } from '../../ops/declare/declare.js';
import { isRootCall } from '../../ops/declare/facets.js';
import type { Capture } from './capture.js';
import type { Operation } from './operation.js';
import type { NDArray } from './ndarray.js';

/**
 * One recording of `record`. It ends when a backward pass has consumed it; until then its participants must
 * keep their values.
 */
export class Session {
  isOpen = true;
  /** Participating arrays with an attached gradient, even if the result does not depend on them. */
  readonly participants: Set<NDArray> = new Set();
}

/**
 * A call that made an array, kept because it is still to run (deferred) or because gradients may flow through
 * it (recorded). Calls link to the arrays they read and arrays to the call that made them, so unreachable
 * calls are garbage collected: there is no tape to grow. `layOut` turns the relevant part into a `Program`.
 */
export class Origin {
  readonly declaration: Declaration;
  readonly attributes: Attributes;
  readonly regions: readonly Program[];
  /** The user's line; known for captured calls only, because finding it takes time. */
  readonly source: string | undefined;
  /** Increases from call to call: ascending order is an execution order. */
  readonly serial: number;
  /** The capture that deferred the call; null for an eager call. */
  readonly capture: Capture | null;
  /** The recording of the call; null when gradients stop here. */
  readonly session: Session | null;
  /** True when the call depends on an array with an attached gradient. */
  readonly isTracked: boolean;
  /** Of captured calls: gradients stop at them (paused), and a backward pass made them. */
  isPaused = false;
  isBackward = false;
  /** Arrays whose shapes reveal sizes of the call that no operand has. */
  sizedBy: readonly NDArray[] = none;
  /** The captured result types, with sizes that have become numbers since. */
  captured: readonly TensorType[] | null = null;
  operands: readonly NDArray[];
  results: readonly NDArray[];
  /** True once a backward pass has consumed the call and dropped its values. */
  isReleased: boolean;

  // Positional parameters without an options object: this runs for every recorded call.
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
   * Removes the call from gradients. An eager call drops operands and results, so that earlier calls can be
   * collected; a deferred one still needs them to run.
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

/** The serial of the next call. */
export function currentSerial(): number {
  return nextSerial;
}

/** True when a backward pass is likely to need the array's gradient. */
export function isTracked({ gradient, origin }: NDArray): boolean {
  return (gradient !== null && gradient.req !== 'null') || origin?.isTracked === true;
}

/**
 * The calls that `heads` depend on, for elements or sizes, in execution order. `follow` decides if the
 * history of an array is visited; otherwise the array is a leaf.
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

/**
 * Captured calls that must run with others though no array depends on them: checks, and loops and branches that
 * check. Later ones are among them: eager code that fails returns no array either.
 */
export function rootCallsWith(origins: readonly Origin[]): readonly Origin[] {
  const captures = new Set(origins.map(({ capture }) => capture));
  return [...captures].flatMap((capture) =>
    (capture?.calls.checked ?? []).filter(({ declaration, regions }) =>
      isRootCall(declaration, regions),
    ),
  );
}
