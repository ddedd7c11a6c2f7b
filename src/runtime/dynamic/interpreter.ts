import { allocate } from '../../base/dtype.js';
import { InternalError } from '../../base/errors.js';
import type { Dim } from '../../base/dim/index.js';
import { refusalAt, refusalError } from '../../ir/requirement.js';
import { refuseInCapturedCode } from '../../passes/host/elements.js';
import { dimEvaluator, errorWithin, lengthEvaluator, shapeEvaluator, testEvaluator } from '../../passes/host/evaluate.js'; // prettier-ignore
import type { HostStatementOf, HostCallee, Handle, HostStatement, HostPart, StackedArray, Stretch } from '../../passes/host/statements.js'; // prettier-ignore
import type { Executable, Operand } from '../execution/executable.js';
import { Storage } from '../memory/storage.js';

/** The compiled code that a routine runs. */
export interface Compiled {
  part(part: HostPart): Executable;
  callee(callee: HostCallee): Executable;
}

/** State of one run: the values of names, and arrays by the numbers of their handles. */
export interface RunFrame {
  readonly names: Map<string, number>;
  readonly arrays: (Storage | undefined)[];
}

/** A statement, prepared. Returns true where it leaves the repetition around it. */
export type PreparedStep = (frame: RunFrame) => boolean;

/** Prepares statements that run in order: what no run changes is computed here. */
export function prepare(body: readonly HostStatement[], compiled: Compiled): PreparedStep {
  const steps = body.map((statement) => stepOf(statement, compiled));
  return (frame) => {
    for (const step of steps) if (step(frame)) return true;
    return false;
  };
}

/** Prepares a statement that runs code; `into` as in `Executable.run`. */
export function prepareRun(
  { part, reads, sizes, gives }: HostStatementOf<'run'>,
  compiled: Compiled,
): (frame: RunFrame, into?: readonly (Storage | null)[]) => void {
  const operands = reads.map(operand);
  const sizesOf = shapeEvaluator(sizes);
  const executable = compiled.part(part);
  return (frame, into) => {
    const given = operands.map((read) => read(frame));
    const results = executable.run(given, into, sizesOf(frame.names));
    gives.forEach(({ id }, k) => (frame.arrays[id] = results[k].storage));
  };
}

/** Array that a handle stands for now. */
export function storageAt({ arrays }: RunFrame, { id }: Handle): Storage {
  const storage = arrays[id];
  if (storage === undefined) throw new InternalError('an array is read that is not there');
  return storage;
}

function stepOf(statement: HostStatement, compiled: Compiled): PreparedStep {
  switch (statement.kind) {
    case 'set':
    case 'assign': {
      const value = dimEvaluator(statement.value);
      return always(({ names }) => names.set(statement.name, value(names)));
    }
    case 'load': {
      const { name, from } = statement;
      const offset = dimEvaluator(from.offset ?? 0);
      return always((frame) => {
        const { elements } = storageAt(frame, from.of);
        frame.names.set(name, Number(elements[offset(frame.names)]));
      });
    }
    case 'store': {
      const to = target(statement.to);
      const value = dimEvaluator(statement.value);
      return always((frame) => to(frame).fill(Int32Array.of(value(frame.names))));
    }
    case 'require': {
      const isMet = testEvaluator(statement.test);
      return always(({ names }) => {
        if (!isMet(names)) throw refusalError(refusalAt(statement.refusal, names));
      });
    }
    case 'repeat': {
      const inside = prepare(statement.body, compiled);
      return always((frame) => {
        while (!inside(frame));
      });
    }
    case 'leave': {
      const isEnd = testEvaluator(statement.when);
      return ({ names }) => isEnd(names);
    }
    case 'choose': {
      const isFirst = testEvaluator(statement.when);
      const consequent = prepare(statement.consequent, compiled);
      const alternate = prepare(statement.alternate, compiled);
      return (frame) => (isFirst(frame.names) ? consequent : alternate)(frame);
    }
    case 'allocate':
      return resize(statement.stacks, statement.rows, null);
    case 'grow': {
      const move = resize(statement.stacks, statement.to, statement.kept);
      const [rows, needed] = [dimEvaluator(statement.to), dimEvaluator(statement.needed)];
      return always((frame) => {
        if (needed(frame.names) <= frame.names.get(statement.rows)!) return;
        move(frame);
        frame.names.set(statement.rows, rows(frame.names));
      });
    }
    case 'trim':
      return resize(statement.stacks, statement.rows, statement.rows);
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
    case 'check': {
      const { call, elements, types } = statement;
      const read = operand(elements);
      return always((frame) =>
        refuseInCapturedCode(call, read(frame).storage.host, types, frame.names),
      );
    }
    case 'run':
      return always(prepareRun(statement, compiled));
    case 'call':
      return callOf(statement, compiled);
    case 'drop':
      return always(({ arrays }) => {
        for (const { id } of statement.handles) arrays[id] = undefined;
      });
  }
}

