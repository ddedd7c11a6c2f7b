import { determinedSymbols, symbolsOfTypes } from '../../ir/bind.js';
import type { TensorType } from '../../ir/types.js';
import type { TreeStructure } from '../../base/attributes/tree.js';
import type { Capture } from '../core/capture.js';
import type { KnownResult, CodeSection } from './cuts.js';
import { escaped } from '../dispatch/dispatch.js';
import {
  type GraphParts,
  type Holder,
  layOutGraph,
  type ExternalRef,
  writesOf,
} from '../graphs/graph.js';
import { collectOrigins, type Origin } from '../core/history.js';
import type { Named } from '../graphs/layout.js';
import type { NDArray } from '../core/ndarray.js';
import type { StaticCode } from '../core/static-code.js';

/*
 * Captured code that side-effect code cuts is a graph for each stretch. What one stretch computes and a
 * later one reads goes over by number: the locals of a call, of which the given arrays are the first.
 */

/** The graph of one stretch. */
export interface Segment {
  readonly parts: GraphParts;
  /** The locals that are its arguments, in order. Holders in `parts` that are numbers index this list. */
  readonly takes: readonly number[];
  /** The locals that its results become, in order. */
  readonly gives: readonly number[];
  /** The side-effect code that runs after it; null at the end. */
  readonly code: CodeCall | null;
}

/** A call of side-effect code between two graphs. */
export interface CodeCall {
  readonly code: StaticCode;
  readonly source: string | undefined;
  /** The locals that are its arguments. */
  readonly takes: readonly number[];
  readonly argStructure: TreeStructure;
  /** The locals that its array results become. */
  readonly gives: readonly number[];
  readonly known: KnownResult;
}

export interface SegmentsRequest {
  readonly capture: Capture;
  /** See `LayoutRequest`. */
  readonly stopsUnrecorded: boolean;
  readonly stretches: readonly CodeSection[];
  /** Placeholders of the arguments. */
  readonly inputs: readonly Named[];
  readonly outputs: readonly Named[];
  nameOf(array: NDArray): string | undefined;
}

export interface Segments {
  readonly segments: readonly Segment[];
  readonly localCount: number;
  /** The locals of the last segment that are outputs. */
  readonly returns: readonly number[];
}

/** Lays out each stretch, from the last to the first: earlier ones have to return what it needs. */
export function layOutSegments(request: SegmentsRequest): Segments {
  const { stretches, inputs, outputs } = request;
  const locals = new Locals(inputs, stretches);
  const found = foundBy(stretches);
  const wanted: Set<NDArray>[] = stretches.map(() => new Set());
  const segments: Segment[] = [];
  let returns: readonly number[] = [];
  for (let k = stretches.length - 1; k >= 0; k--) {
    const { cut } = stretches[k];
    const results: Named[] =
      cut === null ? [...outputs] : cut.args.map((array, i) => ({ name: `argument_${i}`, array }));
    const gives = results.map(() => locals.fresh());
    for (const array of wanted[k]) {
      gives.push(locals.of(array));
      results.push({ name: `local_${locals.of(array)}`, array });
    }
    const { parts, takes } = layOutStretch(request, k, results, { locals, found, wanted });
    if (cut === null) returns = gives.slice(0, outputs.length);
    segments.unshift({
      parts,
      takes,
      gives,
      code:
        cut === null
          ? null
          : {
              code: cut.code,
              source: cut.source,
              takes: gives.slice(0, cut.args.length),
              argStructure: cut.argStructure,
              gives: cut.results.map((array) => locals.of(array)),
              known: {
                types: cut.results.map(({ type }): TensorType => type),
                structure: cut.resultStructure,
              },
            },
    });
  }
  return { segments, localCount: locals.count, returns };
}

/** Shared data of the stretches. */
interface Exchange {
  readonly locals: Locals;
  /** See `foundBy`. */
  readonly found: ReadonlyMap<NDArray, number>;
  /** Values that each has to return for later ones. */
  readonly wanted: readonly Set<NDArray>[];
}

/**
 * Values that a stretch finds when it starts, by stretch: the state of the generator, and earlier gradients.
 * A later stretch finds others, so reads of the first are passed to it: a gradient reruns a loop with the
 * draws from its original state.
 */
function foundBy(stretches: readonly CodeSection[]): ReadonlyMap<NDArray, number> {
  return new Map(
    stretches.flatMap(({ draws, effects }, k) =>
      [...(draws === undefined ? [] : [draws.base]), ...effects.gradientReads.values()].map(
        (array) => [array, k] as const,
      ),
    ),
  );
}

