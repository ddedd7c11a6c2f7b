import { describe } from '../../base/attributes/attribute.js';
import { sameShape } from '../../base/dim/index.js';
import { isFloat } from '../../base/dtype.js';
import {
  ArgumentError,
  DTypeError,
  GraphError,
  ShapeError,
  TraceError,
} from '../../base/errors.js';
import { zerosLike } from '../../ops/index.js';
import { identity, stopGradient } from '../../ops/structure/identity.js';
import { type Capture, currentTrace } from '../core/capture.js';
import { perform } from './dispatch.js';
import type { Operation } from '../core/operation.js';
import {
  type GradientMark,
  type GradientUser,
  type GradReq,
  isNewAfter,
  reset,
  untouched,
  usedBy,
  written,
} from '../capture/gradient-use.js';
import { KeptGradient } from '../core/kept-gradient.js';
import { mode, withMode } from '../core/mode.js';
import type { StateLog } from '../core/state-log.js';
import { typeToString } from '../../ir/program.js';
import { NDArray } from '../core/ndarray.js';
import { tellFilled } from '../devices/shape-only.js';
import type { BufferBackend } from '../../runtime/memory/backend.js';
import { Storage } from '../../runtime/memory/storage.js';

/** Operations on arrays besides computation: gradients, detaching, assignment. */

/** Another array object with the same elements and history, without the gradient. */
export function aliasOf(array: NDArray): NDArray {
  if (array.elements === null) return perform(operation(identity), [array])[0];
  const alias = new NDArray(array.type, array.held);
  alias.isConstant = array.isConstant;
  return alias;
}

/** Another array object with the same elements, whose gradients flow to `array`. */
export function linkTo(array: NDArray): NDArray {
  return mode.session === null && mode.capture === null
    ? aliasOf(array)
    : perform(operation(identity), [array])[0];
}

/** The same elements as a constant. Captured code records that in the graph. */
export function detach(array: NDArray): NDArray {
  if (mode.capture !== null) {
    return withMode(
      { session: null },
      'detach',
      () => perform(operation(stopGradient), [array])[0],
    );
  }
  return aliasOf(array.computed());
}

function operation({ declaration }: typeof identity): Operation {
  return { declaration, attributes: {}, regions: [] };
}

/** Attaches a gradient of zeros, unused and not written by a pass. */
export function attachGrad(array: NDArray, req: GradReq): void {
  keepGradient(array, req);
  markGradient(array, reset);
}

/** `attachGrad` for a graph or region, which record the gradient's mark themselves. */
export function keepGradient(array: NDArray, req: GradReq): void {
  if (req !== 'write' && req !== 'add' && req !== 'null') {
    throw new ArgumentError('there is no such gradient request', {
      op: 'attachGrad',
      expected: "'write', 'add' or 'null'",
      actual: describe(req),
    });
  }
  if (!isFloat(array.dtype) && req !== 'null') {
    throw new DTypeError('only arrays of floats have gradients', {
      op: 'attachGrad',
      expected: 'a float dtype',
      actual: array.dtype,
    });
  }
  const trace = currentTrace();
  const isKept = trace !== null && isOutside(array, trace);
  if (isKept) noteGradient(array, trace);
  const { gradient: before } = array;
  if (!isKept || before?.req !== req) {
    const kept = new KeptGradient(req, before);
    array.gradient = kept;
    // Replays attach it. Tracing changes nothing, and replays read what is there.
    if (isKept) {
      trace.gradients.atEnd(() => {
        if (array.gradient === kept) array.gradient = before;
      });
    }
  }
  if (isKept) {
    trace.gradients.attached.set(array, req);
    const zeros = withMode({ session: null }, 'attachGrad', () => zerosLike(array));
    trace.gradients.assigned.set(array, zeros);
  }
  // What recordings have read of state that the code has written is its new value.
  const current = trace?.state.current(array) ?? array;
  current.gradient = array.gradient;
  for (const session of [current.session, current.origin?.session]) {
    if (session?.isOpen === true) session.participants.add(current);
  }
}

