import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError, currentSource } from '../../base/errors.js';
import { Program, type Value } from '../../ir/program.js';
import { add } from '../../ops/index.js';
import { gradient } from '../../passes/gradient/gradient.js';
import { Scratch } from '../core/scratch.js';
import { collectOrigins, type Origin, type Session } from '../core/history.js';
import { mode, withMode } from '../core/mode.js';
import { NDArray } from '../core/ndarray.js';

/** The recorded computation of some arrays, laid out for the gradient pass. */
export interface Tape {
  readonly program: Program;
  readonly origins: readonly Origin[];
  readonly valueOf: ReadonlyMap<NDArray, Value>;
  readonly arrayOf: ReadonlyMap<Value, NDArray>;
}

/**
 * The recorded calls of `heads` as a program, with every array mapped to its value. The tape ends at
 * leaves, even if they have recorded history.
 * @throws ArgumentError when nothing was recorded, or a backward pass has consumed it.
 */
export function layOutRecording(
  op: string,
  heads: readonly NDArray[],
  isLeaf: (array: NDArray) => boolean = () => false,
): Tape {
  for (const head of heads) refuseUnrecorded(op, head);
  // A released call may still be one that decided a size, which is no way for a gradient to flow.
  const isFollowed = (array: NDArray, { session, isReleased }: Origin): boolean =>
    session !== null && !isReleased && !isLeaf(array);
  const origins = collectOrigins(heads, isFollowed);
  const program = new Program();
  const valueOf = new Map<NDArray, Value>();
  const arrayOf = new Map<Value, NDArray>();
  const place = (array: NDArray, value: Value): void => {
    valueOf.set(array, value);
    arrayOf.set(value, array);
  };
  const operand = (array: NDArray): Value => {
    let value = valueOf.get(array);
    if (value === undefined) {
      if (array.origin?.isReleased === true && !isLeaf(array)) throw usedUp(op, array.origin);
      value = program.variable(`x${program.inputs.length}`, array.type);
      place(array, value);
    }
    return value;
  };
  for (const origin of origins) {
    const { declaration, operands, attributes, regions, results, source } = origin;
    const values = program.appendTyped(
      declaration,
      operands.map(operand),
      attributes,
      results.map(({ type }) => type),
      { regions, source },
    );
    results.forEach((array, i) => place(array, values[i]));
  }
  // A head may be a leaf itself.
  for (const head of heads) operand(head);
  return { program, origins, valueOf, arrayOf };
}

/**
 * The gradients of the tape's outputs with respect to `wrt`; null where there is none. With a `session` the
 * pass itself is recorded in it, so that it can be differentiated in turn. `scratch` collects the arrays of the pass.
 */
export function gradientsOf(
  op: string,
  { program, valueOf, arrayOf }: Tape,
  outputs: readonly { readonly array: NDArray; readonly grad: NDArray }[],
  wrt: readonly NDArray[],
  session: Session | null,
  scratch: Scratch | null = null,
): readonly (NDArray | null)[] {
  const isPaused = session === null || mode.isPaused;
  // Found once, not for every call of the pass, which is deep in the stack and has no line of its own.
  const line = mode.capture === null ? null : (currentSource() ?? null);
  return withMode({ session, isPaused, isBackward: true, scratch, source: line }, op, () =>
    gradient<NDArray>({
      program,
      outputs: outputs.map(({ array, grad }) => ({ value: valueOf.get(array)!, grad })),
      wrt: wrt.map((array) => valueOf.get(array)!),
      valueOf: (value) => arrayOf.get(value)!,
      add: (a, b) => add(a, b),
      at: (source, rule) => {
        if (line === null) return rule();
        mode.source = source ?? line;
        try {
          return rule();
        } finally {
          mode.source = line;
        }
      },
    }),
  );
}

/**
 * Scratch arrays of a pass: all but the gradients belong to the library, unless a user's function takes part,
 * or calls are captured and compute nothing.
 */
export function scratchFor({ origins }: Tape): Scratch | null {
  const isOurs = origins.every(({ declaration }) => declaration.isUsersGradient !== true);
  return mode.capture === null && isOurs ? new Scratch() : null;
}

/** The recordings that a tape belongs to. */
export function sessionsOf(origins: readonly Origin[]): ReadonlySet<Session> {
  return new Set(origins.map((origin) => origin.session!));
}

/** Ends recordings: the values they saved can be collected, and their arrays may be assigned to again. */
export function release({ origins }: Tape): void {
  for (const session of sessionsOf(origins)) session.isOpen = false;
  for (const origin of origins) origin.release();
}

function refuseUnrecorded(op: string, head: NDArray): void {
  if (!(head instanceof NDArray)) {
    throw new ArgumentError('a gradient was asked of something that is not an array', {
      op,
      expected: 'arrays; of a parameter its value',
      actual: describe(head),
    });
  }
  if (head.origin?.isReleased === true) throw usedUp(op, head.origin);
  if (head.origin === null || head.origin.session === null) {
    throw new ArgumentError('the array was not computed from recorded calls', {
      op,
      expected: 'the result of a computation inside autograd.record',
      actual: 'an array that no recorded call made',
      advice: 'compute it inside autograd.record(() => ...), outside of autograd.pause',
    });
  }
}

function usedUp(op: string, origin: Origin): ArgumentError {
  return new ArgumentError('a backward pass has already consumed this recording', {
    op,
    expected: 'a recording that no backward pass has used, or one that was retained',
    actual: `${origin.declaration.name} is part of an earlier backward pass`,
    advice: 'pass { retainGraph: true } to the earlier pass, or detach() what came from it',
  });
}
