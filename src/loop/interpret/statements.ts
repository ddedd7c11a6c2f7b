import { DeviceError, InternalError } from '../../base/errors.js';
import type { Buffer, Expr, Kernel, Stmt, Store, Var } from '../language/nodes.js';
import { type Lane, UndefinedDivision } from '../language/scalar.js';
import { stretchOf } from '../language/team.js';
import { type Code, compileExpr, type FrameSlots } from './expressions.js';
import { compileWorkgroups } from './workgroups.js';
import {
  baseElement,
  type BufferArgument,
  type Frame,
  type Member,
  type MemoryViews,
  outOfBounds,
  type LaneValue,
} from './frame.js';

/** A buffer is given by its address in `memory`, or by a memory of its own. */
export type KernelValue = LaneValue | BufferArgument;

export type Runnable = (memory: MemoryViews, args: readonly KernelValue[], member?: Member) => void;

/** One thread that runs everything. */
const alone: Member = { index: 0, count: 1 };

const compiled = new WeakMap<Kernel, Runnable>();

/** A kernel as a closure; compiled once. */
export function compileKernel(kernel: Kernel): Runnable {
  let runnable = compiled.get(kernel);
  if (runnable === undefined) compiled.set(kernel, (runnable = compileFresh(kernel)));
  return runnable;
}

function compileFresh(kernel: Kernel): Runnable {
  const slots = new KernelSlots(kernel.name);
  const receive = kernel.params.map((param): ((frame: Frame, value: KernelValue) => void) => {
    if (param.kind === 'buffer') {
      const slot = slots.bind(param);
      return (frame, value) => {
        const { memory, address } = isOwn(value)
          ? value
          : { memory: frame.memory, address: Number(value) };
        frame.views[slot] = memory[param.storage];
        frame.bases[slot] = baseElement(kernel.name, param, address);
      };
    }
    const slot = slots.local(param);
    return (frame, value) => {
      frame.values[slot] = value as LaneValue; // a variable is given by its value
    };
  });
  const run = compileStmt(kernel.body, slots);
  return (memory, args, member = alone) => {
    const frame: Frame = { memory, views: [], values: [], bases: [], member, workgroup: null };
    receive.forEach((give, i) => give(frame, args[i]));
    try {
      run(frame);
    } catch (cause) {
      if (!(cause instanceof UndefinedDivision)) throw cause;
      throw new DeviceError(`${cause.message} in kernel ${kernel.name}`, {
        op: 'interpret',
        cause,
      });
    }
  };
}

function isOwn(value: KernelValue): value is BufferArgument {
  return typeof value === 'object' && 'memory' in value;
}

class KernelSlots implements FrameSlots {
  readonly kernel: string;
  readonly #locals: Map<Var, number> = new Map();
  readonly #buffers: Map<Buffer, number> = new Map();
  readonly #private: Set<number> = new Set();
  readonly #groupMemory: Map<Buffer, number> = new Map();
  #next = 0;

  constructor(kernel: string) {
    this.kernel = kernel;
  }

  local(variable: Var): number {
    let slot = this.#locals.get(variable);
    if (slot === undefined) this.#locals.set(variable, (slot = this.#next++));
    return slot;
  }

  temporary(): number {
    return this.#next++;
  }

  bind(buffer: Buffer): number {
    const slot = this.#buffers.size;
    this.#buffers.set(buffer, slot);
    if (buffer.isPrivate) this.#private.add(slot);
    return slot;
  }

  isPrivate(slot: number): boolean {
    return this.#private.has(slot);
  }

  bindGroupMemory(buffer: Buffer): void {
    this.#groupMemory.set(buffer, this.#groupMemory.size);
  }

  groupMemory(buffer: Buffer): number | undefined {
    return this.#groupMemory.get(buffer);
  }

  buffer(buffer: Buffer): number {
    const slot = this.#buffers.get(buffer);
    if (slot === undefined)
      throw new InternalError(`kernel ${this.kernel} has no buffer ${buffer.name}`);
    return slot;
  }
}

