import { type DimBindings, evaluateDim } from '../../base/dim/index.js';
import { bytesOf, type DType } from '../../base/dtype.js';
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
import { planMemory } from '../../passes/plan/memory.js';
import type { DeviceBuffer } from '../memory/backend.js';
import { Storage } from '../memory/storage.js';
import { labelOfStep } from '../profile/label.js';
import { profiling } from '../profile/recorder.js';
import type { LaunchArgument } from './backend.js';
import {
  alignedBytes,
  type BufferSlot,
  clearElements,
  copyBetween,
  storeInteger,
} from './memory.js';
import { type DeviceQueue, fetched, type Waiting } from './queue.js';

/** Places of temporaries in an arena, for certain sizes. */
interface ArenaLayout {
  readonly lengths: readonly number[];
  /** By place, in bytes; undefined for what lies elsewhere. */
  readonly offsets: readonly (number | undefined)[];
  readonly bytes: number;
}

/** State of one run. */
interface StepRun {
  /** Sizes of the inputs, and those that the run finds itself. */
  readonly names: Map<string, number>;
  readonly places: readonly (BufferSlot | undefined)[];
  /** Addresses that change from iteration to iteration. */
  readonly addresses: Map<Var, BufferSlot>;
}

/** Runs the steps of a plan on a device. */
export class StepRunner {
  readonly plan: StepPlan;
  readonly #queue: DeviceQueue;
  /** By place; made at the first run. */
  #constants: ReadonlyMap<number, Storage> | null = null;
  /** Losses of the device before the constants were made. */
  #losses = 0;
  #layout: ArenaLayout | null = null;

  constructor(plan: StepPlan, queue: DeviceQueue) {
    this.plan = plan;
    this.#queue = queue;
  }

