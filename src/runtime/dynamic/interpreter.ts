import { type Dim, evaluateDim, substituteDim } from '../../base/dim/index.js';
import { allocate } from '../../base/dtype.js';
import { inContext, InternalError } from '../../base/errors.js';
import { mapAttributeDims } from '../../base/attributes/schema.js';
import { substituteType } from '../../ir/bind.js';
import type { CallNode } from '../../ir/program.js';
import { refusalAt, refusalError, textOfWords, wordsAt } from '../../ir/requirement.js';
import { refuseElements } from '../../ops/declare/check.js';
import { declarationOf } from '../../ops/declare/facets.js';
import type { Call, Callee, CheckElements, Grow, Handle, HostStatement, Part, Require, Run, Site, Stretch, Test } from '../../passes/host/statements.js'; // prettier-ignore
import type { Executable, Operand } from '../execution/executable.js';
import { Storage } from '../memory/storage.js';

/** The compiled code that a routine runs. */
export interface Compiled {
  part(part: Part): Executable;
  callee(callee: Callee): Executable;
}

/** State of one run: the values of names, and arrays by the numbers of their handles. */
export interface Frame {
  readonly names: Map<string, number>;
  readonly arrays: (Storage | undefined)[];
}

/** A statement, prepared. Returns true where it leaves the repetition around it. */
export type Step = (frame: Frame) => boolean;

type Evaluate<T> = (frame: Frame) => T;

/** Prepares statements that run in order: what no run changes is computed here. */
export function prepare(body: readonly HostStatement[], compiled: Compiled): Step {
  const steps = body.map((statement) => stepOf(statement, compiled));
  return (frame) => {
    for (const step of steps) if (step(frame)) return true;
    return false;
  };
}

/** Prepares a statement that runs code; `into` as in `Executable.run`. */
export function prepareRun(
  { part, reads, gives }: Run,
  compiled: Compiled,
): (frame: Frame, into?: readonly (Storage | null)[]) => void {
  const operands = reads.map(operand);
  const executable = compiled.part(part);
  return (frame, into) => {
    const results = executable.run(
      operands.map((read) => read(frame)),
      into,
    );
    gives.forEach(({ id }, k) => (frame.arrays[id] = results[k].storage));
  };
}

/** Array that a handle stands for now. */
export function storageAt({ arrays }: Frame, { id }: Handle): Storage {
  const storage = arrays[id];
  if (storage === undefined) throw new InternalError('an array is read that is not there');
  return storage;
}

export function shapeAt({ names }: Frame, { shape }: Pick<Stretch, 'shape'>): number[] {
  return shape.map((dim) => evaluateDim(dim, names));
}

function stepOf(statement: HostStatement, compiled: Compiled): Step {
  switch (statement.kind) {
    case 'set':
    case 'assign': {
      const { name } = statement;
      const value = integer(statement.value);
      return always((frame) => frame.names.set(name, value(frame)));
    }
    case 'load': {
      const { name, from } = statement;
      const offset = integer(from.offset ?? 0);
      return always((frame) => {
        const { elements } = storageAt(frame, from.of);
        frame.names.set(name, Number(elements[offset(frame)]));
      });
    }
    case 'store': {
      const to = target(statement.to);
      const value = integer(statement.value);
      return always((frame) => to(frame).fill(Int32Array.of(value(frame))));
    }
    case 'require':
      return required(statement);
    case 'repeat': {
      const inside = prepare(statement.body, compiled);
      return always((frame) => {
        while (!inside(frame));
      });
    }
    case 'leave':
      return holds(statement.when);
    case 'choose': {
      const when = holds(statement.when);
      const consequent = prepare(statement.consequent, compiled);
      const alternate = prepare(statement.alternate, compiled);
      return (frame) => (when(frame) ? consequent(frame) : alternate(frame));
    }
    case 'allocate': {
      const rows = integer(statement.rows);
      const stacks = statement.stacks.map(({ of, row }) => ({ of, rowLength: count(row) }));
      return always((frame) => {
        for (const { of, rowLength } of stacks) {
          frame.arrays[of.id] = Storage.zeros(of.dtype, rows(frame) * rowLength(frame));
        }
      });
    }
    case 'grow':
      return grown(statement);
    case 'copy': {
      const to = target(statement.to);
      const from = operand(statement.from);
      return always((frame) => to(frame).fill(from(frame).storage.elements));
    }
    case 'clear': {
      const at = target(statement.at);
      return always((frame) => {
        const cleared = at(frame);
        if (cleared.length > 0) cleared.fill(allocate(cleared.dtype, cleared.length));
      });
    }
    case 'check':
      return always((frame) => checkElements(frame, statement));
    case 'run':
      return always(prepareRun(statement, compiled));
    case 'call':
      return called(statement, compiled);
    case 'drop':
      return always(({ arrays }) => {
        for (const { id } of statement.handles) arrays[id] = undefined;
      });
  }
}

