import { checkRequirements } from '../ir/checkrequirements.js';
import type { Program, Value } from '../ir/program.js';
import { add, zerosLike } from '../ops/index.js';
import { hostConstant } from '../ir/host.js';
import { arrayType } from './arraytype.js';
import { hostNumber, type HostNumber } from './capture.js';
import { compile } from '../runtime/compile.js';
import type { Executable, Operand } from '../runtime/executable.js';
import type { Storage } from '../runtime/storage.js';
import { joinRecording } from './dispatch.js';
import { ElementChecks } from './elementchecks.js';
import {
  type CapturedDraws,
  drawsFrom,
  generatorState,
  setGeneratorState,
  takeState,
} from './generator.js';
import type { NodeId } from '../graph/graph.js';
import { type Origin, Session } from './history.js';
import { layOut, type Named } from './layout.js';
import type { TensorType } from '../ir/types.js';
import { rematerialize, type SavePolicy } from '../passes/rematerialize.js';
import { Callable } from './invoke.js';
import { mode, withMode } from './mode.js';
import { type GradReq, NDArray } from './ndarray.js';
import {
  attachGrad,
  forgetHistory,
  gradOf,
  refuseRecorded,
  setGradient,
  writeState,
} from './values.js';

/** An array that a graph reads or writes: one from outside, or the given one at a position. */
export type Holder = NDArray | number;

/** Something beside what a graph is called with and returns that it reads or writes. */
export type Outside =
  /** The elements of an array, whatever they are at the time. */
  | { readonly kind: 'array'; readonly of: Holder }
  /** A number of the host's. */
  | { readonly kind: 'host'; readonly of: HostNumber }
  /** The gradient that an array keeps; with `attach`, one that it starts to keep. */
  | { readonly kind: 'gradient'; readonly of: Holder; readonly attach?: GradReq | undefined }
  /** The state of the random generator; written, after so many draws. */
  | { readonly kind: 'random'; readonly draws: number };

/** A program, and what its inputs and outputs mean. */
export interface GraphParts {
  readonly program: Program;
  /** The leading inputs are given at each call; these are the others, in order. */
  readonly reads: readonly Outside[];
  /** The leading outputs are returned; these are the others, in order. */
  readonly writes: readonly Outside[];
  /** The arrays that take part in recordings of it; all that it reads where this is not known. */
  readonly touched?: readonly Holder[];
  /** The nodes that a backward pass in the code has made. */
  readonly backward?: ReadonlySet<NodeId>;
  /** Whether the code records by itself, so that gradients can be asked of what it returns. */
  readonly isRecording?: boolean;
}

export interface GraphRequest {
  readonly inputs: readonly (Named & { readonly type?: TensorType })[];
  readonly outputs: readonly Named[];
  readonly writes: readonly { readonly target: Outside; readonly array: NDArray }[];
  readonly touched?: readonly Holder[];
  /** See `LayoutRequest`. */
  readonly kept?: readonly Origin[];
  readonly stopsUnrecorded?: boolean;
  /** The draws that the code has made, whether or not anything depends on them. */
  readonly draws?: CapturedDraws | undefined;
  follow(origin: Origin): boolean;
  /** What an array from outside is, and the name of the input it becomes; throws where there can be none. */
  outside(
    array: NDArray,
    reader: Origin | null,
  ): { readonly name: string; readonly source: Outside };
}

/** Lays out what captured code did as a graph whose reads and writes are all explicit. */
export function layOutGraph({
  inputs,
  outputs,
  writes,
  touched,
  kept = [],
  stopsUnrecorded = false,
  draws,
  follow,
  outside,
}: GraphRequest): GraphParts {
  const reads: Outside[] = [];
  const targets: Outside[] = writes.map(({ target }) => target);
  const random = new RandomState();
  const { program, backward } = layOut({
    inputs,
    outputs: [
      ...outputs.map((output) => ({ ...output, flows: true })),
      ...writes.map(({ array }, i) => ({ name: `state_${i}`, array, flows: false })),
    ],
    follow,
    kept,
    stopsUnrecorded,
    leaf(array, reader, into) {
      if (array.isConstant && array.elements !== null) {
        return into.constant({
          type: { dtype: array.dtype, shape: array.shape },
          data: array.elements.host,
        });
      }
      const count = drawsFrom(array);
      if (count !== undefined) return random.join(into, array, count, reads);
      const { name, source } = outside(array, reader);
      reads.push(source);
      return into.variable(into.freshName(name), array.type);
    },
  });
  if (draws !== undefined) random.join(program, draws.base, draws.count, reads);
  const state = random.after();
  if (state !== null) {
    targets.push({ kind: 'random', draws: random.draws });
    program.setOutputs([...program.outputs, { name: freeOutput(program, 'random'), value: state }]);
  }
  return {
    program,
    reads,
    writes: targets,
    backward,
    isRecording: stopsUnrecorded,
    ...(touched !== undefined && { touched }),
  };
}