  release(): void {
    for (const constant of this.#constants?.values() ?? []) constant.release();
    this.#constants = null;
  }

  /** The outputs for these inputs, each in a buffer of its own. `names` has the sizes that the inputs determine. */
  *run(inputs: readonly BufferSlot[], names: DimBindings): Waiting<readonly DeviceBuffer[]> {
    const { outputs, steps } = this.plan;
    const made: DeviceBuffer[] = [];
    const pieces: DeviceBuffer[] = [];
    let isDone = false;
    try {
      const results = new Map<number, DeviceBuffer>();
      const layout = this.#layoutFor(names);
      for (const source of outputs) {
        if (source.kind !== 'place' || results.has(source.place)) continue;
        const { dtype } = this.plan.memory.places[source.place];
        const buffer = this.#queue.backend.allocate(dtype, layout.lengths[source.place]);
        made.push(buffer);
        results.set(source.place, buffer);
      }
      const places = this.#places(inputs, results, layout, pieces);
      const run: StepRun = { names: new Map(names), places, addresses: new Map() };
      yield* this.#all(steps, run);
      const given = outputs.map((_, k) => this.#result(k, inputs, results, run, made));
      isDone = true;
      return given;
    } finally {
      for (const piece of pieces) this.#queue.backend.free(piece);
      if (!isDone) for (const buffer of made) this.#queue.backend.free(buffer);
    }
  }

  /** The buffer of an output: that of its place for the first one there, a copy for others. */
  #result(
    k: number,
    inputs: readonly BufferSlot[],
    results: ReadonlyMap<number, DeviceBuffer>,
    { names }: StepRun,
    made: DeviceBuffer[],
  ): DeviceBuffer {
    const { program, outputs } = this.plan;
    const source = outputs[k];
    const { backend } = this.#queue;
    if (source.kind === 'place') {
      const first = outputs.findIndex((each) => each.kind === 'place' && each.place === source.place); // prettier-ignore
      const buffer = results.get(source.place)!;
      if (first === k) return buffer;
      const copy = backend.allocate(buffer.dtype, buffer.length);
      made.push(copy);
      backend.copy(buffer, copy);
      return copy;
    }
    const { dtype, shape } = program.outputs[k].value.type;
    const length = shape.reduce<number>((product, dim) => product * evaluateDim(dim, names), 1);
    const buffer = backend.allocate(dtype, length);
    made.push(buffer);
    if (source.kind === 'constant') backend.write(buffer, source.data.data);
    else copyBetween(this.#queue, dtype, inputs[source.index], { buffer, offset: 0 }, length);
    return buffer;
  }

  #places(
    inputs: readonly BufferSlot[],
    results: ReadonlyMap<number, DeviceBuffer>,
    { offsets, lengths, bytes }: ArenaLayout,
    pieces: DeviceBuffer[],
  ): readonly (BufferSlot | undefined)[] {
    const arena = bytes === 0 ? null : this.#queue.arena(bytes);
    return this.plan.memory.places.map(({ role, dtype }, place): BufferSlot | undefined => {
      if (role.kind === 'input') return inputs[role.index];
      if (role.kind === 'constant') return { buffer: this.#constant(place), offset: 0 };
      const result = results.get(place);
      if (result !== undefined) return { buffer: result, offset: 0 };
      const offset = offsets[place];
      if (offset === undefined) return undefined;
      if (arena !== null) return { buffer: arena, offset };
      const buffer = this.#queue.backend.allocate(dtype, lengths[place]);
      pieces.push(buffer);
      return { buffer, offset: 0 };
    });
  }

  #constant(place: number): DeviceBuffer {
    const { backend, losses } = this.#queue;
    if (this.#constants === null || this.#losses !== losses) {
      this.release();
      this.#losses = losses;
      const made = new Map<number, Storage>();
      this.#constants = made;
      this.plan.memory.places.forEach(({ role, dtype }, id) => {
        if (role.kind !== 'constant') return;
        const buffer = backend.allocate(dtype, role.data.data.length);
        backend.write(buffer, role.data.data);
        // Which frees it with whoever runs the steps.
        made.set(id, Storage.ofBuffer(this.#queue, buffer));
      });
    }
    return this.#constants.get(place)!.buffer;
  }

  #layoutFor(names: DimBindings): ArenaLayout {
    const { places } = this.plan.memory;
    const lengths = places.map(({ length }) => evaluateDim(length, names));
    const last = this.#layout;
    if (last !== null && lengths.every((length, place) => length === last.lengths[place])) {
      return last;
    }
    const isOutput = new Set(
      this.plan.outputs.flatMap((source) => (source.kind === 'place' ? [source.place] : [])),
    );
    const planned = places.flatMap(({ role }, place) =>
      role.kind === 'temporary' && !isOutput.has(place) ? [place] : [],
    );
    const { offsets, bytes } = planMemory(
      planned.map((place) => {
        const { dtype, first, last: end } = places[place];
        return { bytes: alignedBytes(this.#queue, dtype, lengths[place]), first, last: end };
      }),
    );
    const byPlace: (number | undefined)[] = places.map(() => undefined);
    planned.forEach((place, i) => (byPlace[place] = offsets[i]));
    return (this.#layout = { lengths, offsets: byPlace, bytes });
  }

  *#all(steps: readonly MainStep[], run: StepRun): Waiting<void> {
    for (const step of steps) {
      switch (step.kind) {
        case 'kernel': {
          const { kernel, args } = step.kernel;
          const given = args.map((arg) => this.#argument(arg, run));
          const launch = this.#queue.launch(kernel);
          const { recorder } = profiling;
          if (recorder === null) launch(given);
          else recorder.launch(this.#queue.backend, labelOfStep(step, this.plan.program), run.names, () => launch(given)); // prettier-ignore
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
        return evaluateDim(arg.dim, run.names);
      case 'place':
        return this.#at(arg.place, run);
      case 'scratch':
        return { privateBytes: bytesOf(arg.dtype) * evaluateDim(arg.length, run.names) };
      case 'thread':
      case 'threads':
      case 'kept':
      case 'state':
        throw new InternalError(`a kernel of a device takes a ${arg.kind}`);
    }
  }

  #at(location: number, { places, addresses }: StepRun): BufferSlot {
    const variable = this.plan.memory.variableOf(location);
    const slot = variable === undefined ? places[location] : addresses.get(variable);
    if (slot === undefined) throw new InternalError('a step reads what lies nowhere');
    return slot;
  }

  *#integer(dtype: DType, location: number, index: number, run: StepRun): Waiting<number> {
    const { buffer, offset } = this.#at(location, run);
    const part = { dtype, length: 1, offset: offset + bytesOf(dtype) * index };
    const [element] = yield* fetched(this.#queue, buffer, part);
    return Number(element);
  }

  /** Sizes outside of what there is room for cannot come out of operators that bound their own. */
  *#bind({ from, isWide, sizes }: BindStep, run: StepRun): Waiting<void> {
    for (const [k, { name, bounds }] of sizes.entries()) {
      const size = yield* this.#integer(isWide ? 'int64' : 'int32', from, k, run);
      run.names.set(name, Math.max(Math.min(size, bounds.max), bounds.min));
    }
  }

  *#foreach(step: ForeachStep, run: StepRun): Waiting<void> {
    const { length, reverse, count, rows, states, body, paddings } = step;
    const size = evaluateDim(length, run.names);
    let end = size;
    if (count !== null) {
      const counted = yield* this.#integer('int32', count, 0, run);
      end = Math.max(Math.min(counted, size), 0);
    }
    this.#start(states, run);
    for (let i = 0; i < end; i++) {
      this.#rows(rows, reverse ? end - 1 - i : i, run);
      yield* this.#all(body, run);
      swap(states, run);
    }
    this.#clear(paddings, end, size, run);
  }

  *#while(step: WhileStep, run: StepRun): Waiting<void> {
    const { limit, rows, states, condition, predicate, body, paddings, iterations } = step;
    const most = limit === null ? Infinity : evaluateDim(limit, run.names);
    this.#start(states, run);
    let i = 0;
    for (; ; i++) {
      yield* this.#all(condition, run);
      if (i >= most || (yield* this.#integer('bool', predicate, 0, run)) === 0) break;
      this.#rows(rows, i, run);
      yield* this.#all(body, run);
      swap(states, run);
    }
    if (most !== Infinity) this.#clear(paddings, i, most, run);
    if (iterations !== undefined) storeInteger(this.#queue, this.#at(iterations, run), i);
  }

  *#branch({ predicate, consequent, alternate }: BranchStep, run: StepRun): Waiting<void> {
    const flag = yield* this.#integer('bool', predicate, 0, run);
    yield* this.#all(flag === 0 ? alternate : consequent, run);
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
      clearElements(this.#queue, storage, this.#at(location, run), from * length, to * length);
    }
  }
}

/** The next states become the current ones. */
function swap(states: readonly StateBuffer[], { addresses }: StepRun): void {
  for (const { current, next } of states) {
    if (next === null) continue;
    const old = addresses.get(current)!;
    addresses.set(current, addresses.get(next.variable)!);
    addresses.set(next.variable, old);
  }
}
