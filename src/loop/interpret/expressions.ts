import { InternalError } from '../../base/errors.js';
import type { Buffer, Expr, Load, Var } from '../language/nodes.js';
import { binaryLane, bitcastLane, castLane, type Lane, unaryLane } from '../language/scalar.js';
import { children, visitExprs } from '../language/visit.js';
import { type Frame, outOfBounds, type LaneValue } from './frame.js';

export type Code<T> = (frame: Frame) => T;
type ScalarCode = Code<Lane>;
type VectorCode = Code<readonly Lane[]>;

/** Slots of a kernel's locals and buffers. */
export interface FrameSlots {
  readonly kernel: string;
  local(variable: Var): number;
  buffer(buffer: Buffer): number;
  /** True for the slot of a private buffer. */
  isPrivate(slot: number): boolean;
  /** The slot of a buffer in the memory of a workgroup; undefined for other buffers. */
  groupMemory(buffer: Buffer): number | undefined;
  bindGroupMemory(buffer: Buffer): void;
  /** An unused slot. */
  temporary(): number;
}

/**
 * Compiles an expression to a closure. Every subexpression is evaluated once: a shared one is computed first
 * and kept in a slot, so the cost is that of the DAG, not the tree.
 */
export function compileExpr(root: Expr, slots: FrameSlots): Code<LaneValue> {
  const uses = new Map<Expr, number>([[root, 1]]);
  const order: Expr[] = [];
  visitExprs([root], (expr) => {
    for (const child of children(expr)) uses.set(child, (uses.get(child) ?? 0) + 1);
    order.push(expr);
  });
  const compiled = new Map<Expr, Code<LaneValue>>();
  const compiler = new Compiler(slots, (expr) => {
    const code = compiled.get(expr);
    if (code === undefined) throw new InternalError('loop IR: an operand was not compiled');
    return code;
  });
  const first: Code<void>[] = [];
  for (const expr of order) {
    const code = expr.type.lanes === 1 ? compiler.scalar(expr) : compiler.vector(expr);
    if (uses.get(expr) === 1 || expr.kind === 'var' || expr.kind === 'const') {
      compiled.set(expr, code);
    } else {
      const slot = slots.temporary();
      first.push((frame) => {
        frame.values[slot] = code(frame);
      });
      compiled.set(expr, (frame) => frame.values[slot]);
    }
  }
  const result = compiled.get(root)!;
  if (first.length === 0) return result;
  return (frame) => {
    for (const step of first) step(frame);
    return result(frame);
  };
}

function splat(lane: Lane, lanes: number): Lane[] {
  return Array<Lane>(lanes).fill(lane);
}

class Compiler {
  readonly #slots: FrameSlots;
  readonly #operand: (expr: Expr) => Code<LaneValue>;

  constructor(slots: FrameSlots, operand: (expr: Expr) => Code<LaneValue>) {
    this.#slots = slots;
    this.#operand = operand;
  }

