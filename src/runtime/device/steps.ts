import { type Dim, type DimBindings, evaluateDim } from '../../base/dim/index.js';
import { bytesOf, type DType, type HostArray } from '../../base/dtype.js';
import { InternalError } from '../../base/errors.js';
import { unreachable } from '../../base/unreachable.js';
import type { Var } from '../../loop/language/nodes.js';
import type { KernelArgument } from '../../passes/lower/nests/builder.js';
import type { StepPlan } from '../../passes/lower/main/stepwise.js';
import type {
  BindStep,
  BranchStep,
  ForeachStep,
  MainStep,
  Row,
  StateBuffer,
  WhileStep,
} from '../../passes/lower/main/steps.js';
import type { DeviceBuffer } from '../memory/backend.js';
import { conditionalSteps, launchesAhead, mostAhead } from './ahead.js';
import { labelOfStep } from '../profile/label.js';
import { profiling } from '../profile/recorder.js';
import type { LaunchArgument } from './backend.js';
import { type ConditionBlock, Conditions, conditionsLength } from './conditions.js';
import { type BufferSlot, clearElements, copyBetween, storeInteger } from './memory.js';
import { type DeviceQueue, fetched } from './queue.js';
import { type Waiting, waited } from './queue/waiting.js';
import { DeviceSizes } from './sizes.js';
import { StepMemory, swapStates } from './step-memory.js';

/** Iterations of the first chunk of a loop, and the most of one chunk. */
const firstChunk = 2;
const mostChunk = 64;

/** State of one run. */
interface StepRun {
  /** Sizes of the inputs, those that the run finds itself, and bounds of those that stay on the device. */
  readonly names: Map<string, number>;
  readonly places: readonly (BufferSlot | undefined)[];
  /** Addresses that change from iteration to iteration. */
  readonly addresses: Map<Var, BufferSlot>;
  /** Memory of the sizes that stay on the device; null where there are none. */
  readonly sizes: DeviceBuffer | null;
  /** Memory of conditions; made when the first is needed. */
  conditions: DeviceBuffer | null;
  /** Under which kernels run; undefined where they do in any case. */
  condition: BufferSlot | undefined;
}

/**
 * Runs the steps of a plan on a device. Where the device decides for itself which kernels run, branches and loops of
 * few iterations are handed over whole, and longer loops in growing chunks; else the host reads what they depend on.
 */
export class StepRunner {
  readonly plan: StepPlan;
  readonly #queue: DeviceQueue;
  readonly #memory: StepMemory;
  readonly #conditions: Conditions;
  readonly #sizes: DeviceSizes;
  /** Numbers of the branches and loops about which the device decides. */
  readonly #conditional: ReadonlyMap<MainStep, number>;

  constructor(plan: StepPlan, queue: DeviceQueue) {
    this.plan = plan;
    this.#queue = queue;
    this.#memory = new StepMemory(plan, queue);
    this.#conditions = new Conditions(queue);
    this.#sizes = new DeviceSizes(plan, queue);
    this.#conditional = queue.backend.hasConditions === true ? conditionalSteps(plan.steps, this.#sizes.isKept) : new Map(); // prettier-ignore
  }

  release(): void {
    this.#memory.release();
  }

