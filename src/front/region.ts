import { InternalError, UnsupportedError } from '../base/errors.js';
import { flatten, type Structure, unflatten } from '../base/tree.js';
import type { TensorType } from '../ir/types.js';
import { Capture } from './capture.js';
import { type GraphParts, layOutGraph, writesOf } from './graph.js';
import { takeState } from './generator.js';
import { Session } from './history.js';
import { mode, withMode } from './mode.js';
import type { NDArray } from './ndarray.js';
import { isArray } from './signature.js';

/** The body of something that is captured as one operator: a loop, a branch, a function with its own gradient. */
export interface Region {
  /** Its graph. The arrays that the body uses from outside are reads, found by identity. */
  readonly parts: GraphParts;
  /** The nesting of the body's result. */
  readonly outputs: Structure;
  /** The types of the result's arrays. */
  readonly types: readonly TensorType[];
}

/**
 * Runs a body once on stand-ins of given types, inside whatever is being captured already, and lays it
 * out as a program of its own. Arrays of the surroundings that it uses become inputs, state that it
 * writes becomes outputs.
 */
export function traceRegion(
  op: string,
  types: readonly TensorType[],
  body: (inputs: readonly NDArray[]) => unknown,
): Region {
  const capture = new Capture('trace', mode.capture?.sizes, mode.capture);
  const inputs = types.map((type) => capture.placeholder(type));
  const session = mode.session === null ? null : new Session();
  const result = withMode({ capture, session }, op, () => body(inputs));
  const { leaves, structure } = flatten(result, isArray, op);
  const parts = layOutGraph({
    inputs: inputs.map((array, i) => ({ name: `x${i}`, array })),
    outputs: leaves.map((array, i) => ({ name: `y${i}`, array: capture.current(array) })),
    writes: writesOf(capture, (array) => array),
    follow: (origin) => origin.capture === capture,
    outside: (array) => ({ name: 'outer', source: { kind: 'array', of: array } }),
  });
  return {
    parts,
    outputs: structure,
    types: parts.program.outputs.slice(0, leaves.length).map(({ value }) => value.type),
  };
}

/**
 * The arrays that a region's program reads from outside, in the order of its inputs. For operators that
 * have no way to hand back what a body writes.
 * @throws UnsupportedError when the body writes state.
 */
export function outsideOperands(op: string, { parts }: Region): readonly NDArray[] {
  const { reads, writes } = parts;
  let draws = 0;
  for (const write of writes) {
    if (write.kind === 'random') draws = write.draws;
    else {
      throw new UnsupportedError('state was written where it cannot be handed back', {
        op,
        advice: 'return the new value, and assign it outside',
      });
    }
  }
  return reads.map((read) => {
    if (read.kind === 'random') return takeState(draws);
    if (read.kind === 'array' && typeof read.of !== 'number') return read.of;
    throw new InternalError('a body read something that only its surroundings have', { op });
  });
}

/** Puts the results of a region's program back into the body's nesting. */
export function nestResults({ outputs }: Region, results: readonly NDArray[]): unknown {
  return unflatten(outputs, results);
}
