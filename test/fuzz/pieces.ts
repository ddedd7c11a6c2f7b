import { backendNamed } from '../../src/runtime/execution/backends.js';
import type { NDArray } from '../../src/index.js';
import { deviceName } from './fuzzed-device.js';
import { type FuzzProgram, madeIn, refsOf, type Step } from './program.js';
import type { Arrays, Body } from './reference.js';
import { type Planted, runSteps, type World } from './run.js';

/*
 * A program in pieces, some of them on another device: arrays go from one device to the other between them.
 */

/** Where and how a piece runs. */
const ways = ['captured there', 'step by step here', 'captured there', 'captured here'] as const;

/** At most so many pieces. */
const most = 4;

interface Piece {
  readonly steps: readonly Step[];
  /** The values that it reads and does not make, and those that are read later. */
  readonly reads: readonly number[];
  readonly gives: readonly number[];
}

type Capture = (fn: (given: unknown) => unknown) => (given: unknown) => unknown;

/** The outputs of a program, piece by piece. */
export function inPieces(world: World, capture: Capture, planted: Planted = {}): Body {
  const { program } = world;
  const pieces = piecesOf(program).map((piece, k) => {
    const way = ways[(k + program.seed) % ways.length];
    const run = (given: unknown): Arrays => {
      const values = new Map(piece.reads.map((id, i) => [id, (given as Arrays)[i]]));
      const made = runSteps({ ...program, steps: piece.steps }, values, planted);
      return piece.gives.map((id) => made.get(id)!);
    };
    const call = way === 'step by step here' ? run : capture(run);
    const move = way === 'captured there' ? there : here;
    return { ...piece, call: (arrays: Arrays) => call(arrays.map(move)) as Arrays };
  });
  return (_, args) => {
    const values = world.bind(args);
    for (const { reads, gives, call } of pieces) {
      const given = reads.map((id) => values.get(id)!);
      call(given).forEach((value, i) => values.set(gives[i], value));
    }
    return program.outputs.map((id) => values.get(id)!);
  };
}

/** A number of rank 0 may stay here: it is taken along. */
function there(array: NDArray): NDArray {
  const name = deviceName();
  const isHeld = backendNamed(name, 'to')!.limits.dtypes.has(array.dtype);
  return isHeld && array.ndim > 0 ? array.to(name) : array;
}

function here(array: NDArray): NDArray {
  return array.to('cpu');
}

function piecesOf({ steps, outputs, seed }: FuzzProgram): readonly Piece[] {
  const count = Math.min(steps.length, 2 + (seed % (most - 1)));
  const parts = Array.from({ length: count }, (_, k) =>
    steps.slice(
      Math.floor((steps.length * k) / count),
      Math.floor((steps.length * (k + 1)) / count),
    ),
  );
  const readBy = parts.map((part) => new Set(part.flatMap(refsOf)));
  return parts.map((part, k) => {
    const made = new Set(part.flatMap(({ results }) => results));
    const inside = new Set(part.flatMap(({ results, regions = [] }) => [...results, ...regions.flatMap(madeIn)])); // prettier-ignore
    const isReadLater = (id: number): boolean => outputs.includes(id) || readBy.slice(k + 1).some((read) => read.has(id)); // prettier-ignore
    return {
      steps: part,
      reads: [...readBy[k]].filter((id) => !inside.has(id)),
      gives: [...made].filter(isReadLater),
    };
  });
}