  scalar(expr: Expr): ScalarCode {
    switch (expr.kind) {
      case 'const': {
        const { value } = expr;
        return () => value;
      }
      case 'var': {
        const slot = this.#slots.local(expr);
        return (frame) => frame.values[slot] as Lane;
      }
      case 'unary':
        return this.#lane(unaryLane(expr.op, expr.x.type.scalar), expr.x);
      case 'cast':
        return this.#lane(castLane(expr.x.type.scalar, expr.type.scalar), expr.x);
      case 'bitcast':
        return this.#lane(bitcastLane(expr.x.type.scalar, expr.type.scalar), expr.x);
      case 'binary': {
        const f = binaryLane(expr.op, expr.a.type.scalar);
        const [a, b] = [this.#scalar(expr.a), this.#scalar(expr.b)];
        return (frame) => f(a(frame), b(frame));
      }
      case 'select': {
        const condition = this.#scalar(expr.condition);
        const [a, b] = [this.#scalar(expr.a), this.#scalar(expr.b)];
        return (frame) => {
          const left = a(frame);
          const right = b(frame);
          return condition(frame) === 0 ? right : left;
        };
      }
      case 'load': {
        const read = this.#read(expr);
        const index = this.#scalar(expr.index);
        return (frame) => read(frame, Number(index(frame)));
      }
      case 'extract': {
        const [x, lane] = [this.#vector(expr.x), expr.lane];
        return (frame) => x(frame)[lane];
      }
      case 'ramp':
      case 'broadcast':
        throw new InternalError(`loop IR: a ${expr.kind} of one lane`);
    }
  }

  vector(expr: Expr): VectorCode {
    const { lanes } = expr.type;
    switch (expr.kind) {
      case 'const': {
        const value = splat(expr.value, lanes);
        return () => value;
      }
      case 'var': {
        const slot = this.#slots.local(expr);
        return (frame) => frame.values[slot] as readonly Lane[];
      }
      case 'unary':
        return this.#lanes(unaryLane(expr.op, expr.x.type.scalar), expr.x);
      case 'cast':
        return this.#lanes(castLane(expr.x.type.scalar, expr.type.scalar), expr.x);
      case 'bitcast':
        return this.#lanes(bitcastLane(expr.x.type.scalar, expr.type.scalar), expr.x);
      case 'binary': {
        const f = binaryLane(expr.op, expr.a.type.scalar);
        const [a, b] = [this.#vector(expr.a), this.#vector(expr.b)];
        return (frame) => {
          const left = a(frame);
          const right = b(frame);
          return left.map((x, lane) => f(x, right[lane]));
        };
      }
      case 'select': {
        const condition = this.#vector(expr.condition);
        const [a, b] = [this.#vector(expr.a), this.#vector(expr.b)];
        return (frame) => {
          const [left, right] = [a(frame), b(frame)];
          return condition(frame).map((take, lane) => (take === 0 ? right : left)[lane]);
        };
      }
      case 'load': {
        const read = this.#read(expr);
        const index = this.#vector(expr.index);
        return (frame) => index(frame).map((at) => read(frame, at as number));
      }
      case 'ramp': {
        const [base, stride] = [this.#scalar(expr.base), this.#scalar(expr.stride)];
        return (frame) => {
          const start = base(frame) as number;
          const step = stride(frame) as number;
          const places: number[] = [];
          for (let lane = 0; lane < lanes; lane++) places.push((start + Math.imul(step, lane)) | 0);
          return places;
        };
      }
      case 'broadcast': {
        const x = this.#scalar(expr.x);
        return (frame) => splat(x(frame), lanes);
      }
      case 'extract':
        throw new InternalError('loop IR: an extract of several lanes');
    }
  }

  #scalar(expr: Expr): ScalarCode {
    return this.#operand(expr) as ScalarCode;
  }

  #vector(expr: Expr): VectorCode {
    return this.#operand(expr) as VectorCode;
  }

  #lane(f: (x: Lane) => Lane, operand: Expr): ScalarCode {
    const x = this.#scalar(operand);
    return (frame) => f(x(frame));
  }

  #lanes(f: (x: Lane) => Lane, operand: Expr): VectorCode {
    const x = this.#vector(operand);
    return (frame) => x(frame).map(f);
  }

  #read({ buffer }: Load): (frame: Frame, index: number) => Lane {
    const { kernel } = this.#slots;
    const shared = this.#slots.groupMemory(buffer);
    if (shared !== undefined) {
      return ({ workgroup }, index) => workgroup!.memory[shared].load(index, workgroup!.invocation);
    }
    const slot = this.#slots.buffer(buffer);
    return (frame, index) => {
      const value = frame.views[slot][frame.bases[slot] + index];
      if (index < 0 || value === undefined) outOfBounds(kernel, buffer, index);
      return value;
    };
  }
}
