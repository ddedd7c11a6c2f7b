import * as e from './build.js';
import type { Expr, Stmt } from './nodes.js';

/** The threads that run one kernel together, the members of a team. */
export interface Team {
  /** The number of this thread, from 0. */
  readonly index: Expr;
  readonly count: Expr;
}

/** One thread. */
export const alone: Team = { index: e.i32(0), count: e.i32(1) };

/** True when a team is certainly one thread. */
function isAlone({ count }: Team): boolean {
  return count.kind === 'const' && count.value === 1;
}

/**
 * The part of `begin <= i < end` that falls to this thread, as a parallel range divides it: whole steps, one stretch for each thread,
 * every index in one of them, where `begin` is not beyond `end`. Where the parts are cut changes with the number of threads, so nothing that
 * is computed may depend on it.
 */
export function shareOf(team: Team, begin: Expr, end: Expr, step: number): LoopRange {
  if (isAlone(team)) return { begin, end };
  const { index, count } = team;
  const steps = e.div(e.add(e.sub(end, begin), step - 1), step);
  // The first threads have one step more than the others. A product of steps and threads might overflow.
  const [each, more] = [e.div(steps, count), e.rem(steps, count)];
  const cut = (thread: Expr): Expr =>
    e.min(e.add(begin, e.mul(e.add(e.mul(each, thread), e.min(thread, more)), step)), end);
  return { begin: cut(index), end: cut(e.add(index, 1)) };
}

/** Loop indices `begin <= i < end`. */
export interface LoopRange {
  readonly begin: Expr;
  readonly end: Expr;
}

/** A range that is divided among those who run the kernel, or all of it. */
export function overRange(
  isDivided: boolean,
  { begin, end }: LoopRange,
  step: number,
  body: (range: LoopRange) => Stmt,
): Stmt {
  if (!isDivided) return body({ begin, end });
  return e.parallel(begin, end, step, (from, to) => body({ begin: from, end: to }));
}

/**
 * One range over all indices of a box in row-major order, in single steps: for devices that have a thread for each. The
 * body receives an index.
 */
export function overGrid(extents: readonly Expr[], body: (index: readonly Expr[]) => Stmt): Stmt {
  if (extents.length === 0) return body([]);
  const count = extents.reduce((product, extent) => e.mul(product, extent));
  return e.parallel(0, count, 1, (from, to) =>
    e.forLoop('at', from, to, (at) => body(indexAt(at, extents))),
  );
}

/** Lanes of the vectors that the threads of a grid read and store: those of shaders. */
export const gridLanes = 4;

/**
 * The same for neighbors along the last axis, `gridLanes` at a time, of which its extent is a multiple: for devices whose
 * threads read and store several neighbors at once.
 */
export function overGridOfVectors(
  extents: readonly Expr[],
  body: (index: readonly Expr[]) => Stmt,
): Stmt {
  const lanes = gridLanes;
  const last = extents[extents.length - 1];
  const vectors = last.kind === 'const' ? e.i32(Number(last.value) / lanes) : e.div(last, lanes);
  return overGrid([...extents.slice(0, -1), vectors], (index) =>
    e.forLoop(
      'lane',
      0,
      lanes,
      (lane) => {
        const first = e.mul(index[index.length - 1], lanes);
        return body([...index.slice(0, -1), e.add(first, lane)]);
      },
      { mode: 'vector' },
    ),
  );
}

/** The index of a row-major position in a box. */
export function indexAt(position: Expr, extents: readonly Expr[]): readonly Expr[] {
  if (extents.length === 0) return [];
  const index: Expr[] = [];
  let rest = position;
  for (let axis = extents.length - 1; axis > 0; axis--) {
    index.unshift(e.rem(rest, extents[axis]));
    rest = e.div(rest, extents[axis]);
  }
  return [rest, ...index];
}

/** The share of a member as numbers: what `shareOf` computes. */
export function stretchOf(
  { begin, end }: { readonly begin: number; readonly end: number },
  step: number,
  { index, count }: { readonly index: number; readonly count: number },
): readonly [from: number, to: number] {
  const steps = Math.max(0, Math.ceil((end - begin) / step));
  const [each, more] = [Math.floor(steps / count), steps % count];
  const cut = (member: number): number =>
    Math.min(begin + (each * member + Math.min(member, more)) * step, end);
  return [cut(index), cut(index + 1)];
}

/**
 * Layout of the i32 memory of a `barrier`: words that different threads wait for are on different cache
 * lines. The host clears it before a team starts.
 */
export const meeting = {
  /** Number of threads that have arrived at the current barrier. */
  arrived: 0,
  /** Number of barriers the team has passed. */
  passed: 16,
  /** Number of threads that sleep until the next is passed. */
  sleeping: 32,
  /** Not 0 once a thread has failed: arriving threads then leave the kernel. */
  failed: 48,
  /** 1 when the first thread may sleep, which the main thread of a browser may not. */
  maySleep: 49,
  /** Words in all. */
  words: 64,
} as const;