function always(act: (frame: RunFrame) => unknown): PreparedStep {
  return (frame) => {
    act(frame);
    return false;
  };
}

/** Elements to be read. */
function operand({ of, shape: declared, offset = 0 }: Stretch): (frame: RunFrame) => Operand {
  const [shapeOf, lengthOf] = [shapeEvaluator(declared), lengthEvaluator(declared)];
  const start = dimEvaluator(offset);
  return (frame) => {
    const storage = storageAt(frame, of);
    const shape = shapeOf(frame.names);
    const length = lengthOf(frame.names);
    if (length === storage.length) return { storage, shape };
    const from = start(frame.names);
    const { host, isPinned } = storage;
    // The memory that a pinned array lies in may move before the elements are read.
    const part = isPinned ? host.slice(from, from + length) : host.subarray(from, from + length);
    return { storage: new Storage(of.dtype, part), shape };
  };
}

/** Elements to be written. */
function target({ of, shape, offset = 0 }: Stretch): (frame: RunFrame) => Storage {
  const [lengthOf, start] = [lengthEvaluator(shape), dimEvaluator(offset)];
  return (frame) => {
    const storage = storageAt(frame, of);
    const length = lengthOf(frame.names);
    if (length === storage.length) return storage;
    const from = start(frame.names);
    return Storage.window(of.dtype, storage.host.subarray(from, from + length));
  };
}

/** New memory for `rows` rows of each array, into which the first `kept` are moved; null for new arrays. */
function resize(stacks: readonly StackedArray[], rows: Dim, kept: Dim | null): PreparedStep {
  const [count, staying] = [dimEvaluator(rows), dimEvaluator(kept ?? 0)];
  const all = stacks.map(({ of, row }) => ({ of, rowLength: lengthEvaluator(row) }));
  return always((frame) => {
    for (const { of, rowLength } of all) {
      const length = rowLength(frame.names);
      const old = kept === null ? null : storageAt(frame, of);
      if (old?.length === count(frame.names) * length) continue;
      const storage = Storage.zeros(of.dtype, count(frame.names) * length);
      const end = staying(frame.names) * length;
      const moved = Storage.window(of.dtype, storage.host.subarray(0, end));
      if (old !== null) moved.fill(old.host.subarray(0, end));
      frame.arrays[of.id] = storage;
    }
  });
}

function callOf(
  { callee, operands, sizes, results, site }: HostStatementOf<'call'>,
  compiled: Compiled,
): PreparedStep {
  const reads = operands.map(operand);
  const sizesOf = shapeEvaluator(sizes);
  const targets = results.map((result) => (result.kind === 'into' ? target(result.to) : null));
  return always((frame) => {
    try {
      const into = targets.map((to) => to?.(frame) ?? null);
      const given = reads.map((read) => read(frame));
      const made = compiled.callee(callee).run(given, into, sizesOf(frame.names));
      results.forEach((result, k) => {
        if (result.kind === 'into') return;
        frame.arrays[result.as.id] = made[k].storage;
        result.extents.forEach((name, axis) => {
          if (name !== null) frame.names.set(name, made[k].shape[axis]);
        });
      });
    } catch (error) {
      throw errorWithin(error, site, frame.names);
    }
  });
}
