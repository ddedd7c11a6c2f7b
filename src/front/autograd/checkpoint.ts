import { flatten, type Structure, unflatten } from '../../base/tree.js';
import { generatorState, setGeneratorState } from '../generator.js';
import { collectOrigins, isTracked, Session } from '../history.js';
import { mode, withMode } from '../mode.js';
import type { NDArray } from '../ndarray.js';
import { isArray } from '../signature.js';
import { aliasOf, linkTo } from '../values.js';
import { customGradient } from './custom.js';
import { isRecording, record } from './scopes.js';
import { gradientsOf, layOutRecording } from './tape.js';

const op = 'checkpoint';

/**
 * The same function, but what it computes inside is not kept for the backward pass: it is computed again
 * there, with the same random numbers. Trades time for memory. In captured code the function is part of
 * the graph, and what to keep is the compiler's decision.
 */
export function checkpoint<F extends (...args: never[]) => unknown>(fn: F): F {
  const run = (...args: Parameters<F>): unknown => {
    if (mode.session === null || mode.capture !== null) return fn(...args);
    const { leaves, structure } = flatten(args, isArray);
    const state = generatorState();
    const { training } = mode;
    const rerun = (inputs: readonly NDArray[]): unknown =>
      fn(...(unflatten(structure, inputs) as Parameters<F>));
    const { results, outputs, used } = firstRun(() => rerun(leaves), leaves);
    const recomputing = customGradient({
      forward: () => results.map(aliasOf),
      backward: (headGrads, { inputs }) =>
        withGenerator(state, () => {
          const isDifferentiated = isRecording();
          return record(
            () => {
              const links = inputs.slice(0, leaves.length).map(linkTo);
              const again = flatten(rerun(links), isArray).leaves;
              const wrt = [...links, ...used];
              const heads = again.flatMap((array, i) =>
                array.origin?.session ? [{ array, grad: headGrads[i] }] : [],
              );
              const tape = layOutRecording(
                op,
                heads.map(({ array }) => array),
                new Set(wrt),
              );
              const known = wrt.filter((array) => tape.valueOf.has(array));
              const grads = gradientsOf(op, tape, heads, known, isDifferentiated);
              return wrt.map((array) => grads[known.indexOf(array)] ?? null);
            },
            { trainMode: training },
          );
        }),
    });
    return unflatten(outputs, recomputing(...leaves, ...used));
  };
  return run as unknown as F;
}

/** Runs the function once, to get its results and to see which arrays from outside gradients may reach. */
function firstRun(
  fn: () => unknown,
  leaves: readonly NDArray[],
): { readonly results: readonly NDArray[]; readonly outputs: Structure; readonly used: NDArray[] } {
  const session = new Session();
  const { leaves: results, structure: outputs } = flatten(withMode({ session }, op, fn), isArray);
  const used = new Set<NDArray>();
  const origins = collectOrigins(results, (array, origin) => {
    if (origin.session === session) return true;
    used.add(array);
    return false;
  });
  for (const { operands } of origins) {
    for (const operand of operands) {
      if (operand.origin?.session !== session && isTracked(operand)) used.add(operand);
    }
  }
  for (const leaf of leaves) used.delete(leaf);
  for (const origin of origins) origin.release();
  session.isOpen = false;
  return { results, outputs, used: [...used].filter(isTracked) };
}

/** Runs `fn` with the random numbers of another time. */
function withGenerator<R>(state: ReturnType<typeof generatorState>, fn: () => R): R {
  const now = generatorState();
  setGeneratorState(state);
  try {
    return fn();
  } finally {
    setGeneratorState(now);
  }
}
