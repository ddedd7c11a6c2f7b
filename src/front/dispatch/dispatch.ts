import { currentSource, TraceError } from '../../base/errors.js';
import { type Dim, sameDim } from '../../base/dim/index.js';
import { checkAttributes, symbolsOfAttributes } from '../../base/attributes/schema.js';
import type { DType } from '../../base/dtype.js';
import { determinedSymbols, symbolsOfTypes } from '../../ir/bind.js';
import { type Call, type Declaration, installFrontend } from '../../ops/declare/declare.js';
import { conversionOperator } from '../../ops/declare/convert.js';
import { stopGradient } from '../../ops/structure/identity.js';
import type { Capture } from '../core/capture.js';
import { operandsOf } from './operands.js';
import type { Operation } from '../core/operation.js';
import { runNow } from './run.js';
import { Origin, Session } from '../core/history.js';
import { agreeingOperands, decidingCaptures } from './meeting.js';
import { mode, withMode } from '../core/mode.js';
import { NDArray } from '../core/ndarray.js';

/*
 * The one way in: every operator call on arrays comes through here. Whether it runs now or is captured
 * for later is the mode's business, and so, independently, is whether gradients may flow through it.
 */

const noRegions: readonly never[] = [];

/** Runs or captures a call, as users make it. */
function dispatch(declaration: Declaration, call: Call): readonly NDArray[] {
  const { arrays, dtypes } = operandsOf(declaration, call);
  const { attributes, regions = noRegions } = call;
  const operands =
    dtypes === null ? arrays : arrays.map((array, i) => convertDType(array, dtypes[i]));
  const { capture } = mode;
  if (capture !== null && declaration.inPrograms !== undefined)
    return declaration.inPrograms({ inputs: operands, attributes });
  return perform(
    { declaration, attributes, regions },
    capture === null ? operands : agreeingOperands(declaration, attributes, operands, capture),
  );
}

/** Runs or captures an operation on operands that have the dtypes it wants. `run` is `runChecked` for captured calls. */
export function perform(
  operation: Operation,
  operands: readonly NDArray[],
  run: typeof runNow = runNow,
): readonly NDArray[] {
  const { capture, session } = mode;
  if (capture === null && session === null) return run(operation, operands);
  const kept = withOwnAttributes(operation);
  const results = capture === null ? run(kept, operands) : defer(kept, operands, capture);
  link(kept, operands, results);
  return results;
}

/** The operation with attributes to be remembered: callers may change lists that they passed, such as a shape. */
function withOwnAttributes(operation: Operation): Operation {
  let own: Record<string, unknown> | null = null;
  for (const name in operation.attributes) {
    const value = operation.attributes[name];
    if (Array.isArray(value)) (own ??= { ...operation.attributes })[name] = copyList(value, 2);
  }
  return own === null ? operation : { ...operation, attributes: own };
}

/** No attribute is a list of lists of lists; what is, will be refused. */
function copyList(list: readonly unknown[], depth: number): readonly unknown[] {
  return list.map((entry: unknown) =>
    Array.isArray(entry) && depth > 0 ? copyList(entry, depth - 1) : entry,
  );
}

/** Lets arrays remember the call that makes or made them, as the mode demands. */
export function link(
  operation: Operation,
  operands: readonly NDArray[],
  results: readonly NDArray[],
): void {
  const { capture } = mode;
  const session = mode.session === null ? null : openSession();
  // Nothing is reached through it, as through `detach`, or there is nothing to reach: no part of what is recorded.
  const stops = operation.declaration === stopGradient.declaration || operands.length === 0;
  const read = operands.map((operand) =>
    capture === null ? snapshot(operand) : asRead(operand, capture, session),
  );
  const origin = new Origin(
    operation,
    read,
    results,
    capture,
    stops ? null : session,
    capture === null ? undefined : (mode.source ?? currentSource()),
  );
  for (const result of results) result.origin = origin;
  if (capture !== null) {
    origin.sizedBy = carriersOf(operation, operands, results, capture);
    if (capture.sizes.decided.size > 0) origin.captured = results.map(({ type }) => type);
    origin.isPaused = mode.isPaused;
    origin.isBackward = mode.isBackward;
    capture.calls.add(origin);
  }
  for (let i = 0; i < read.length; i++) noteUse(read[i], origin, session);
}

/** The array with another dtype; itself when it has it already. */
export function convertDType(array: NDArray, dtype: DType): NDArray {
  if (array.dtype === dtype) return array;
  const declaration = conversionOperator();
  return perform({ declaration, attributes: { dtype }, regions: noRegions }, [array])[0];
}

/** Recorded code may write state that it has read; the recording keeps what was read. */
function snapshot(operand: NDArray): NDArray {
  return operand.gradient?.req === 'null' ? new NDArray(operand.type, operand.held) : operand;
}

/**
 * The array that captured code reads when it names one. Like `snapshot`: once the state is written, its name
 * stands for the new value, and a recorded call must still know the one it has read.
 */
