import { flatten, type Structure, unflatten } from '../base/tree.js';
import type { TensorType } from '../ir/types.js';
import { Capture } from './capture.js';
import { escaped } from './dispatch.js';
import { type GraphParts, type Holder, layOutGraph } from './graph.js';
import { Session } from './history.js';
import { mode, withMode } from './mode.js';
import { KeptGradient } from './keptgradient.js';
import type { NDArray } from './ndarray.js';
import { isArray, leafNames, type Signature } from './signature.js';

/** What one run of a function with stand-ins for its arguments has shown. */
export interface Trace {
  readonly parts: GraphParts;
  /** The nesting of the function's result. */
  readonly outputs: Structure;
  /** Names of symbolic sizes that the function looked at as numbers. */
  readonly sizesRead: ReadonlySet<string>;
}

export interface TraceRequest {
  readonly signature: Signature;
  /** The types of the arguments, sizes symbolic where the trace is to hold for all of them. */
  readonly types: readonly TensorType[];
  /** The sizes of those symbols in this call. */
  readonly sizes: ReadonlyMap<string, number>;
  /** A name for an array that the function uses from outside. */
  nameOf(array: NDArray): string | undefined;
}

/** Runs `fn` once with lazy arrays and lays out what it did. */
export function traceFunction(
  fn: (...args: never[]) => unknown,
  { signature, types, sizes, nameOf }: TraceRequest,
): Trace {
  const capture = new Capture('trace', sizes);
  const { leaves, structure } = signature;
  // An array that is passed twice is one array inside, too.
  const positions = distinctPositions(leaves);
  const standIns = new Map(
    positions.map((position, i) => {
      const { gradient } = leaves[position];
      const standIn = capture.placeholder(types[position]);
      if (gradient !== null) standIn.gradient = new KeptGradient(gradient.req);
      return [leaves[position], { standIn, given: i }];
    }),
  );
  const placeholders = leaves.map((leaf) => standIns.get(leaf)!.standIn);
  const session = mode.session === null ? null : new Session();
  const result = withMode({ capture, session }, 'hybridize', () =>
    fn(...(unflatten(structure, placeholders) as never[])),
  );
  const { leaves: outputs, structure: outputStructure } = flatten(result, isArray);
  const givenAs = new Map([...standIns.values()].map(({ standIn, given }) => [standIn, given]));
  const holder = (array: NDArray): Holder => givenAs.get(array) ?? array;
  const inputNames = leafNames(structure, 'input');
  const outputNames = leafNames(outputStructure, 'output');
  const gradientOf = new Map([...capture.gradientReads].map(([array, read]) => [read, array]));
  const parts = layOutGraph({
    inputs: positions.map((i) => ({ name: inputNames[i], array: placeholders[i] })),
    // An array that the function wrote and then returned has its new value by then.
    outputs: outputs.map((array, i) => ({ name: outputNames[i], array: capture.current(array) })),
    writes: [
      ...[...capture.updates].map(([array, value]) => ({
        target: { kind: 'array', of: holder(array) } as const,
        array: value,
      })),
      ...[...capture.gradients].map(([array, value]) => ({
        target: { kind: 'gradient', of: holder(array) } as const,
        array: value,
      })),
    ],
    follow: (origin) => origin.capture === capture,
    outside: (array) => {
      const owner = gradientOf.get(array);
      if (owner !== undefined) {
        const name = `${nameOf(owner) ?? 'captured'}_gradient`;
        return { name, source: { kind: 'gradient', of: holder(owner) } };
      }
      const host = capture.hostReads.get(array);
      if (host !== undefined) return { name: host.name, source: { kind: 'host', of: host } };
      if (isForeign(array)) throw escaped('hybridize', array);
      return { name: nameOf(array) ?? 'captured', source: { kind: 'array', of: array } };
    },
  });
  return {
    parts,
    outputs: outputStructure,
    sizesRead: capture.sizesRead,
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

/** A value of another trace, which stands for nothing any more. */
function isForeign({ elements, origin }: NDArray): boolean {
  return elements === null && (origin === null || origin.capture?.kind === 'trace');
}
