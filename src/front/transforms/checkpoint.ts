import { isFloat } from '../../base/dtype.js';
import { ArgumentError } from '../../base/errors.js';
import { callable, checkArgument } from '../../base/attributes/options.js';
import { flattenTree, type TreeStructure, unflattenTree } from '../../base/attributes/tree.js';
import { joinRecording } from '../dispatch/dispatch.js';
import { type GeneratorMoment, generatorMoment, returnTo } from '../dispatch/generator.js';
import { collectOrigins, Session } from '../core/history.js';
import { mode, withMode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import { isArray } from '../graphs/signature.js';
import { StateLog } from '../core/state-log.js';
import { aliasOf, linkTo, putBack } from '../dispatch/values.js';
import { linkedBy, type ArrayRule } from './custom.js';
import { gradientsOf, layOutRecording } from '../autograd/tape.js';

const op = 'checkpoint';

/**
 * The same function, but its intermediate values are not saved for the backward pass: they are recomputed
 * there, with the same random numbers and from the same state, which is written only once. Trades time for
 * memory. In captured code the function is part of the graph, and the compiler chooses what to save.
 */
export function checkpoint<F extends (...args: never[]) => unknown>(fn: F): F {
  checkArgument(op, 'fn', fn, callable);
  const run = (...args: Parameters<F>): unknown => {
    if (mode.session === null || mode.capture !== null) return fn(...args);
    const { leaves, structure } = flattenTree(args, isArray, op);
    const { training } = mode;
    const rerun = (inputs: readonly NDArray[]): unknown =>
      madeInside(fn(...(unflattenTree(structure, inputs) as Parameters<F>)));
    const { results, outputs, used, moment } = firstRun(() => rerun(leaves));
    let isRecomputing = false;
    const recompute: ArrayRule = ({ inputs, grads: headGrads }) => {
      if (isRecomputing) throw readsItself();
      isRecomputing = true;
      const isDifferentiated = mode.session !== null;
      const session = mode.session ?? new Session();
      const gradients = (): readonly (NDArray | null)[] => {
        const links = inputs.slice(0, leaves.length).map(linkTo);
        const again = backAt(moment, () => flattenTree(rerun(links), isArray, op).leaves);
        const wrt = [...links, ...used];
        const heads = again.flatMap((array, i) => {
          const grad = headGrads[i];
          return array.origin?.session && grad !== null ? [{ array, grad }] : [];
        });
        const ends = new Set(wrt);
        const tape = layOutRecording(
          op,
          heads.map(({ array }) => array),
          (array) => ends.has(array),
        );
        const known = wrt.filter((array) => tape.valueOf.has(array));
        const grads = gradientsOf(op, tape, heads, known, isDifferentiated ? session : null);
        return wrt.map((array) => grads[known.indexOf(array)] ?? null);
      };
      try {
        return withMode({ session, training, isPaused: false }, op, gradients);
      } finally {
        isRecomputing = false;
        if (!isDifferentiated) session.isOpen = false;
      }
    };
    const linked = linkedBy(recompute, () => results.map(aliasOf), [...leaves, ...used]);
    return unflattenTree(outputs, linked);
  };
  return run as unknown as F;
}

/** The error for a first run that read an array returned by itself. */
function readsItself(): ArgumentError {
  return new ArgumentError(
    'a function that is recomputed for its gradient depends on its own results',
    {
      op,
      expected: 'the arrays that it has read the first time',
      actual: 'a variable around it that was assigned since',
      advice: 'let it close over constants, or give it what changes as an argument',
    },
  );
}

/** Result of a function, with links in place of outer arrays: gradients flow through these as well. */
function madeInside(result: unknown): unknown {
  const { leaves, structure } = flattenTree(result, isArray, op);
  const isInside = ({ dtype, origin }: NDArray): boolean =>
    !isFloat(dtype) || (origin !== null && origin.session === mode.session);
  return unflattenTree(
    structure,
    leaves.map((array) => (isInside(array) ? array : linkTo(array))),
  );
}

/** Context of a run besides its arguments: random and other state. */
interface Moment {
  readonly generator: GeneratorMoment;
  readonly state: StateLog;
}

interface FirstRun {
  readonly results: readonly NDArray[];
  readonly outputs: TreeStructure;
  /**
   * Outer arrays that gradients may reach, since they may be requested by name. Includes arguments, which the
   * function may also capture.
   */
  readonly used: readonly NDArray[];
  readonly moment: Moment;
}

/** Runs the function for its results, and records its context. */
function firstRun(fn: () => unknown): FirstRun {
  const session = new Session();
  const moment = { generator: generatorMoment(), state: new StateLog(mode.stateLog) };
  const result = withMode({ session, stateLog: moment.state }, op, fn);
  const { leaves: results, structure: outputs } = flattenTree(result, isArray, op);
  const outside = new Set<NDArray>();
  const origins = collectOrigins(results, (array, origin) => {
    if (origin.session === session) return true;
    outside.add(array);
    return false;
  });
  for (const { operands } of origins) {
    for (const operand of operands) {
      if (operand.origin?.session !== session) outside.add(operand);
    }
  }
  for (const origin of origins) origin.release();
  session.isOpen = false;
  // The arrays take part in the current recording, as if the function were not checkpointed.
  for (const array of [...outside, ...session.participants]) {
    if (!array.isShared) joinRecording(array);
  }
  return { results, outputs, used: [...outside].filter(({ dtype }) => isFloat(dtype)), moment };
}

/** Runs `fn` with the random numbers and the state of another time, and then restores the present ones. */
function backAt<R>({ generator, state }: Moment, fn: () => R): R {
  const now = { generator: generatorMoment(), state: new StateLog(mode.stateLog) };
  returnTo(generator);
  try {
    return withMode({ stateLog: now.state }, op, () => {
      putBack(state);
      return fn();
    });
  } finally {
    returnTo(now.generator);
    putBack(now.state);
  }
}