function always(act: (frame: Frame) => unknown): Step {
  return (frame) => {
    act(frame);
    return false;
  };
}

function integer(dim: Dim): Evaluate<number> {
  return typeof dim === 'number' ? () => dim : ({ names }) => evaluateDim(dim, names);
}

function holds({ dim, relation }: Test): Step {
  const value = integer(dim);
  return relation === '=' ? (frame) => value(frame) === 0 : (frame) => value(frame) >= 0;
}

function shapeOf(shape: readonly Dim[]): Evaluate<readonly number[]> {
  const numbers = shape.filter((dim) => typeof dim === 'number');
  return numbers.length === shape.length ? () => numbers : (frame) => shapeAt(frame, { shape });
}

function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1);
}

function count(shape: readonly Dim[]): Evaluate<number> {
  const at = shapeOf(shape);
  return (frame) => elementCount(at(frame));
}

function operand({ of, shape: declared, offset = 0 }: Stretch): Evaluate<Operand> {
  const shapeNow = shapeOf(declared);
  const start = integer(offset);
  return (frame) => {
    const storage = storageAt(frame, of);
    const shape = shapeNow(frame);
    const length = elementCount(shape);
    if (length === storage.length) return { storage, shape };
    const from = start(frame);
    const { host } = storage;
    // The memory that a pinned array lies in may move before the elements are read.
    const elements = storage.isPinned
      ? host.slice(from, from + length)
      : host.subarray(from, from + length);
    return { storage: new Storage(of.dtype, elements), shape };
  };
}

function target({ of, shape, offset = 0 }: Stretch): Evaluate<Storage> {
  const lengthNow = count(shape);
  const start = integer(offset);
  return (frame) => {
    const storage = storageAt(frame, of);
    const length = lengthNow(frame);
    if (length === storage.length) return storage;
    const from = start(frame);
    return Storage.window(of.dtype, storage.host.subarray(from, from + length));
  };
}

function required({ test, refusal, site }: Require): Step {
  const isMet = holds(test);
  return (frame) => {
    if (isMet(frame)) return false;
    const error = refusalError(refusalAt(refusal, frame.names));
    throw site === undefined ? error : within(error, site, frame);
  };
}

function grown({ stacks, rows, to, kept }: Grow): Step {
  const rowsWanted = integer(to);
  const rowsKept = integer(kept);
  const all = stacks.map(({ of, row }) => ({ of, rowLength: count(row) }));
  return always((frame) => {
    const [wanted, staying] = [rowsWanted(frame), rowsKept(frame)];
    if (wanted === frame.names.get(rows)) return;
    for (const { of, rowLength } of all) {
      const length = rowLength(frame);
      const storage = Storage.zeros(of.dtype, wanted * length);
      const old = storageAt(frame, of).host.subarray(0, staying * length);
      Storage.window(of.dtype, storage.host.subarray(0, staying * length)).fill(old);
      frame.arrays[of.id] = storage;
    }
    frame.names.set(rows, wanted);
  });
}

function checkElements(frame: Frame, { call, types, elements }: CheckElements): void {
  const { op, attributes } = call;
  const { names } = frame;
  const actual = types.map((type) => substituteType(type, names));
  const known = mapAttributeDims(op.attributes, attributes, (dim) => substituteDim(dim, names));
  try {
    refuseElements(declarationOf(op).check!, storageAt(frame, elements.of).host, actual, known);
  } catch (error) {
    throw inContext(error, 'in captured code', contextOf(call));
  }
}

function called({ callee, operands, results, site }: Call, compiled: Compiled): Step {
  const reads = operands.map(operand);
  const targets = results.map((result) => (result.kind === 'into' ? target(result.to) : null));
  return always((frame) => {
    try {
      const into = targets.map((to) => to?.(frame) ?? null);
      const executable = compiled.callee(callee);
      const made = executable.run(
        reads.map((read) => read(frame)),
        into,
      );
      results.forEach((result, k) => {
        if (result.kind === 'into') return;
        frame.arrays[result.as.id] = made[k].storage;
        result.extents.forEach((name, axis) => {
          if (name !== null) frame.names.set(name, made[k].shape[axis]);
        });
      });
    } catch (error) {
      throw within(error, site, frame);
    }
  });
}

/** An error inside of a loop or branch, told from where the call stands that owns it. */
function within(error: unknown, { where, call }: Site, { names }: Frame): unknown {
  return inContext(error, textOfWords(wordsAt(where, names)), contextOf(call));
}

function contextOf({ op, source }: CallNode): { op: string; source?: string } {
  return { op: op.name, ...(source !== undefined && { source }) };
}
