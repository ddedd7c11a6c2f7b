import type { Program, Value } from '../ir/program.js';
import { add, zerosLike } from '../ops/index.js';
import { hostConstant } from '../ir/host.js';
import { drawsFrom, takeState } from './generator.js';
import type { Origin } from './history.js';
import { layOut, type Named } from './layout.js';
import type { TensorType } from '../ir/types.js';
import type { SavePolicy } from '../passes/rematerialize.js';
import { Callable } from './invoke.js';
import { mode } from './mode.js';
import { NDArray } from './ndarray.js';
import { gradOf, setGradient, writeState } from './values.js';

/** An array that a graph reads or writes: one from outside, or the given one at a position. */
export type Holder = NDArray | number;

/** Something beside what a graph is called with and returns that it reads or writes. */
export type Outside =
  /** The elements of an array, whatever they are at the time. */
  | { readonly kind: 'array'; readonly of: Holder }
  /** The gradient that an array keeps. */
  | { readonly kind: 'gradient'; readonly of: Holder }
  /** The state of the random generator; written, after so many draws. */
  | { readonly kind: 'random'; readonly draws: number };

/** A program, and what its inputs and outputs mean. */
export interface GraphParts {
  readonly program: Program;
  /** The leading inputs are given at each call; these are the others, in order. */
  readonly reads: readonly Outside[];
  /** The leading outputs are returned; these are the others, in order. */
  readonly writes: readonly Outside[];
}

export interface GraphRequest {
  readonly inputs: readonly (Named & { readonly type?: TensorType })[];
  readonly outputs: readonly Named[];
  readonly writes: readonly { readonly target: Outside; readonly array: NDArray }[];
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
  follow,
  outside,
}: GraphRequest): GraphParts {
  const reads: Outside[] = [];
  const targets: Outside[] = writes.map(({ target }) => target);
  const random = new RandomState();
  const { program } = layOut({
    inputs,
    outputs: [...outputs, ...writes.map(({ array }, i) => ({ name: `state_${i}`, array }))],
    follow,
    leaf(array, reader, into) {
      if (array.isConstant && array.elements !== null) {
        return into.constant({
          type: { dtype: array.dtype, shape: array.shape },
          data: array.elements.host,
        });
      }
      const draws = drawsFrom(array);
      if (draws !== undefined) return random.join(into, draws, reads);
      const { name, source } = outside(array, reader);
      reads.push(source);
      return into.variable(into.freshName(name), array.type);
    },
  });
  const state = random.after();
  if (state !== null) {
    targets.push({ kind: 'random', draws: random.draws });
    program.setOutputs([...program.outputs, { name: freeOutput(program, 'random'), value: state }]);
  }
  return { program, reads, writes: targets };
}

/** The one random state of a graph; captures that meet in it draw one after the other. */
class RandomState {
  #input: Value | null = null;
  draws = 0;

  /** The state for a capture that makes so many draws. */
  join(program: Program, count: number, reads: Outside[]): Value {
    if (this.#input === null) {
      this.#input = program.variable(program.freshName('random'), { dtype: 'int64', shape: [2] });
      reads.push({ kind: 'random', draws: 0 });
    }
    const state = this.#advance(this.draws);
    this.draws += count;
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

  constructor(parts: GraphParts, save: SavePolicy = 'all') {
    this.parts = parts;
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
    const { reads, writes } = this.parts;
    const holder = (of: Holder): NDArray => (typeof of === 'number' ? given[of] : of);
    // A recording of this call must keep what the call read of state that it then writes.
    const written = new Set(
      writes.flatMap((write) => (write.kind === 'array' ? [holder(write.of)] : [])),
    );
    const operands = [...given, ...reads.map((source) => this.#fetch(source, holder))].map(
      (operand) => (written.has(operand) ? plain(operand) : operand),
    );
    const results = this.#callable.call(operands);
    writes.forEach((target, i) => {
      const value = plain(results[this.#returned + i]);
      if (target.kind === 'array') writeState(holder(target.of), value);
      else if (target.kind === 'gradient') setGradient(holder(target.of), value);
    });
    return results.slice(0, this.#returned);
  }

  #fetch(source: Outside, holder: (of: Holder) => NDArray): NDArray {
    switch (source.kind) {
      case 'array':
        return holder(source.of);
      case 'gradient':
        return gradOf(holder(source.of)) ?? zerosLike(holder(source.of));
      case 'random':
        return takeState(this.#draws);
    }
  }
}

/** The elements without history. In captured code the history is all there is. */
function plain(array: NDArray): NDArray {
  return mode.capture === null ? new NDArray(array.type, array.held) : array;
}
