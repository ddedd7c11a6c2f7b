import { type DimExpr, isStatic } from '../../base/dim/index.js';
import { symbolsOfAttributes } from '../../base/attributes/schema.js';
import { InternalError, UnsupportedError } from '../../base/errors.js';
import { flattenTree, type TreeStructure, unflattenTree } from '../../base/attributes/tree.js';
import { symbolsOfTypes, undeterminedSymbols } from '../../ir/bind.js';
import { Program } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { instantiate } from '../../passes/rewrite/transform.js';
import type { NewGradient } from '../capture/gradients.js';
import { Capture } from '../core/capture.js';
import { escaped, joinRecording } from '../dispatch/dispatch.js';
import { type GraphParts, layOutGraph, type ExternalRef, writesOf } from './graph.js';
import { continueFrom, endDraws, takeState } from '../dispatch/generator.js';
import {
  inAlternatives,
  type GradientMark,
  isNewAfter,
  undecided,
  untouched,
} from '../capture/gradient-use.js';
import { collectOrigins, type Origin, Session } from '../core/history.js';
import { mode, withMode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import { isArray } from './signature.js';
import {
  assignArray,
  gradOf,
  keepGradient,
  markGradient,
  replaceGradient,
} from '../dispatch/values.js';

/** The body of an operator: of a loop, a branch, or a function with a custom gradient. */
export interface TracedRegion {
  /** Its graph. Captured outer arrays are reads, found by identity. */
  readonly parts: GraphParts;
  /** The nesting of the body's result. */
  readonly nesting: TreeStructure;
  /** The types of the result's arrays. */
  readonly types: readonly TensorType[];
  /** The arrays that its calls use, in their order, outer ones among them. */
  readonly used: ReadonlySet<NDArray>;
  /** Effects of the body on the gradients of outer arrays. */
  readonly marks: ReadonlyMap<NDArray, GradientMark>;
  /** Freshness of gradients before the body. */
  readonly newGradients: readonly NewGradient<NDArray>[];
}

/** Names of results of regions, for errors about them. */
const outputNames = new WeakMap<NDArray, string>();

/** Names an array where it is a result of a region. */
export function nameOutput(array: NDArray, name: string): void {
  outputNames.set(array, name);
}

/**
 * Traces a body once on placeholders of given types, inside the current capture, and lays it out as a program
 * of its own. Captured outer arrays become inputs, written state becomes outputs.
 */
export function traceRegion(
  op: string,
  types: readonly TensorType[],
  body: (inputs: readonly NDArray[]) => unknown,
): TracedRegion {
  const capture = new Capture('trace', mode.capture?.sizes.known, mode.capture, true);
  const inputs = types.map((type) => capture.placeholder(type));
  const session = mode.session === null ? null : new Session();
  try {
    const result = withMode({ capture, session }, op, () => body(inputs));
    const { leaves, structure } = flattenTree(result, isArray, op);
    const names = new Set<string>();
    const nameOf = (array: NDArray, i: number): string => {
      const own = outputNames.get(array);
      const name = own === undefined || names.has(own) ? `y${i}` : own;
      names.add(name);
      return name;
    };
    const outputs = leaves.map((array, i) => ({
      name: nameOf(array, i),
      array: capture.state.current(array),
    }));
    const writes = writesOf(
      {
        updates: capture.state.updates,
        gradients: capture.gradients.assigned,
        attached: capture.gradients.attached,
      },
      (array) => array,
    );
    const kept = capture.calls.checked;
    const heads = [...outputs, ...writes].map(({ array }) => array);
    const { used, sized, sizes } = fromOutside(capture, types, [
      ...heads,
      ...kept.flatMap((each) => each.results),
    ]);
    const { reads, ...parts } = layOutGraph({
      sizes,
      // First, so that sizes of the body's own data do not get names of the enclosing code.
      inputs: [...inputs, ...sized].map((array, i) => ({ name: `x${i}`, array })),
      outputs,
      writes,
      kept,
      draws: endDraws(capture),
      follow: (origin) => origin.capture === capture,
      outside: (array) => ({ name: 'outer', source: outsideArray(op, array) }),
    });
    return {
      parts: { ...parts, reads: [...sized.map((array) => outsideArray(op, array)), ...reads] },
      nesting: structure,
      types: parts.program.outputs.slice(0, leaves.length).map(({ value }) => value.type),
      used,
      marks: capture.gradients.marks,
      newGradients: capture.gradients.assumptions,
    };
  } finally {
    // Arrays from outside that the body reads take part in the enclosing recording.
    if (session !== null) {
      session.isOpen = false;
      for (const array of capture.calls.touched) if (!isStray(array)) joinRecording(array);
    }
  }
}

/**
 * The arrays that a body uses, in the order of its calls, the outer ones with symbolic sizes among them, and the sizes of the enclosing code that the body speaks of but
 * its operands do not determine: it is passed these.
 */
function fromOutside(
  capture: Capture,
  types: readonly TensorType[],
  heads: readonly NDArray[],
): {
  readonly used: ReadonlySet<NDArray>;
  readonly sized: readonly NDArray[];
  readonly sizes: readonly DimExpr[];
} {
  const isInside = (origin: Origin | null): boolean => origin?.capture === capture;
  const origins = collectOrigins(heads, (_, origin) => isInside(origin));
  const isSized = (array: NDArray): boolean =>
    !capture.placeholders.has(array) &&
    !isInside(array.origin) &&
    !array.type.shape.every(isStatic);
  const used = new Set([...origins.flatMap(({ operands }) => operands), ...heads]);
  const sized = [...used].filter(isSized);
  const spoken = symbolsOfTypes(origins.flatMap(({ results }) => results.map(({ type }) => type)));
  for (const { declaration, attributes } of origins)
    symbolsOfAttributes(declaration.attributes, attributes, spoken);
  const open = undeterminedSymbols([...types, ...sized.map(({ type }) => type)], spoken);
  return { used, sized, sizes: open.filter(({ key }) => mode.capture?.sizes.tells(key) === true) };
}

function outsideArray(op: string, of: NDArray): ExternalRef {
  if (isStray(of)) throw escaped(op, of);
  return { kind: 'array', of };
}

/** True for a value of a finished body or function. */
function isStray(array: NDArray): boolean {
  if (array.elements !== null || mode.capture?.owns(array) === true) return false;
  return array.origin === null || array.origin.capture?.kind === 'trace';
}

/** True when a body draws random numbers, or writes state or gradients. */
export function writesState({ parts: { writes } }: TracedRegion): boolean {
  return writes.length > 0;
}

/** Outer state that bodies write: it enters and leaves the operator like explicit operands. */
export interface Carried {
  readonly before: NDArray;
  /** Assigns its new value, in the enclosing code. */
  readonly put: (after: NDArray) => void;
}

/** Programs without reads other than their inputs. */
export interface ClosedRegions {
  /**
   * Their inputs are the regions' own, then the carried state, then the captures. Their outputs are the
   * regions' own, then the carried state.
   */
  readonly programs: readonly Program[];
  readonly carried: readonly Carried[];
  readonly captures: readonly NDArray[];
  /** Sizes of the enclosing code that all of them are passed. */
  readonly sizes: readonly DimExpr[];
}

/**
 * Gives the bodies of one operator common inputs.
 * @param giving Number of leading bodies that return the carried state. Default all.
 */
export function closeRegions(
  op: string,
  regions: readonly TracedRegion[],
  giving: number = regions.length,
): ClosedRegions {
  const carried = carriedBy(op, regions);
  const random = carried.find(({ target }) => target.kind === 'random')?.before;
  const readOf = (read: ExternalRef): NDArray =>
    read.kind === 'random' ? random! : arrayOf(op, read);
  const operands = new Set(carried.map(({ before }) => before));
  for (const { parts, used } of regions) {
    // In an order that does not depend on which sizes are symbols: traces for all sizes are compared with others.
    const reads = new Set(parts.reads.map(readOf));
    for (const array of used) if (reads.has(array)) operands.add(array);
    for (const array of reads) operands.add(array);
  }
  const shared = [...operands];
  const sizes = sizesOf(regions);
  const programs = regions.map(({ parts, types }, index) => {
    const into = new Program();
    for (const size of sizes) into.takeSize(size);
    const { inputs } = parts.program;
    const own = inputs.slice(0, inputs.length - parts.reads.length);
    const given = own.map(({ type }, i) => into.variable(`x${i}`, type));
    const values = new Map(
      shared.map(({ type }, i) => {
        const name = i < carried.length ? `s${i}` : `c${i - carried.length}`;
        return [shared[i], into.variable(name, type)];
      }),
    );
    const read = parts.reads.map((source) => values.get(readOf(source))!);
    const results = instantiate(parts.program, into, [...given, ...read]);
    const returned = results.slice(0, types.length);
    const after = carried.map(({ target, before }) => {
      const at = parts.writes.findIndex((write) => isSame(write, target));
      return at < 0 ? values.get(before)! : results[types.length + at];
    });
    into.setOutputs([
      ...returned.map((value, i) => ({ name: parts.program.outputs[i].name, value })),
      ...(index < giving ? after : []).map((value, i) => ({ name: `s${i}`, value })),
    ]);
    return into;
  });
  return { programs, carried, captures: shared.slice(carried.length), sizes };
}

/** The sizes of the enclosing code that some regions are passed, without repetition. */
export function sizesOf(regions: readonly TracedRegion[]): readonly DimExpr[] {
  const all = regions.flatMap(({ parts }) => parts.program.sizes);
  return [...new Map(all.map((size) => [size.key, size])).values()];
}

function arrayOf(op: string, read: ExternalRef): NDArray {
  if (read.kind === 'array' && typeof read.of !== 'number') return read.of;
  throw new InternalError('a body uses something that only its surroundings have', { op });
}

interface Slot extends Carried {
  readonly target: ExternalRef;
}

/** State that the bodies write, without repetition. */
function carriedBy(op: string, regions: readonly TracedRegion[]): readonly Slot[] {
  const slots: Slot[] = [];
  for (const { parts } of regions) {
    for (const target of parts.writes) {
      if (!slots.some((slot) => isSame(slot.target, target))) slots.push(slotFor(op, target));
    }
  }
  return slots;
}

function slotFor(op: string, target: ExternalRef): Slot {
  if (target.kind === 'random') return { target, before: takeState(0), put: continueFrom };
  if (target.kind === 'host' || typeof target.of === 'number') {
    throw new InternalError('a body writes something that only its surroundings have', { op });
  }
  const { of } = target;
  if (target.kind === 'array') {
    const before = mode.capture?.state.current(of) ?? of;
    return { target, before, put: (after) => assignArray(of, after) };
  }
  const { attach } = target;
  return {
    target,
    before: gradOf(of)!,
    put: (after) => {
      if (attach !== undefined) keepGradient(of, attach);
      replaceGradient(of, after);
    },
  };
}

/** Number of runs of an operator's region. */
export type Runs =
  /** Exactly one of both regions runs once. */
  | 'one of two'
  | 'once'
  /** It runs at least once. */
  | 'at least once'
  | 'any number of times';

/**
 * Assigns the final values of the carried state, in the enclosing code.
 *
 * @throws UnsupportedError for a loop in which the freshness of a gradient differs between the first and
 * later iterations.
 */
export function carryOut(
  carried: readonly Carried[],
  after: readonly NDArray[],
  regions: readonly TracedRegion[],
  runs: Runs,
): void {
  const mayRepeat = runs === 'at least once' || runs === 'any number of times';
  if (mayRepeat) for (const region of regions) checkIterations(region);
  const marked = new Set(regions.flatMap(({ marks }) => [...marks.keys()]));
  const added = [...marked].map((array) => {
    const each = regions.map(({ marks }) => marks.get(array) ?? untouched);
    const mark = runs === 'one of two' ? inAlternatives(each[0], each[1]) : each[0];
    return [
      array,
      runs === 'any number of times' ? inAlternatives(mark, untouched) : mark,
    ] as const;
  });
  carried.forEach(({ put }, k) => put(after[k]));
  for (const [array, mark] of added) markGradient(array, mark);
}

/** Checks that an iteration can start with the gradients that the previous one has left. */
function checkIterations({ marks, newGradients }: TracedRegion): void {
  for (const { array, user, isNew } of newGradients) {
    const next = isNewAfter(marks.get(array) ?? untouched, user, () => isNew);
    if (next !== isNew) throw undecided(user);
  }
}

function isSame(a: ExternalRef, b: ExternalRef): boolean {
  return a.kind === b.kind && (a.kind === 'random' || a.of === (b as typeof a).of);
}

/**
 * The outer arrays that a region's program reads, in the order of its inputs. For operators that cannot
 * return writes of a body.
 * @throws UnsupportedError when the body writes state.
 */
export function outsideOperands(op: string, { parts }: TracedRegion): readonly NDArray[] {
  const { reads, writes } = parts;
  let draws = 0;
  for (const write of writes) {
    if (write.kind === 'random' && write.draws !== null) draws = write.draws;
    else if (write.kind === 'random') {
      throw new UnsupportedError(
        'a loop or a branch draws random numbers where they cannot be counted',
        {
          op,
          advice: 'draw outside, and use the numbers inside',
        },
      );
    } else {
      throw new UnsupportedError('state was written where it cannot be returned', {
        op,
        advice: 'return the new value, and assign it outside',
      });
    }
  }
  return reads.map((read) => (read.kind === 'random' ? takeState(draws) : arrayOf(op, read)));
}

/** Restores the nesting of a body's results. */
export function nestResults({ nesting }: TracedRegion, results: readonly NDArray[]): unknown {
  return unflattenTree(nesting, results);
}
