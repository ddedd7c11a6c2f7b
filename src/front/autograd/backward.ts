import { isFloat } from '../../base/dtype.js';
import { ArgumentError, DeviceError, DTypeError } from '../../base/errors.js';
import { add, fullLike, zerosLike } from '../../ops/index.js';
import { reachedFrom } from './followed.js';
import { written } from '../capture/gradient-use.js';
import { ofShape } from '../dispatch/meeting.js';
import { mode, withMode } from '../core/mode.js';
import { typeToString } from '../../ir/program.js';
import { type Refusal, refusalError, words } from '../../ir/requirement.js';
import { type BackwardOptions, NDArray } from '../core/ndarray.js';
import type { Storage } from '../../runtime/memory/storage.js';
import { aliasOf, setGradient, gradOf, markGradient } from '../dispatch/values.js';
import { gradientsOf, layOutRecording, release, scratchFor, sessionsOf } from './tape.js';

/**
 * Computes the gradients of `head` and assigns them to every array that took part in the recording and has
 * one attached: zeros for arrays that it does not depend on.
 */
export function backward(
  head: NDArray,
  headGrad: NDArray | undefined,
  { retainGraph = false }: BackwardOptions,
): void {
  const op = 'backward';
  const tape = layOutRecording(op, [head]);
  const grad = withMode({ session: null }, op, () => checkedHeadGrad(op, head, headGrad));
  const isReached = reachedFrom([head], tape.origins);
  const reached = [...tape.valueOf.keys()].filter(
    (array) => wantsGradient(array) && isReached(array),
  );
  if (reached.length === 0) {
    throw new ArgumentError('the backward pass reaches no array that keeps a gradient', {
      op,
      expected: 'at least one array with attachGrad() behind the result',
      actual: `${tape.program.inputs.length} arrays, none with a gradient attached`,
      advice: 'call x.attachGrad() before x is used inside autograd.record',
    });
  }
  const scratch = scratchFor(tape);
  const grads = gradientsOf(op, tape, [{ array: head, grad }], reached, null, scratch);
  withMode({ session: null }, op, () => {
    const passed = new Set<NDArray>();
    for (const session of sessionsOf(tape.origins)) {
      for (const array of session.participants) if (wantsGradient(array)) passed.add(array);
    }
    const flowing = new Map(reached.map((array, i) => [array, grads[i]]));
    const given = new Set<NDArray>([grad]);
    for (const array of passed) {
      const found = flowing.get(array) ?? null;
      if (array.gradient!.req === 'write') {
        if (found === null) setGradient(array, zerosLike(array));
        else leave(array, found, given);
      } else if (found !== null) setGradient(array, add(gradOf(array)!, found));
      else markGradient(array, written);
    }
    scratch?.release(given);
  });
  if (!retainGraph) release(tape);
}

/**
 * Assigns a gradient to an array. That of a pinned array is pinned too, where an update reads it in place and
 * the next pass overwrites it; without device memory, it is an array.
 */
function leave(array: NDArray, found: NDArray, given: Set<NDArray>): void {
  const home = mode.capture === null ? homeOf(array) : null;
  if (home === null) {
    setGradient(array, unshared(found, given));
    return;
  }
  home.write(found.storage.elements);
  array.gradient!.wrote();
  markGradient(array, written);
}

function homeOf(array: NDArray): Storage | null {
  try {
    return array.gradient!.home(array);
  } catch (error) {
    if (error instanceof DeviceError) return null;
    throw error;
  }
}

/** A copy if needed, so that no two arrays share a gradient object, and none is the user's head gradient. */
function unshared(grad: NDArray, given: Set<NDArray>): NDArray {
  if (given.has(grad)) return aliasOf(grad);
  given.add(grad);
  return grad;
}

function wantsGradient({ gradient }: NDArray): boolean {
  return gradient !== null && gradient.req !== 'null';
}

/** The initial gradient of a pass, of the head's type; ones by default. */
export function checkedHeadGrad(
  op: string,
  head: NDArray,
  grad: NDArray | null | undefined,
): NDArray {
  if (!isFloat(head.dtype)) {
    throw new DTypeError('only arrays of floats have gradients', {
      op,
      expected: 'a float dtype',
      actual: head.dtype,
      advice: 'convert with astype before the recorded computation ends',
    });
  }
  if (grad === null || grad === undefined) return fullLike(head, 1);
  if (!(grad instanceof NDArray)) {
    throw new ArgumentError('the head gradient is not an array', {
      op,
      expected: typeToString(head.type),
      actual: typeof grad,
    });
  }
  const refusal = (): Refusal => ({
    op,
    problem: words`the head gradient has another shape than the array`,
    expected: words`${head.dtype}${head.type.shape}`,
    actual: words`${grad.dtype}${grad.type.shape}`,
  });
  const fitting = ofShape(grad, head.type.shape, refusal);
  if (fitting === null) throw refusalError(refusal());
  if (grad.dtype !== head.dtype) {
    throw new DTypeError('the head gradient has another dtype than the array', {
      op,
      expected: typeToString(head.type),
      actual: typeToString(grad.type),
    });
  }
  return fitting;
}
