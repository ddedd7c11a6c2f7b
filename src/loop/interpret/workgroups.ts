import { DeviceError } from '../../base/errors.js';
import type { Expr, Stmt, Workgroups } from '../language/nodes.js';
import type { Lane } from '../language/scalar.js';
import { stretchOf } from '../language/team.js';
import { visitStmts } from '../language/visit.js';
import { type Code, compileExpr, type FrameSlots } from './expressions.js';
import type { Frame, View } from './frame.js';
import { GroupMemory } from './group-memory.js';

/** Runs statements for the invocations of one workgroup; `order` gives those between two barriers. */
type GroupCode = (frames: readonly Frame[], state: GroupState) => void;

interface GroupState {
  readonly memory: readonly GroupMemory[];
  order(): readonly number[];
}

/**
 * The code of workgroups: a member of a team runs a stretch of the groups, one after the other. The invocations of a
 * group run what is between two barriers one after the other, in an order of the member's seed, and meet at barriers;
 * the bounds and conditions around barriers have to be the same for all of them.
 */
export function compileWorkgroups(
  { group, invocation, count, size, memory, body }: Workgroups,
  slots: FrameSlots,
  compileStmt: (stmt: Stmt, slots: FrameSlots) => Code<void>,
): Code<void> {
  const [groupSlot, invocationSlot] = [slots.local(group), slots.local(invocation)];
  const groups = compileExpr(count, slots) as Code<Lane>;
  memory.forEach(({ buffer }) => slots.bindGroupMemory(buffer));
  const run = new GroupCompiler(slots, compileStmt).compile(body);
  return (frame) => {
    const range = { begin: 0, end: groups(frame) as number };
    const [from, to] = stretchOf(range, 1, frame.member);
    const random = new Orders(frame.member.seed ?? 0, size);
    for (let at = from; at < to; at++) {
      const shared = memory.map((each) => new GroupMemory(slots.kernel, each));
      const frames = Array.from({ length: size }, (_, index): Frame => {
        const values = frame.values.slice();
        [values[groupSlot], values[invocationSlot]] = [at, index];
        const views = frame.views.map((view, slot): View =>
          slots.isPrivate(slot) ? view.slice() : view,
        );
        return { ...frame, values, views, workgroup: { invocation: index, memory: shared } };
      });
      run(frames, { memory: shared, order: () => random.next() });
    }
  };
}

class GroupCompiler {
  readonly #slots: FrameSlots;
  readonly #compileStmt: (stmt: Stmt, slots: FrameSlots) => Code<void>;

  constructor(slots: FrameSlots, compileStmt: (stmt: Stmt, slots: FrameSlots) => Code<void>) {
    this.#slots = slots;
    this.#compileStmt = compileStmt;
  }

  compile(stmt: Stmt): GroupCode {
    if (!hasBarrier(stmt)) return this.#together([stmt]);
    switch (stmt.kind) {
      case 'block':
        return this.#block(stmt.body);
      case 'for': {
        const slot = this.#slots.local(stmt.variable);
        const [begin, end] = [this.#uniform(stmt.begin), this.#uniform(stmt.end)];
        const body = this.compile(stmt.body);
        return (frames, state) => {
          const limit = end(frames) as number;
          for (let i = begin(frames) as number; i < limit; i += stmt.step) {
            for (const frame of frames) frame.values[slot] = i;
            body(frames, state);
          }
        };
      }
      case 'while': {
        const condition = this.#uniform(stmt.condition);
        const body = this.compile(stmt.body);
        return (frames, state) => {
          while (condition(frames) !== 0) body(frames, state);
        };
      }
      case 'if': {
        const condition = this.#uniform(stmt.condition);
        const consequent = this.compile(stmt.consequent);
        const alternate = stmt.alternate === null ? () => {} : this.compile(stmt.alternate);
        return (frames, state) => (condition(frames) !== 0 ? consequent : alternate)(frames, state);
      }
      default: // a barrier
        return (_, { memory }) => memory.forEach((each) => each.meet());
    }
  }

  /** Statements between two barriers are run by one invocation after the other. */
  #block(body: readonly Stmt[]): GroupCode {
    const parts: GroupCode[] = [];
    let open: Stmt[] = [];
    const close = (): void => {
      if (open.length > 0) parts.push(this.#together(open));
      open = [];
    };
    for (const stmt of body) {
      if (hasBarrier(stmt)) {
        close();
        parts.push(this.compile(stmt));
      } else open.push(stmt);
    }
    close();
    return (frames, state) => {
      for (const part of parts) part(frames, state);
    };
  }

  #together(statements: readonly Stmt[]): GroupCode {
    const steps = statements.map((stmt) => this.#compileStmt(stmt, this.#slots));
    return (frames, { order }) => {
      for (const index of order()) for (const step of steps) step(frames[index]);
    };
  }

  #uniform(expr: Expr): (frames: readonly Frame[]) => Lane {
    const code = compileExpr(expr, this.#slots) as Code<Lane>;
    const { kernel } = this.#slots;
    return (frames) => {
      const [first, ...others] = frames.map(code);
      if (others.every((other) => other === first)) return first;
      throw new DeviceError(`not all invocations arrive at a barrier of kernel ${kernel}`, {
        op: 'interpret',
      });
    };
  }
}

function hasBarrier(stmt: Stmt): boolean {
  let found = false;
  visitStmts(stmt, ({ kind }) => {
    found ||= kind === 'workgroup barrier';
  });
  return found;
}

/** Orders of the numbers below `size`, by a seed. */
class Orders {
  readonly #order: number[];
  #state: number;

  constructor(seed: number, size: number) {
    this.#order = Array.from({ length: size }, (_, k) => k);
    this.#state = seed;
  }

  next(): readonly number[] {
    if (this.#state === 0) return this.#order;
    for (let k = this.#order.length - 1; k > 0; k--) {
      this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0 || 1;
      const other = Math.floor((this.#state / 2 ** 32) * (k + 1));
      [this.#order[k], this.#order[other]] = [this.#order[other], this.#order[k]];
    }
    return this.#order;
  }
}