/** The one random state of a graph; captures that meet in it draw one after the other. */
class RandomState {
  #input: Value | null = null;
  readonly #joined: Map<NDArray, Value> = new Map();
  draws = 0;

  /** The state for a capture that makes so many draws. */
  join(program: Program, base: NDArray, count: number, reads: Outside[]): Value {
    const known = this.#joined.get(base);
    if (known !== undefined) return known;
    if (this.#input === null) {
      this.#input = program.variable(program.freshName('random'), { dtype: 'int64', shape: [2] });
      reads.push({ kind: 'random', draws: 0 });
    }
    const state = this.#advance(this.draws);
    this.draws += count;
    this.#joined.set(base, state);
    return state;
  }

  /** The state that is left; null when nothing random happened. */
  after(): Value | null {
    return this.#input === null ? null : this.#advance(this.draws);
  }

  #advance(count: number): Value {
    const input = this.#input!;
    if (count === 0) return input;
    const steps = hostConstant(BigInt64Array.of(0n, BigInt(count)), 'int64');
    return add<Value>(input, input.program.constant(steps));
  }
}

function freeOutput(program: Program, hint: string): string {
  const taken = new Set(program.outputs.map(({ name }) => name));
  let name = hint;
  for (let count = 2; taken.has(name); count++) name = `${hint}_${count}`;
  return name;
}

/** Runs a graph on arrays: fetches what it reads from outside, and carries out what it writes there. */
export class GraphRunner {
  readonly parts: GraphParts;
  /** How many of the program's outputs are returned. */
  readonly #returned: number;
  readonly #callable: Callable;
  readonly #draws: number;
  readonly #save: SavePolicy;
  #executable: Executable | undefined;
  #checks: ElementChecks | undefined;