function asRead(operand: NDArray, capture: Capture, session: Session | null): NDArray {
  const current = capture.state.current(operand);
  if (session === null || current !== operand || operand.gradient?.req !== 'null') return current;
  let read = capture.state.reads.get(operand);
  if (read === undefined) {
    const { declaration } = stopGradient;
    const operation = { declaration, attributes: {}, regions: noRegions };
    [read] = withMode({ session: null }, 'read', () => perform(operation, [operand]));
    capture.state.reads.set(operand, read);
  }
  return read;
}

/** Lazy arrays of the types that the operation will have. */
function defer(
  { declaration, attributes, regions }: Operation,
  operands: readonly NDArray[],
  capture: Capture,
): readonly NDArray[] {
  checkAttributes(declaration.name, declaration.attributes, attributes);
  for (let i = 0; i < operands.length; i++) refuseEscaped(operands[i], declaration, capture);
  const decided: Dim[] = [];
  const read = operands.map((operand) => capture.state.current(operand));
  const types = declaration.infer({
    inputs: read.map(({ type }) => type),
    attributes,
    regions,
    fresh: capture.sizes.numbering.freshFor(declaration, read, attributes, (hint, bounds) => {
      const dim = capture.sizes.fresh(hint, bounds);
      decided.push(dim);
      return dim;
    }),
    require: capture.calls.require,
  });
  const results = types.map((type) => new NDArray(type, null));
  for (const dim of decided) {
    const carrier = results.find(({ type }) => type.shape.some((extent) => sameDim(extent, dim)));
    if (carrier !== undefined) capture.sizes.decided.set(String(dim), carrier);
  }
  return results;
}

const none: readonly NDArray[] = [];

/**
 * The arrays that tell the sizes which a call speaks of and the data of other calls decides. A gradient
 * of a sum has the shape of what was summed up and reads nothing of it; it still needs it to be there.
 * Bodies are passed the sizes of their surroundings.
 */
function carriersOf(
  { declaration, attributes }: Operation,
  operands: readonly NDArray[],
  results: readonly NDArray[],
  capture: Capture,
): readonly NDArray[] {
  const isAround = (other: Capture): boolean => {
    for (let at = capture.parent; at !== null; at = at.parent) if (at === other) return true;
    return false;
  };
  if (capture.sizes.decided.size === 0) {
    // Most code decides no sizes, and reads arrays of its own, of the code around it, or computed ones.
    const isOwn = ({ origin }: NDArray): boolean =>
      !origin?.capture || origin.capture === capture || isAround(origin.capture);
    if (operands.every(isOwn)) return none;
  }
  const captures = [...decidingCaptures(capture, operands)].filter((each) => !isAround(each));
  if (captures.length === 0) return none;
  const spoken = symbolsOfTypes(results.map(({ type }) => type));
  symbolsOfAttributes(declaration.attributes, attributes, spoken);
  const told = determinedSymbols(operands.map(({ type }) => type));
  const carriers = new Set<NDArray>();
  for (const name of spoken.keys()) {
    if (told.has(name)) continue;
    for (const { sizes } of captures) {
      const carrier = sizes.decided.get(name);
      if (carrier !== undefined && !results.includes(carrier)) carriers.add(carrier);
    }
  }
  return [...carriers];
}

/** A value of a finished trace stands for nothing any more. */
function refuseEscaped(operand: NDArray, declaration: Declaration, capture: Capture): void {
  if (operand.elements !== null || capture.owns(operand)) return;
  if (operand.origin === null || operand.origin.capture?.kind === 'trace') {
    throw escaped(declaration.name, operand);
  }
}

/** The error for using a lazy array of a trace outside of that trace. */
export function escaped(op: string, array: NDArray): TraceError {
  const source = array.origin?.source;
  return new TraceError('an array of captured code was used outside of it', {
    op,
    expected: 'arrays of this code, and those from outside that have values',
    actual: `the result of ${array.origin?.declaration.name ?? 'an input'}${source === undefined ? '' : ` at ${source}`}`,
    advice: 'return it from the captured function, and use what the call returns',
  });
}

/** The session that goes on; a new one when a backward pass inside `record` has closed it. */
function openSession(): Session {
  if (mode.session === null || !mode.session.isOpen) mode.session = new Session();
  return mode.session;
}

/** Lets an array take part in the recording that goes on. */
export function joinRecording(array: NDArray, session: Session = openSession()): void {
  array.session = session;
  if (array.gradient !== null) session.participants.add(array);
}

function noteUse(operand: NDArray, origin: Origin, session: Session | null): void {
  if (operand.isShared) return;
  const { capture } = origin;
  if (session !== null) {
    joinRecording(operand, session);
    capture?.calls.touch(operand, session);
  }
  if (capture !== null) operand.reader = origin;
}

installFrontend(dispatch as (declaration: Declaration, call: Call) => readonly NDArray[]);