/** The kept gradient; null for none. */
export function gradOf(array: NDArray): NDArray | null {
  const { gradient } = array;
  const asking = currentTrace();
  if (asking !== null && isOutside(array, asking)) noteGradient(array, asking);
  if (gradient === null || gradient.req === 'null') return null;
  const trace = currentTrace();
  const owner = trace?.state.ownerOf(array) ?? array;
  if (owner !== array) return gradOf(owner);
  if (trace !== null && isOutside(array, trace)) {
    const left = trace.gradients.assigned.get(array);
    if (left !== undefined) return left;
    if (trace.parent === null) return trace.gradientRead(array);
    return withMode({ capture: trace.parent, session: null }, 'grad', () => gradOf(array));
  }
  gradient.value ??= withMode({ session: null }, 'grad', () => zerosLike(array));
  gradientOwners.set(gradient.value, array);
  return gradient.value;
}

/** Owners of gradients that were read. */
const gradientOwners = new WeakMap<NDArray, NDArray>();

/** Gradients of arguments are guarded with the call. */
function noteGradient(array: NDArray, trace: Capture): void {
  if (array.elements !== null) trace.gradients.noteMode(array, array.gradient?.req ?? 'none');
}

/**
 * True for an array that exists outside of the trace, and so does its gradient. Inputs of a body, a row or a
 * state, are made anew for each iteration, unlike arguments of a function.
 */
function isOutside(array: NDArray, trace: Capture): boolean {
  if (trace.placeholders.has(array)) return !trace.isBody;
  return !array.isConstant && array.origin?.capture !== trace;
}

/**
 * Replaces the kept gradient by a transformed version of the same one, such as a clipped one. In traced code,
 * after each replay.
 */
export function replaceGradient(array: NDArray, grad: NDArray): void {
  const trace = currentTrace();
  const owner = trace?.state.ownerOf(array) ?? array;
  if (trace !== null && isOutside(owner, trace)) trace.gradients.assigned.set(owner, grad);
  else if (array.gradient !== null) array.gradient.value = grad;
}

/** Assigns the gradient of a backward pass: new to users that use each once. */
export function setGradient(array: NDArray, grad: NDArray): void {
  replaceGradient(array, grad);
  markGradient(array, written);
}

/** Records the effect of code on the gradient of an array. In traced code each replay applies it. */
export function markGradient(array: NDArray, mark: GradientMark): void {
  const trace = currentTrace();
  const owner = trace?.state.ownerOf(array) ?? array;
  if (trace !== null && isOutside(owner, trace)) trace.gradients.mark(owner, mark);
  else array.gradient?.mark(mark, array);
}

/** Marks a gradient as used by a user that uses each once. */
export function useGradient(array: NDArray, user: GradientUser): void {
  markGradient(array, usedBy(user));
}

/** True when such a user has used any gradient so far. */
export function hasUsedGradients(user: GradientUser): boolean {
  return user.hasUsed || currentTrace()?.gradients.mayHaveUsed(user) === true;
}

/**
 * True when a pass has written an array's gradient and `user` has not used it. A trace is specialized to the
 * answer, unless it has written or used the gradient itself.
 *
 * @throws UnsupportedError where that depends on a captured loop or branch.
 */
export function isNewGradient(array: NDArray, user: GradientUser): boolean {
  const trace = currentTrace();
  const owner = trace?.state.ownerOf(array) ?? array;
  if (trace === null || !isOutside(owner, trace)) {
    return array.gradient?.isNewTo(user, array) ?? false;
  }
  const { gradients, parent } = trace;
  return isNewAfter(gradients.marks.get(owner) ?? untouched, user, () => {
    const isNew = withMode({ capture: parent }, 'grad', () => isNewGradient(owner, user));
    gradients.assume(owner, user, isNew);
    return isNew;
  });
}

