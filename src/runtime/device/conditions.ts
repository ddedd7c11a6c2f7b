import * as e from '../../loop/language/build.js';
import type { ElementKind, Expr, Kernel, Stmt } from '../../loop/language/nodes.js';
import { storageOf } from '../../ops/elements.js';
import type { Launch } from './backend.js';
import { type BufferSlot, kernelNamed } from './memory.js';
import type { DeviceQueue } from './queue.js';

/*
 * Conditions that a device decides for itself. The host does not wait for what a branch or a loop depends on: it hands
 * over the kernels of both branches, and of iterations that may not come, each with a condition, and the device runs
 * those whose condition holds.
 *
 * A condition is int32 elements in a buffer that nothing else shares: 1 or 0, and for each class of workgroups the
 * three numbers of an indirect dispatch, whose second one is that same 1 or 0. Kernels are right with any number of
 * workgroups, so a class for each power of two is enough, and one kernel of a single invocation sets a condition for
 * all kernels that depend on it.
 */

/** Classes of workgroups. */
const classes = 17;

/** The most workgroups that every GPU takes along one dimension. */
const mostGroups = 2 ** 16 - 1;

/** Elements of a condition. */
const conditionWords = 1 + 3 * classes;

/** Elements for a branch or loop: two conditions, and the number of iterations so far. */
const blockWords = 2 * conditionWords + 1;

/**
 * The least elements of a buffer for conditions or sizes, whose memory nothing else may share: that of conditions is
 * used for indirect dispatches, and sizes are the same for all invocations only where nothing stores to them.
 */
export const leastWords: number = 512;

/** The number of workgroups to run for so many, at most `most`, and where a condition has it, in bytes. */
export function conditionalGroups(
  groups: number,
  most: number,
): { readonly groups: number; readonly offset: number } {
  let k = Math.min(Math.ceil(Math.log2(groups)), classes - 1);
  if (2 ** k > most) k--;
  return { groups: Math.min(2 ** k, mostGroups), offset: 4 * (1 + 3 * k) };
}

/** Places of what a branch or loop needs on the device. */
export interface ConditionBlock {
  /** Of the first branch, or of the iteration that comes next. */
  readonly first: BufferSlot;
  /** Of the second branch, or of what follows a loop. */
  readonly second: BufferSlot;
  /** Number of iterations so far, an int32. */
  readonly count: BufferSlot;
}

/** Elements of a buffer for so many branches and loops. */
export function conditionsLength(count: number): number {
  return Math.max(count * blockWords, leastWords);
}

/** Kernels that decide about others. `before` is the condition around a branch or loop: nothing inside runs without it. */
export class Conditions {
  readonly #queue: DeviceQueue;

  constructor(queue: DeviceQueue) {
    this.#queue = queue;
  }

  /** The block of a branch or loop in the buffer of its run. */
  blockAt(buffer: BufferSlot['buffer'], number: number): ConditionBlock {
    const offset = number * blockWords * 4;
    return {
      first: { buffer, offset },
      second: { buffer, offset: offset + conditionWords * 4 },
      count: { buffer, offset: offset + 2 * conditionWords * 4 },
    };
  }

  /** Decides between the branches. */
  choose({ first }: ConditionBlock, before: BufferSlot, predicate: BufferSlot): void {
    this.#launch(kernels.choose)([first, before, predicate]);
  }

  /** Decides about an iteration of a loop that a predicate ends, and counts it. */
  go(
    { first, count }: ConditionBlock,
    before: BufferSlot,
    predicate: BufferSlot,
    iteration: number,
  ): void {
    const last = iteration === 0 ? before : first;
    this.#launch(kernels.go)([first, count, last, predicate, iteration]);
  }

  /** Decides about an iteration of a loop over the first rows, as many as `count`. */
  within(
    { first }: ConditionBlock,
    before: BufferSlot,
    count: BufferSlot,
    iteration: number,
  ): void {
    this.#launch(kernels.within)([first, before, count, iteration]);
  }