function compileStmt(stmt: Stmt, slots: FrameSlots): Code<void> {
  const scalar = (expr: Expr): Code<Lane> => compileExpr(expr, slots) as Code<Lane>;
  switch (stmt.kind) {
    case 'block': {
      const steps = stmt.body.map((inner) => compileStmt(inner, slots));
      return (frame) => {
        for (const step of steps) step(frame);
      };
    }
    case 'for': {
      const slot = slots.local(stmt.variable);
      const [begin, end] = [scalar(stmt.begin), scalar(stmt.end)];
      const { step } = stmt;
      const body = compileStmt(stmt.body, slots);
      return (frame) => {
        const limit = end(frame);
        for (let i = begin(frame) as number; i < limit; i += step) {
          frame.values[slot] = i;
          body(frame);
        }
      };
    }
    case 'parallel': {
      const [from, to] = [slots.local(stmt.from), slots.local(stmt.to)];
      const [begin, end] = [scalar(stmt.begin), scalar(stmt.end)];
      const { step } = stmt;
      const body = compileStmt(stmt.body, slots);
      return (frame) => {
        const range = { begin: begin(frame) as number, end: end(frame) as number };
        [frame.values[from], frame.values[to]] = stretchOf(range, step, frame.member);
        body(frame);
      };
    }
    case 'while': {
      const condition = scalar(stmt.condition);
      const body = compileStmt(stmt.body, slots);
      return (frame) => {
        while (condition(frame) !== 0) body(frame);
      };
    }
    case 'if': {
      const condition = scalar(stmt.condition);
      const consequent = compileStmt(stmt.consequent, slots);
      const alternate = stmt.alternate === null ? () => {} : compileStmt(stmt.alternate, slots);
      return (frame) => {
        if (condition(frame) !== 0) consequent(frame);
        else alternate(frame);
      };
    }
    case 'declare':
    case 'assign': {
      const slot = slots.local(stmt.variable);
      const value = compileExpr(stmt.value, slots);
      return (frame) => {
        frame.values[slot] = value(frame);
      };
    }
    case 'store':
      return compileStore(stmt, slots);
    case 'workgroups':
      return compileWorkgroups(stmt, slots, compileStmt);
    case 'workgroup barrier': // those of workgroups are looked at before
      throw new InternalError(
        `kernel ${slots.kernel} has a workgroup barrier outside of workgroups`,
      );
    case 'barrier': // the one thread that there is waits for nobody
      return () => {};
    case 'call': {
      const callee = compileKernel(stmt.kernel);
      const args = stmt.args.map((arg) => compileExpr(arg, slots));
      return (frame) => {
        callee(
          frame.memory,
          args.map((arg) => arg(frame)),
          frame.member,
        );
      };
    }
  }
}

/** Lanes are stored in order: where two lanes meet one element, the later one stays. */
function compileStore({ buffer, index, value }: Store, slots: FrameSlots): Code<void> {
  const write = writer(buffer, slots);
  const [where, what] = [compileExpr(index, slots), compileExpr(value, slots)];
  if (index.type.lanes === 1) {
    return (frame) => {
      const at = where(frame) as number;
      write(frame, at, what(frame) as Lane);
    };
  }
  return (frame) => {
    const places = where(frame) as readonly number[];
    const lanes = what(frame) as readonly Lane[];
    places.forEach((at, lane) => write(frame, at, lanes[lane]));
  };
}

function writer(
  buffer: Buffer,
  slots: FrameSlots,
): (frame: Frame, index: number, lane: Lane) => void {
  const shared = slots.groupMemory(buffer);
  if (shared !== undefined) {
    return ({ workgroup }, at, lane) =>
      workgroup!.memory[shared].store(at, lane, workgroup!.invocation);
  }
  const slot = slots.buffer(buffer);
  return (frame, at, lane) => {
    const view = frame.views[slot];
    const place = frame.bases[slot] + at;
    if (at < 0 || place >= view.length) outOfBounds(slots.kernel, buffer, at);
    view[place] = lane;
  };
}