/** Assigns the elements of `value` to `target`; in traced code, after each replay. */
export function assignArray(target: NDArray, value: NDArray): void {
  const op = 'assign';
  if (!(value instanceof NDArray)) {
    throw new ArgumentError('the new value is not an array', {
      op,
      expected: typeToString(target.type),
      actual: typeof value,
      advice: 'make one with kn.array',
    });
  }
  if (!sameShape(target.type.shape, value.type.shape)) {
    throw new ShapeError('the new value has another shape', {
      op,
      expected: typeToString(target.type),
      actual: typeToString(value.type),
    });
  }
  if (target.dtype !== value.dtype) {
    throw new DTypeError('the new value has another dtype', {
      op,
      expected: typeToString(target.type),
      actual: typeToString(value.type),
    });
  }
  refuseChange(op, target);
  const trace = currentTrace();
  if (trace !== null) {
    const after = withMode({ session: null }, op, () => detach(value));
    trace.state.update(target, after);
    // Gradients with respect to the new value are gradients of the state.
    after.gradient = target.gradient;
    return;
  }
  replaceElements(target, value);
}

/** Writes state for a graph, which has recorded its own reads. */
export function writeState(target: NDArray, value: NDArray): void {
  if (mode.capture === null) replaceElements(target, value);
  else assignArray(target, value);
}

/** Records that a graph has overwritten the elements in place. */
export function forgetHistory(target: NDArray): void {
  target.origin = null;
  target.isConstant = false;
}

/** Restores the elements that were found in arrays. */
export function putBack({ found }: StateLog): void {
  for (const [array, elements] of found) {
    replaceElements(array, new NDArray(array.type, elements));
  }
}

function replaceElements(target: NDArray, value: NDArray): void {
  mode.stateLog?.note(target);
  const { elements } = target;
  const { storage } = value;
  if (elements?.isAbsent === true) {
    target.elements = new Storage(target.dtype, storage.copy());
    target.pin();
  } else if (elements?.isPinned === true && storage.backend === null) elements.write(storage.host);
  else target.elements = elementsBeside(value, elements?.backend ?? null);
  if (elements?.isAbsent === true) tellFilled(target);
  forgetHistory(target);
  const owner = gradientOwners.get(target);
  if (owner?.gradient?.isChanged(target) === true) markGradient(owner, written);
}

/** Elements of a value for an array on a device: it stays there when it is given others from the CPU. */
function elementsBeside({ held, dtype }: NDArray, backend: BufferBackend | null): Storage {
  const isToMove = backend !== null && held.backend === null && backend.limits.dtypes.has(dtype);
  return isToMove ? held.onBackend(backend) : held;
}

/** Refuses a write of recorded state by a graph where eager code is refused, too. */
export function refuseRecorded(op: string, target: NDArray): void {
  const { origin, session, gradient } = target;
  const isResult = origin?.session?.isOpen === true && !origin.isReleased;
  if (isResult || (session?.isOpen === true && gradient?.req !== 'null')) {
    throw new ArgumentError('an array that is part of a recording cannot be changed in place', {
      op,
      expected: 'an array that no recorded call has read or made',
      actual: typeToString(target.type),
      advice:
        'run the backward pass first; state that recorded code writes is marked by attachGrad({ req: "null" })',
    });
  }
  // The write follows, perhaps in place.
  if (mode.capture === null) mode.stateLog?.note(target);
}

/** Refuses to change an array that others still depend on. */
function refuseChange(op: string, target: NDArray): void {
  const { reader } = target;
  const trace = currentTrace();
  if (target.elements === null && trace?.placeholders.has(target) !== true) {
    throw new GraphError('a lazy array cannot be changed in place', {
      op,
      expected: 'an array that has been computed',
      actual: typeToString(target.type),
      advice: 'use the new value in its place',
    });
  }
  refuseRecorded(op, target);
  if (trace !== null) return;
  if (mode.capture !== null) {
    throw new TraceError('state cannot be written in deferred code', {
      op,
      expected: 'no assign inside deferredCompute',
      actual: typeToString(target.type),
      advice:
        'hybridize the step, which writes state once a call; or compute without writing it, as batch norm does outside of training (autograd.predictMode)',
    });
  }
  const isPending = reader !== null && reader.results.some((result) => result.elements === null);
  if (isPending && reader.capture?.kind === 'deferred') {
    throw new TraceError('an array that captured code reads cannot be changed in place', {
      op,
      actual: typeToString(target.type),
      ...(reader?.source !== undefined && {
        expected: `nothing waits for it; it is read at ${reader.source}`,
      }),
      advice: 'compute what was captured first, or assign to state inside a hybridized function',
    });
  }
}