  /** Decides whether states are in the other place than `steps` iterations of which all had run would leave them in. */
  differ(
    { second }: ConditionBlock,
    before: BufferSlot,
    count: BufferSlot,
    most: number,
    steps: number,
  ): void {
    this.#launch(kernels.differ)([second, before, count, most, steps % 2]);
  }

  /** Makes the rows beyond the first `count` zero. */
  clearBeyond(
    storage: ElementKind,
    to: BufferSlot,
    count: BufferSlot,
    rows: number,
    elements: number,
    condition?: BufferSlot,
  ): void {
    const clear = kernelNamed('clear_beyond', storage, clearBeyondKernel);
    this.#launch(clear)([to, count, rows, elements], condition);
  }

  #launch(kernel: Kernel): Launch {
    return this.#queue.launch(kernel);
  }
}

const [to, before, count] = ['to', 'before', 'count'].map((name) => e.buffer(name, 'i32'));
const predicate = e.buffer('predicate', storageOf('bool'));
const [iteration, most, steps] = ['iteration', 'most', 'steps'].map((name) => e.variable(name, 'i32')); // prettier-ignore
const [active, state] = ['active', 'state'].map((name) => e.variable(name, 'i32'));

const holds = (test: Expr): Expr => e.select(test, e.i32(1), e.i32(0));
const isActive: Stmt = e.declare(active, e.load(before, 0));
const predicateHolds: Expr = holds(e.ne(e.load(predicate, 0), 0));

/** A count of rows that is at most so many. */
const clamped = (rows: Expr): Expr => e.min(e.max(e.load(count, 0), 0), rows);

/** Stores a condition, from an element of `to` on. */
function stored(value: Expr, from: number): Stmt {
  return e.block(
    e.store(to, from, value),
    e.forLoop('k', 0, classes, (k) => {
      const at = e.add(e.mul(k, 3), from + 1);
      return e.block(
        e.store(to, at, e.min(e.shl(e.i32(1), k), mostGroups)),
        e.store(to, e.add(at, 1), value),
        e.store(to, e.add(at, 2), e.i32(1)),
      );
    }),
  );
}

/** Kernels read what they need before they store anything: the condition before may be the one to be stored. */
const kernels = {
  choose: e.kernel(
    'choose',
    [to, before, predicate],
    e.block(
      isActive,
      e.declare(state, predicateHolds),
      stored(e.and(active, state), 0),
      stored(e.and(active, e.xor(state, 1)), conditionWords),
    ),
  ),
  go: e.kernel(
    'go',
    [to, count, before, predicate, iteration],
    e.block(
      isActive,
      e.declare(state, e.and(active, predicateHolds)),
      e.ifThen(
        e.ne(e.or(state, holds(e.eq(iteration, 0))), 0),
        e.store(count, 0, e.add(iteration, state)),
      ),
      stored(state, 0),
    ),
  ),
  within: e.kernel(
    'within',
    [to, before, count, iteration],
    e.block(
      isActive,
      e.declare(state, e.and(active, holds(e.lt(iteration, e.load(count, 0))))),
      stored(state, 0),
    ),
  ),
  differ: e.kernel(
    'differ',
    [to, before, count, most, steps],
    e.block(
      isActive,
      e.declare(state, e.and(active, e.and(e.add(clamped(most), steps), 1))),
      stored(state, 0),
    ),
  ),
} as const;

function clearBeyondKernel(name: string, storage: ElementKind): Kernel {
  const rows = e.buffer('rows', storage);
  const elements = e.variable('elements', 'i32');
  const zero = e.constant(e.loadedScalar(storage), 0);
  const body = e.parallel(0, e.mul(most, elements), 1, (begin, end) =>
    e.forLoop('k', begin, end, (k) =>
      e.ifThen(e.ge(k, e.mul(clamped(most), elements)), e.store(rows, k, zero)),
    ),
  );
  return e.kernel(name, [rows, count, most, elements], body);
}
