import { flattenTree, type TreeStructure, unflattenTree } from '../../base/attributes/tree.js';
import type { TensorType } from '../../ir/types.js';
import type { NewGradient } from '../capture/gradients.js';
import { Capture } from '../core/capture.js';
import { Cuts, type KnownResult, type CodeSection } from './cuts.js';
import type { FieldsFound } from '../fields/guards.js';
import { FieldSnapshot } from '../fields/snapshot.js';
import type { FieldWatch } from '../fields/watch.js';
import { endDraws } from '../dispatch/generator.js';
import { Session } from '../core/history.js';
import { KeptGradient } from '../core/kept-gradient.js';
import { LiveValues } from './live.js';
import { readResult } from '../dispatch/absent-values.js';
import { type Mode, mode, withMode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import { layOutSegments, type Segment } from './segments.js';
import { isArray, leafNames, type CallSignature } from '../graphs/signature.js';

/** Result of tracing a function on placeholders. */
export interface Trace {
  /** Its graphs, in order; one unless side-effect code cuts it. */
  readonly segments: readonly Segment[];
  /** Number of values passed between graphs: first the arguments. */
  readonly localCount: number;
  /** The locals that the function returns. */
  readonly returns: readonly number[];
  /** The nesting of the function's result. */
  readonly outputs: TreeStructure;
  /** Names of symbolic sizes that the function read as numbers. */
  readonly sizesRead: SizesRead;
  /** Names of symbolic sizes that the function received as symbols. */
  readonly sizesHandedOut: ReadonlySet<string>;
  /** Assumptions about the freshness of gradients of outer arrays. */
  readonly newGradients: readonly (NewGradient<NDArray> & { readonly name: string })[];
}

/** The results of a trace that had to run while it was captured, because of its side-effect code. */
export interface FirstRun {
  /** The results of the traced call. */
  readonly results: readonly NDArray[];
  /** The arguments and the results of side-effect code, by the numbers of locals. */
  readonly locals: readonly NDArray[];
}

export interface TraceRequest {
  readonly signature: CallSignature;
  /** The types of the arguments, with symbols where the trace serves all sizes. */
  readonly types: readonly TensorType[];
  /** Values of those symbols in this call. */
  readonly sizes: ReadonlyMap<string, number>;
  /** Names of those that must stay symbols. Default none. */
  readonly declared?: ReadonlySet<string>;
  /** A name for an outer array. */
  nameOf(array: NDArray): string | undefined;
  /** Default `refuse`. */
  readonly sideEffects?: SideEffects;
  /** False for a run that is only compared: finding the user's lines takes longer than the rest. */
  readonly withSources?: boolean | undefined;
  /** Numbers that stand for symbols of the trace that the run is compared with. Default none. */
  readonly pinned?: Iterable<number> | undefined;
  /** Watches which fields of objects the run reads. */
  readonly watch?: FieldWatch | undefined;
  /** Called when a run fails, with the sizes that it read as numbers and those it received as symbols. */
  readonly onFailure?: ((sizesRead: SizesRead, handedOut: ReadonlySet<string>) => void) | undefined;
}

/** Sizes that code has read as numbers, by name, with the line of the first read. */
export type SizesRead = ReadonlyMap<string, string | undefined>;

/** Handling of side-effect code: refused, run, or replaced by its results from an earlier trace. */
export type SideEffects = 'refuse' | 'run' | readonly KnownResult[];

/** A trace, and further observations of the run. */
export interface TracedRun {
  readonly trace: Trace;
  readonly firstRun: FirstRun | null;
  /** The fields of the objects that the run has worked with. */
  readonly fields: FieldsFound;
  /** Gradient modes of outer arrays when the run first saw them. */
  readonly gradients: ReadonlyMap<NDArray, string>;
}

/** Runs `fn` once with lazy arrays and lays out its graphs. */
export function traceFunction(fn: (...args: never[]) => unknown, request: TraceRequest): TracedRun {
  const capture = new Capture('trace', request.sizes);
  if (request.declared !== undefined) capture.sizes.declared = request.declared;
  for (const size of request.pinned ?? []) capture.sizes.pinned.add(size);
  const fields = new FieldSnapshot();
  capture.fields = fields;
  try {
    return traceInto(capture, fields, fn, request);
  } catch (error) {
    request.onFailure?.(capture.sizes.readAsNumbers, capture.sizes.handedOut);
    throw error;
  } finally {
    capture.gradients.end();
    // Arrays refer to their readers, and must not keep blocks alive through them.
    capture.fields = null;
    // Releases outer arrays from recordings that only the trace has seen.
    for (const session of capture.calls.sessions) session.isOpen = false;
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
      readResult(fn(...(unflattenTree(structure, given) as never[]))),
    );
  const result = watch === undefined ? run() : watch.during(run);
  const fields = { before, changed: before.changes(), byCode: cuts?.changedFields ?? noPaths };
  const { leaves: returned, structure: outputs } = flattenTree(result, isArray);
  // A written and returned array stands for its new value.
  const wanted = returned.map((array) => capture.state.current(array));
  const stretches = cuts?.finish() ?? [uncut(capture)];
  const inputNames = leafNames(structure, 'input');
  const outputNames = leafNames(outputs, 'output');
  const distinct = [...standIns.values()];
  const layout = layOutSegments({
    capture,
    // Values that the code has recorded itself, and not consumed, have gradients.
    stopsUnrecorded: session === null && wanted.some(isRecordedOpen),
    stretches,
    inputs: distinct.map((array, i) => ({ name: inputNames[positions[i]], array })),
    outputs: wanted.map((array, i) => ({ name: outputNames[i], array })),
    nameOf,
  });
  const newGradients = capture.gradients.assumptions.map((each) => ({
    ...each,
    name: `${nameOf(each.array) ?? 'captured'}_gradient`,
  }));
  const { readAsNumbers: sizesRead, handedOut: sizesHandedOut } = capture.sizes;
  const trace = { ...layout, outputs, sizesRead, sizesHandedOut, newGradients };
  const gradients = capture.gradients.modes;
  if (!live.hasRun) return { trace, firstRun: null, fields, gradients };
  const locals = [...distinct, ...stretches.flatMap(({ cut }) => cut?.results ?? [])];
  const [results, values] = [wanted, locals].map((arrays) => arrays.map((each) => live.of(each)));
  live.finish(wanted.some(isRecordedOpen));
  return { trace, firstRun: { results, locals: values }, fields, gradients };
}

const noPaths: ReadonlySet<string> = new Set();

function isRecordedOpen({ origin }: NDArray): boolean {
  return origin?.session?.isOpen === true && !origin.isReleased;
}

function uncut(capture: Capture): CodeSection {
  return {
    effects: capture.takeEffects(),
    draws: endDraws(capture),
    end: Infinity,
    cut: null,
  };
}

/** The positions of the first occurrences of arrays: the arguments of a traced graph. */
export function distinctPositions(leaves: readonly NDArray[]): number[] {
  const seen = new Set<NDArray>();
  return leaves.flatMap((leaf, i) => {
    if (seen.has(leaf)) return [];
    seen.add(leaf);
    return [i];
  });
}
