import { flatten, type Structure, unflatten } from '../../base/attributes/tree.js';
import type { TensorType } from '../../ir/types.js';
import { Capture, type NewGradient } from '../core/capture.js';
import { Cuts, type KnownResult, type Stretch } from './cuts.js';
import type { FieldsFound } from '../fields/guards.js';
import { FieldSnapshot } from '../fields/snapshot.js';
import type { FieldWatch } from '../fields/watch.js';
import { endDraws } from '../dispatch/generator.js';
import { Session } from '../core/history.js';
import { KeptGradient } from '../core/kept-gradient.js';
import { LiveValues } from './live.js';
import { type Mode, mode, withMode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import { layOutSegments, type Segment } from './segments.js';
import { isArray, leafNames, type Signature } from '../graphs/signature.js';

/** What one run of a function with stand-ins for its arguments has shown. */
export interface Trace {
  /** Its graphs, in order; one unless side-effect code cuts it. */
  readonly segments: readonly Segment[];
  /** How many values the graphs hand to one another: first the given arrays. */
  readonly localCount: number;
  /** Which of those the function returns. */
  readonly returns: readonly number[];
  /** The nesting of the function's result. */
  readonly outputs: Structure;
  /** Names of symbolic sizes that the function looked at as numbers. */
  readonly sizesRead: SizesRead;
  /** Names of symbolic sizes that the function was given as they are. */
  readonly sizesHandedOut: ReadonlySet<string>;
  /** The gradients of arrays from outside that it takes for new, or not, to those who use each once. */
  readonly newGradients: readonly (NewGradient & { readonly name: string })[];
}

/** The results of a trace that had to run while it was made, because of side-effect code in it. */
export interface FirstRun {
  /** The results of the traced call. */
  readonly results: readonly NDArray[];
  /** The given arrays and what side-effect code returned, by the numbers of locals. */
  readonly locals: readonly NDArray[];
}

export interface TraceRequest {
  readonly signature: Signature;
  /** The types of the arguments, sizes symbolic where the trace is to hold for all of them. */
  readonly types: readonly TensorType[];
  /** The sizes of those symbols in this call. */
  readonly sizes: ReadonlyMap<string, number>;
  /** Names of those that must stay symbols. Default none. */
  readonly declared?: ReadonlySet<string>;
  /** A name for an array that the function uses from outside. */
  nameOf(array: NDArray): string | undefined;
  /** Default `refuse`. */
  readonly sideEffects?: SideEffects;
  /** False for a run that is only compared: finding the user's lines takes longer than all the rest. */
  readonly withSources?: boolean | undefined;
  /** Watches which fields of objects the run reads. */
  readonly watch?: FieldWatch | undefined;
  /** Told of a run that fails what sizes it had read as numbers, and which it was given as they are. */
  readonly onFailure?: ((sizesRead: SizesRead, handedOut: ReadonlySet<string>) => void) | undefined;
}

/** Sizes that code has read as numbers, by name, with the line of the first time. */
export type SizesRead = ReadonlyMap<string, string | undefined>;

/**
 * What becomes of side-effect code: it is refused, run, or taken to have given what it gave when an
 * earlier trace was made.
 */
export type SideEffects = 'refuse' | 'run' | readonly KnownResult[];

/** A trace, and what was seen of the run beside it. */
export interface TracedRun {
  readonly trace: Trace;
  readonly firstRun: FirstRun | null;
  /** The fields of the objects that the run has worked with. */
  readonly fields: FieldsFound;
  /** How arrays from outside kept gradients when the run came to them. */
  readonly gradients: ReadonlyMap<NDArray, string>;
}

/** Runs `fn` once with lazy arrays and lays out what it did. */
export function traceFunction(fn: (...args: never[]) => unknown, request: TraceRequest): TracedRun {
  const capture = new Capture('trace', request.sizes);
  if (request.declared !== undefined) capture.declared = request.declared;
  const fields = new FieldSnapshot();
  capture.fields = fields;
  try {
    return traceInto(capture, fields, fn, request);
  } catch (error) {
    request.onFailure?.(capture.sizesRead, capture.sizesHandedOut);
    throw error;
  } finally {
    // Arrays remember who reads them, and must not keep blocks alive with that.
    capture.fields = null;
    // Arrays from outside are not held to recordings that only the trace has seen.
    for (const session of capture.sessions) session.isOpen = false;
  }
}

function traceInto(
  capture: Capture,
  before: FieldSnapshot,
  fn: (...args: never[]) => unknown,
  { signature, types, nameOf, sideEffects = 'refuse', withSources, watch }: TraceRequest,
): TracedRun {
  const { leaves, structure } = signature;
  // An array that is passed twice is one array inside, too.
  const positions = distinctPositions(leaves);
  const standIns = new Map(
    positions.map((position) => {
      const standIn = capture.placeholder(types[position]);
      const { gradient } = leaves[position];
      if (gradient !== null) standIn.gradient = new KeptGradient(gradient.req);
      return [leaves[position], standIn];
    }),
  );
  const outer = mode.session;
  const live = new LiveValues(
    capture,
    outer,
    [...standIns].map(([leaf, standIn]) => [standIn, leaf]),
  );
  const cuts =
    sideEffects === 'refuse'
      ? null
      : new Cuts(capture, live, sideEffects === 'run' ? null : sideEffects);
  const session = outer === null ? null : new Session();
  const given = leaves.map((leaf) => standIns.get(leaf)!);
  const surroundings: Partial<Mode> = {
    isPaused: false,
    isBackward: false,
    ...(withSources === false && { source: '' }),
  };
  const run = (): unknown =>
    withMode({ ...surroundings, capture, session }, 'hybridize', () =>
      fn(...(unflatten(structure, given) as never[])),
    );
  const result = watch === undefined ? run() : watch.during(run);
  const fields = { before, changed: before.changes(), byCode: capture.changedByCode };
  const { leaves: returned, structure: outputs } = flatten(result, isArray);
  // An array that the function wrote and then returned has its new value by then.
  const wanted = returned.map((array) => capture.current(array));
  const stretches = cuts?.finish() ?? [uncut(capture)];
  const inputNames = leafNames(structure, 'input');
  const outputNames = leafNames(outputs, 'output');
  const distinct = [...standIns.values()];
  const layout = layOutSegments({
    capture,
    // Gradients can be asked of what the code has recorded by itself and not used up.
    stopsUnrecorded: session === null && wanted.some(isRecordedOpen),
    stretches,
    inputs: distinct.map((array, i) => ({ name: inputNames[positions[i]], array })),
    outputs: wanted.map((array, i) => ({ name: outputNames[i], array })),
    nameOf,
  });
  const newGradients = [...capture.newGradients.values()].flat().map((each) => ({
    ...each,
    name: `${nameOf(each.array) ?? 'captured'}_gradient`,
  }));
  const { sizesRead, sizesHandedOut } = capture;
  const trace = { ...layout, outputs, sizesRead, sizesHandedOut, newGradients };
  const gradients = capture.gradientsFound;
  if (!live.hasRun) return { trace, firstRun: null, fields, gradients };
  const locals = [...distinct, ...stretches.flatMap(({ cut }) => cut?.results ?? [])];
  const [results, values] = [wanted, locals].map((arrays) => arrays.map((each) => live.of(each)));
  live.finish(wanted.some(isRecordedOpen));
  return { trace, firstRun: { results, locals: values }, fields, gradients };
}

function isRecordedOpen({ origin }: NDArray): boolean {
  return origin?.session?.isOpen === true && !origin.isReleased;
}

function uncut(capture: Capture): Stretch {
  return {
    effects: capture.takeEffects(),
    draws: endDraws(capture),
    end: Infinity,
    cut: null,
  };
}

/** The positions at which arrays occur for the first time: what a traced graph is called with. */
export function distinctPositions(leaves: readonly NDArray[]): number[] {
  const seen = new Set<NDArray>();
  return leaves.flatMap((leaf, i) => {
    if (seen.has(leaf)) return [];
    seen.add(leaf);
    return [i];
  });
}