  constructor(parts: GraphParts, save: SavePolicy = 'all') {
    this.parts = parts;
    this.#save = save;
    const { program, writes } = parts;
    this.#returned = program.outputs.length - writes.length;
    // What is written to the outside is a value there, never a path for gradients.
    this.#callable = new Callable(program, {
      flows: (output) => output < this.#returned,
      save,
    });
    const random = writes.find((write) => write.kind === 'random');
    this.#draws = random?.kind === 'random' ? random.draws : 0;
  }

  run(given: readonly NDArray[]): readonly NDArray[] {
    const before = generatorState();
    try {
      return this.#run(given);
    } catch (error) {
      // A call that fails has drawn nothing.
      if (mode.capture === null && this.#draws > 0) setGeneratorState(before);
      throw error;
    }
  }

  /** What the program is run on: the given arrays, then what it reads from outside, draws included. */
  operands(given: readonly NDArray[]): readonly NDArray[] {
    const holder = holderAmong(given);
    return [...given, ...this.parts.reads.map((source) => this.#fetch(source, holder))];
  }

  #run(given: readonly NDArray[]): readonly NDArray[] {
    const { writes } = this.parts;
    const holder = holderAmong(given);
    if (mode.capture === null) {
      checkRequirements(this.parts.program, given);
      for (const write of writes) {
        if (write.kind === 'array') refuseRecorded('hybridize', holder(write.of));
      }
    }
    const operands = this.operands(given);
    if (mode.capture === null)
      (this.#checks ??= new ElementChecks(this.parts.program)).run(operands);
    if (mode.capture === null && mode.session === null) {
      return this.parts.isRecording === true
        ? withMode({ session: new Session() }, 'hybridize', () => this.#runAsCall(operands, holder))
        : this.#runInPlace(operands, holder);
    }
    return this.#runAsCall(operands, holder);
  }

  /** As one operator call, which a recording or a capture takes part in. */
  #runAsCall(operands: readonly NDArray[], holder: HolderLookup): readonly NDArray[] {
    const { writes } = this.parts;
    // A recording of this call must keep what the call read of state that it then writes.
    const written = new Set(
      writes.flatMap((write) => (write.kind === 'array' ? [holder(write.of)] : [])),
    );
    const touched =
      mode.session === null ? null : (this.parts.touched?.map((of) => holder(of)) ?? null);
    const takesPart = touched === null ? null : new Set(touched);
    const results = this.#callable.call(
      operands.map((operand) =>
        written.has(operand) || takesPart?.has(operand) === false ? plain(operand) : operand,
      ),
    );
    // Arrays that the code has read for nothing took part all the same.
    for (const array of touched ?? []) joinRecording(array);
    writes.forEach((target, i) => {
      const value = plain(results[this.#returned + i]);
      if (target.kind === 'array') writeState(holder(target.of), value);
      else if (target.kind === 'gradient') leaveGradient(holder(target.of), value, target.attach);
    });
    return results.slice(0, this.#returned);
  }

  /** At once, and pinned state is computed where it lies. */
  #runInPlace(operands: readonly NDArray[], holder: HolderLookup): readonly NDArray[] {
    const { program, writes } = this.parts;
    this.#executable ??= compile(this.#kept(program), { replaced: this.#replaced() });
    for (const operand of operands) operand.computed();
    const homes = writes.map((write) => homeOf(write, holder));
    const into = homes.some((home) => home !== null)
      ? [...Array<null>(this.#returned).fill(null), ...homes]
      : undefined;
    const results = this.#executable.run(operands, into);
    writes.forEach((write, i) => {
      if (write.kind !== 'array' && write.kind !== 'gradient') return;
      const target = holder(write.of);
      if (homes[i] === null) {
        const value = resultArray(results[this.#returned + i]);
        if (write.kind === 'array') writeState(target, value);
        else leaveGradient(target, value, write.attach);
      } else if (write.kind === 'array') forgetHistory(target);
      else target.gradient!.wrote();
    });
    return results.slice(0, this.#returned).map(resultArray);
  }

  /** The program with what its own backward pass reads kept or computed again, as `save` demands. */
  #kept(program: Program): Program {
    const { backward } = this.parts;
    if (backward === undefined || backward.size === 0 || this.#save === 'all') return program;
    return rematerialize(program, (id) => backward.has(id), this.#save);
  }

  /** For each output, the input that holds the state which it is the next value of. */
  #replaced(): readonly (number | null)[] {
    const { program, reads, writes } = this.parts;
    const given = program.inputs.length - reads.length;
    return program.outputs.map((_, k) => {
      const write = k < this.#returned ? undefined : writes[k - this.#returned];
      if (write?.kind !== 'array') return null;
      if (typeof write.of === 'number') return write.of;
      const read = reads.findIndex((each) => each.kind === 'array' && each.of === write.of);
      return read < 0 ? null : given + read;
    });
  }

  #fetch(source: Outside, holder: HolderLookup): NDArray {
    switch (source.kind) {
      case 'array':
        return holder(source.of);
      case 'gradient': {
        const owner = holder(source.of);
        return mode.capture === null
          ? (owner.gradient?.operand ?? zerosLike(owner))
          : (gradOf(owner) ?? zerosLike(owner));
      }
      case 'host':
        return hostNumber(source.of);
      case 'random':
        return takeState(this.#draws);
    }
  }
}

type HolderLookup = (of: Holder) => NDArray;

/** Holders as arrays, in a call on given ones. */
export function holderAmong(given: readonly NDArray[]): HolderLookup {
  return (of) => (typeof of === 'number' ? given[of] : of);
}

/** The pinned memory that an outside lies in; null where it has none. */
function homeOf(write: Outside, holder: HolderLookup): Storage | null {
  if (write.kind === 'array') {
    const { elements } = holder(write.of);
    return elements?.isPinned === true ? elements : null;
  }
  if (write.kind !== 'gradient') return null;
  const owner = holder(write.of);
  if (write.attach !== undefined && owner.gradient?.req !== write.attach) return null;
  return owner.gradient?.home(owner) ?? null;
}

/** Leaves a gradient on an array, which may start to keep one with that. */
export function leaveGradient(owner: NDArray, grad: NDArray, attach: GradReq | undefined): void {
  if (attach !== undefined && owner.gradient?.req !== attach) attachGrad(owner, attach);
  setGradient(owner, grad);
}

function resultArray({ storage, shape }: Operand): NDArray {
  return new NDArray(arrayType(storage.dtype, shape), storage);
}

/** The elements without history. In captured code the history is all there is. */
function plain(array: NDArray): NDArray {
  return mode.capture === null ? new NDArray(array.type, array.held) : array;
}