/** The graph of a stretch; adds to `wanted` what earlier ones have to return for it. */
function layOutStretch(
  { capture, stopsUnrecorded, stretches, inputs, nameOf }: SegmentsRequest,
  k: number,
  results: readonly Named[],
  { locals, found, wanted }: Exchange,
): Pick<Segment, 'parts' | 'takes'> {
  const { effects, draws } = stretches[k];
  const isLast = k === stretches.length - 1;
  const start = k === 0 ? 0 : stretches[k - 1].end;
  const isInside = ({ capture: owner, serial }: Origin): boolean =>
    owner === capture && serial >= start && serial < stretches[k].end;
  const written = [...effects.updates.values(), ...effects.gradients.values()];
  const given: Named[] = [...inputs];
  const isGiven = new Set(given.map(({ array }) => array));
  const take = (array: NDArray): void => {
    if (isGiven.has(array)) return;
    const { origin } = array;
    const maker =
      origin?.capture === capture
        ? stretches.findIndex(({ end }) => origin.serial < end)
        : found.get(array);
    const isStandIn = origin === null && maker === undefined && locals.has(array);
    if (!isStandIn && (maker === undefined || maker === k)) return;
    isGiven.add(array);
    given.push({ name: `local_${locals.of(array)}`, array });
    if (maker !== undefined) wanted[maker].add(array);
  };
  const kept = capture.calls.checked.filter(isInside);
  const heads = [
    ...results.map(({ array }) => array),
    ...written,
    ...kept.flatMap(({ results }) => results),
    // Loops and branches that draw by themselves leave a state, even if their results are dead.
    ...(draws?.tail ? [draws.tail.state] : []),
  ];
  // Without cuts nothing is passed between stretches.
  if (stretches.length > 1) {
    for (const head of heads) take(head);
    for (const { operands, sizedBy } of collectOrigins(heads, (_, origin) => isInside(origin))) {
      for (const operand of operands) take(operand);
      for (const carrier of sizedBy) take(carrier);
    }
    // What is passed on tells its sizes, or comes with an array that does: an extent of `min(3, n)` tells no `n`.
    const types = given.map(({ array }): TensorType => array.type);
    const told = determinedSymbols(types);
    for (const name of symbolsOfTypes(types).keys()) {
      const carrier = told.has(name) ? undefined : capture.sizes.decided.get(name);
      if (carrier !== undefined) take(carrier);
    }
  }
  const positions = new Map(given.map(({ array }, i) => [array, i]));
  const holder = (array: NDArray): Holder => positions.get(array) ?? array;
  const readBy = new Map([...effects.gradientReads].map(([owner, read]) => [read, owner]));
  const parts = layOutGraph({
    inputs: given,
    outputs: results,
    writes: writesOf(effects, holder),
    marks: [...effects.gradientMarks].map(([array, mark]) => ({ of: holder(array), mark })),
    // Results that are returned unread take part through later uses; side-effect code reads unrecorded.
    touched: [...new Set([...capture.calls.touched, ...(isLast ? heads : [])])]
      .filter((array) => positions.has(array) || (array.elements !== null && !array.isConstant))
      .map(holder),
    kept,
    stopsUnrecorded,
    draws: draws ?? null,
    // Calls whose results nothing reads are left out, but not what they refuse.
    demanded: capture.calls.requirements.filter(
      ({ serial }) => serial >= start && serial < stretches[k].end,
    ),
    follow: isInside,
    outside: (array) => {
      const owner = readBy.get(array);
      if (owner !== undefined) {
        const name = `${nameOf(owner) ?? 'captured'}_gradient`;
        return { name, source: { kind: 'gradient', of: holder(owner) } };
      }
      const host = capture.hostReads.get(array);
      if (host !== undefined) return { name: host.name, source: { kind: 'host', of: host } };
      if (isForeign(array)) throw escaped('hybridize', array);
      return { name: nameOf(array) ?? 'captured', source: outsideArray(array) };
    },
  });
  return { parts, takes: given.map(({ array }) => locals.of(array)) };
}

function outsideArray(array: NDArray): ExternalRef {
  return { kind: 'array', of: array };
}

/** Numbers of the values passed between graphs. */
class Locals {
  readonly #numbers: Map<NDArray, number> = new Map();
  count = 0;

  /** Placeholders are numbered first. */
  constructor(inputs: readonly Named[], stretches: readonly CodeSection[]) {
    for (const { array } of inputs) this.of(array);
    for (const { cut } of stretches) for (const array of cut?.results ?? []) this.of(array);
  }

  has(array: NDArray): boolean {
    return this.#numbers.has(array);
  }

  /** A number that no array of the trace has. */
  fresh(): number {
    return this.count++;
  }

  of(array: NDArray): number {
    let number = this.#numbers.get(array);
    if (number === undefined) this.#numbers.set(array, (number = this.fresh()));
    return number;
  }
}

/** True for a value of another trace, which is no longer valid. */
function isForeign({ elements, origin }: NDArray): boolean {
  return elements === null && (origin === null || origin.capture?.kind === 'trace');
}