  /** The outputs for these inputs, each in a buffer of its own. `names` has the sizes that the inputs determine. */
  *run(inputs: readonly BufferSlot[], names: DimBindings): Waiting<readonly DeviceBuffer[]> {
    const { outputs, steps } = this.plan;
    const { backend } = this.#queue;
    const made: DeviceBuffer[] = [];
    const lent: DeviceBuffer[] = [];
    let run: StepRun | null = null;
    let isDone = false;
    try {
      const results = new Map<number, DeviceBuffer>();
      const layout = this.#memory.layoutFor(names);
      for (const source of outputs) {
        if (source.kind !== 'place' || results.has(source.place)) continue;
        const { dtype } = this.plan.memory.places[source.place];
        const buffer = backend.allocate(dtype, layout.lengths[source.place]);
        made.push(buffer);
        results.set(source.place, buffer);
      }
      const places = this.#memory.places(inputs, results, layout, lent);
      const all = new Map([...names, ...this.#sizes.bounds(names)]);
      const sizes = this.#sizes.allocate();
      run = { names: all, places, addresses: new Map(), sizes, conditions: null, condition: undefined }; // prettier-ignore
      yield* this.#all(steps, run);
      const given = outputs.map((_, k) => this.#memory.result(k, inputs, results, all, made));
      isDone = true;
      return given;
    } finally {
      for (const each of [run?.conditions, run?.sizes]) if (each) backend.free(each);
      for (const each of lent) backend.free(each);
      if (!isDone) for (const buffer of made) backend.free(buffer);
    }
  }

  *#all(steps: readonly MainStep[], run: StepRun): Waiting<void> {
    for (const step of steps) {
      switch (step.kind) {
        case 'kernel': {
          const { kernel, args } = step.kernel;
          const given = args.map((arg) => this.#argument(arg, run));
          const sized = this.#sizes.sized(step.kernel);
          if (sized !== kernel) given.push({ buffer: run.sizes!, offset: 0 });
          const prepared = this.#queue.launch(sized);
          const launch = (): void => prepared(given, run.condition);
          const { recorder } = profiling;
          if (recorder === null) launch();
          else recorder.launch(this.#queue.backend, labelOfStep(step, this.plan.program), run.names, launch); // prettier-ignore
          break;
        }
        case 'bind':
          yield* this.#bind(step, run);
          break;
        case 'foreach':
          yield* this.#foreach(step, run);
          break;
        case 'while':
          yield* this.#while(step, run);
          break;
        case 'branch':
          yield* this.#branch(step, run);
          break;
        default:
          unreachable(step);
      }
    }
  }

  #argument(arg: KernelArgument, run: StepRun): LaunchArgument {
    switch (arg.kind) {
      case 'size':
        return this.#most(arg.dim, run);
      case 'place':
        return this.#at(arg.place, run);
      case 'scratch':
        return { privateBytes: bytesOf(arg.dtype) * this.#most(arg.length, run) };
      case 'thread':
      case 'threads':
      case 'kept':
      case 'state':
        throw new InternalError(`a kernel of a device takes a ${arg.kind}`);
    }
  }

  /** The value of a dimension, or its bound where only the device knows it. */
  #most(dim: Dim, { names }: StepRun): number {
    return evaluateDim(this.#sizes.boundOf(dim), names);
  }

  #at(location: number, { places, addresses }: StepRun): BufferSlot {
    const variable = this.plan.memory.variableOf(location);
    const slot = variable === undefined ? places[location] : addresses.get(variable);
    if (slot === undefined) throw new InternalError('a step reads what lies nowhere');
    return slot;
  }

  *#integer(dtype: DType, { buffer, offset }: BufferSlot, index: number = 0): Waiting<number> {
    const part = { dtype, length: 1, offset: offset + bytesOf(dtype) * index };
    const [element] = yield* fetched(this.#queue, buffer, part);
    return Number(element);
  }

  /** Sizes outside of what there is room for cannot come out of operators that bound their own. */
  *#bind(step: BindStep, run: StepRun): Waiting<void> {
    const { from, isWide, sizes } = step;
    if (this.#sizes.keeps(step)) {
      this.#sizes.make(step, this.#at(from, run), run.sizes!, run.names);
      return;
    }
    for (const [k, { name, bounds, most }] of sizes.entries()) {
      const room = most === null ? bounds.max : evaluateDim(most, run.names);
      const size = yield* this.#integer(isWide ? 'int64' : 'int32', this.#at(from, run), k);
      run.names.set(name, Math.min(Math.max(size, bounds.min), room));
    }
  }

  *#foreach(step: ForeachStep, run: StepRun): Waiting<void> {
    const { length, reverse, rows, states, body, paddings } = step;
    const size = this.#most(length, run);
    const count = this.#count(step, run);
    if (count !== null && this.#isAhead(step, run)) return yield* this.#firstRows(step, size, count, run); // prettier-ignore
    let end = size;
    if (count !== null) {
      const counted = yield* this.#integer('int32', count);
      end = Math.max(Math.min(counted, size), 0);
    }
    this.#start(states, run);
    for (let i = 0; i < end; i++) {
      this.#rows(rows, reverse ? end - 1 - i : i, run);
      yield* this.#all(body, run);
      swapStates(states, run.addresses);
    }
    this.#clear(paddings, end, size, run);
  }

  /** The place of the number of rows that a loop is over, of all that there is room for; null for all of them. */
  #count({ count, length }: ForeachStep, run: StepRun): BufferSlot | null {
    if (count !== null) return this.#at(count, run);
    if (typeof length === 'number' || !this.#sizes.isKept(length)) return null;
    return this.#sizes.slotOf(length, run.sizes!);
  }

  /** A loop over the first rows, whose number the device knows: backwards, the rows beyond come first. */
  *#firstRows(step: ForeachStep, size: number, counted: BufferSlot, run: StepRun): Waiting<void> {
    const { reverse, rows, states, body } = step;
    if (size === 0) return this.#start(states, run);
    const block = this.#block(step, run);
    const [outer, before] = [run.condition, this.#before(run)];
    this.#start(states, run);
    // Iterations that do not run change the places of states all the same.
    if (reverse) this.#settle(states, block, counted, size, size, 'before', run);
    for (let i = 0; i < size; i++) {
      const row = reverse ? size - 1 - i : i;
      this.#conditions.within(block, before, counted, row);
      run.condition = block.first;
      this.#rows(rows, row, run);
      yield* this.#all(body, run);
      run.condition = outer;
      swapStates(states, run.addresses);
    }
    if (!reverse) this.#settle(states, block, counted, size, size, 'behind', run);
    this.#clearBeyond(step, size, counted, run);
  }

  *#while(step: WhileStep, run: StepRun): Waiting<void> {
    const { limit, rows, states, condition, predicate, body, paddings, iterations } = step;
    const most = limit === null ? Infinity : evaluateDim(limit, run.names);
    if (most > 0 && this.#conditional.has(step)) {
      const each = this.#oneAhead(step, run);
      if (each <= mostAhead) return yield* this.#inChunks(step, most, each, run);
    }
    this.#start(states, run);
    let i = 0;
    for (; ; i++) {
      yield* this.#all(condition, run);
      if (i >= most || (yield* this.#integer('bool', this.#at(predicate, run))) === 0) break;
      this.#rows(rows, i, run);
      yield* this.#all(body, run);
      swapStates(states, run.addresses);
    }
    if (most !== Infinity) this.#clear(paddings, i, most, run);
    if (iterations !== undefined) storeInteger(this.#queue, this.#at(iterations, run), i, run.condition); // prettier-ignore
  }

  /** A loop that the device ends: all iterations that there may be if they are few, else chunks of them. */
  *#inChunks(step: WhileStep, most: number, each: number, run: StepRun): Waiting<void> {
    const { rows, states, condition, predicate, body, iterations } = step;
    const block = this.#block(step, run);
    const [outer, before] = [run.condition, this.#before(run)];
    this.#start(states, run);
    const largest = Math.max(Math.min(mostChunk, Math.floor(mostAhead / each)), 1);
    let chunk = most * each <= mostAhead ? most : Math.min(firstChunk, largest);
    /** Answer of the chunk before the last one: while the device looks, the next one is handed over. */
    let answer: Promise<readonly HostArray[]> | null = null;
    let i = 0;
    for (let end = 0; ; chunk = Math.min(2 * chunk, largest)) {
      end = Math.min(end + chunk, most);
      for (; i < end; i++) {
        yield* this.#all(condition, run);
        run.condition = outer;
        this.#conditions.go(block, before, this.#at(predicate, run), i);
        run.condition = block.first;
        this.#rows(rows, i, run);
        yield* this.#all(body, run);
        swapStates(states, run.addresses);
      }
      if (i === most) break;
      const part = { dtype: 'int32', length: 1, offset: block.first.offset } as const;
      // With what has to be known of the operands: what was computed from something refused might never end.
      const read = this.#queue.fetch([{ buffer: block.first.buffer, part }]);
      if (read instanceof Promise) read.catch(() => {}); // whoever waits for it is told
      const known: readonly HostArray[] | null = answer === null ? null : yield* waited(answer);
      if (Number(known?.[0][0] ?? 1) === 0) break;
      answer = read instanceof Promise ? read : null;
      if (!(read instanceof Promise) && Number(read[0][0]) === 0) break;
    }
    run.condition = outer;
    this.#settle(states, block, block.count, i, i, 'behind', run);
    if (most !== Infinity) this.#clearBeyond(step, most, block.count, run);
    if (iterations !== undefined) {
      copyBetween(this.#queue, 'int32', block.count, this.#at(iterations, run), 1, outer);
    }
  }

  *#branch(step: BranchStep, run: StepRun): Waiting<void> {
    const { predicate, consequent, alternate } = step;
    if (!this.#isAhead(step, run)) {
      const flag = yield* this.#integer('bool', this.#at(predicate, run));
      return yield* this.#all(flag === 0 ? alternate : consequent, run);
    }
    const block = this.#block(step, run);
    const outer = run.condition;
    this.#conditions.choose(block, this.#before(run), this.#at(predicate, run));
    run.condition = block.first;
    yield* this.#all(consequent, run);
    run.condition = block.second;
    yield* this.#all(alternate, run);
    run.condition = outer;
  }

  /** True for a branch or loop that is handed over whole. */
  #isAhead(step: BranchStep | ForeachStep, { names }: StepRun): boolean {
    return (
      this.#conditional.has(step) && launchesAhead([step], names, this.#sizes.keeps) <= mostAhead
    );
  }

  /** Kernels of one iteration. */
  #oneAhead({ condition, body }: WhileStep, { names }: StepRun): number {
    return 1 + launchesAhead([...condition, ...body], names, this.#sizes.keeps);
  }

  #block(step: MainStep, run: StepRun): ConditionBlock {
    run.conditions ??= this.#queue.backend.allocate('int32', conditionsLength(this.#conditional.size)); // prettier-ignore
    return this.#conditions.blockAt(run.conditions, this.#conditional.get(step)!);
  }

  /** The condition around a step. */
  #before({ condition }: StepRun): BufferSlot {
    return condition ?? { buffer: this.#queue.scalar('int32', Int32Array.of(1)), offset: 0 };
  }

  /**
   * Moves states to where the host takes them to be. They change their places in each of `steps` iterations, of which
   * only `count`, of `most`, run: the others are behind them or, in a loop that goes backwards, before.
   */
  #settle(
    states: readonly StateBuffer[],
    block: ConditionBlock,
    count: BufferSlot,
    most: number,
    steps: number,
    others: 'before' | 'behind',
    run: StepRun,
  ): void {
    const alternating = states.filter(({ next }) => next !== null);
    if (alternating.length === 0) return;
    this.#conditions.differ(block, this.#before(run), count, most, steps);
    for (const { current, next } of alternating) {
      const { dtype, length } = this.plan.memory.places[next!.place];
      const both = [run.addresses.get(current)!, run.addresses.get(next!.variable)!];
      const [from, to] = others === 'before' ? both : both.reverse();
      copyBetween(this.#queue, dtype, from, to, evaluateDim(length, run.names), block.second);
    }
  }

  #clearBeyond(
    { paddings }: WhileStep | ForeachStep,
    rows: number,
    count: BufferSlot,
    run: StepRun,
  ): void {
    for (const { location, storage, elements } of paddings) {
      const length = evaluateDim(elements, run.names);
      this.#conditions.clearBeyond(storage, this.#at(location, run), count, rows, length, run.condition); // prettier-ignore
    }
  }

  #start(states: readonly StateBuffer[], run: StepRun): void {
    for (const { current, start, next } of states) {
      run.addresses.set(current, this.#at(start, run));
      if (next !== null) run.addresses.set(next.variable, this.#at(next.place, run));
    }
  }

  #rows(rows: readonly Row[], at: number, run: StepRun): void {
    for (const { variable, of, bytes } of rows) {
      const { buffer, offset } = this.#at(of, run);
      run.addresses.set(variable, { buffer, offset: offset + at * evaluateDim(bytes, run.names) });
    }
  }

  #clear(paddings: WhileStep['paddings'], from: number, to: number, run: StepRun): void {
    for (const { location, storage, elements } of paddings) {
      const length = evaluateDim(elements, run.names);
      clearElements(this.#queue, storage, this.#at(location, run), from * length, to * length, run.condition); // prettier-ignore
    }
  }
}
