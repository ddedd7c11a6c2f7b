import { UnsupportedError } from '../base/errors.js';
import { arrayType } from '../front/core/array-type.js';
import { numberArray } from '../front/core/host-number.js';
import { generatorState } from '../front/dispatch/generator.js';
import type { GraphParts, ExternalRef } from '../front/graphs/graph.js';
import { arrayOf, type NDArray } from '../front/core/ndarray.js';
import { checkGraph, type StaticGraph } from '../front/graphs/static-graph.js';
import type { StructuredRead } from '../formats/onnx/structure.js';
import { namedInputs } from '../ir/program.js';
import type { ConstantData } from '../ir/types.js';

/** A tensor that a graph reads besides its inputs, and its model stores. */
export interface StoredRead extends StructuredRead {
  readonly value: ConstantData;
  /** True when a run may override the value: for state, and for numbers of the host. */
  readonly mayBeGiven: boolean;
}

/** A graph's outputs by their names in the model, and its reads. */
export interface Laid {
  readonly reads: readonly StoredRead[];
  readonly outputs: readonly string[];
}

/**
 * Names the writes of a graph. The next value of `w` is `w.next`, and the gradient of `w` is `w.grad`.
 * @throws UnsupportedError for values that cannot leave this process.
 */
export function layOutStates(op: string, { program, reads, writes }: GraphParts): Laid {
  const names = namedInputs(program).map(({ name }) => name);
  const given = names.length - reads.length;
  const returned = program.outputs.length - writes.length;
  const taken = new Set([...names, ...program.outputs.slice(0, returned).map(({ name }) => name)]);
  const free = (hint: string): string => {
    let name = hint;
    for (let count = 2; taken.has(name); count++) name = `${hint}_${count}`;
    taken.add(name);
    return name;
  };
  const nexts = new Map<number, string>();
  const written = writes.map((write, i): string => {
    const read = reads.findIndex((each) => isSame(each, write));
    if (read >= 0) {
      const name = free(`${names[given + read]}.next`);
      nexts.set(read, name);
      return name;
    }
    return free(writtenName(write, { names, given, reads }) ?? program.outputs[returned + i].name);
  });
  const random = writes.find(({ kind }) => kind === 'random');
  return {
    reads: reads.map((read, k): StoredRead => {
      const name = names[given + k];
      const next = nexts.get(k) ?? null;
      const draws = random?.kind === 'random' ? random.draws : 0;
      return {
        name,
        next,
        kind: read.kind === 'random' ? 'random' : 'array',
        draws: read.kind === 'random' ? draws : null,
        // Read when it is wanted: arrays of which only the shape is known have none.
        get value() {
          return valueOf(op, name, read);
        },
        mayBeGiven: next !== null || read.kind !== 'array',
      };
    }),
    outputs: [...program.outputs.slice(0, returned).map(({ name }) => name), ...written],
  };
}

/**
 * The current values of a graph's states, by the names of their inputs in the model: the initial inputs of a
 * model that was written with `{ states: 'inputs' }`. Later runs take the outputs `NAME.next` where they
 * exist, and the same values for numbers of the host, such as the learning rate.
 *
 * @throws UnsupportedError for values that cannot leave this process.
 */
export function statesOf(graph: StaticGraph): Record<string, NDArray> {
  checkGraph('statesOf', graph);
  const states = layOutStates('statesOf', graph.parts).reads.filter(({ mayBeGiven }) => mayBeGiven);
  return Object.fromEntries(
    // Copied: runs of the graph write into the elements.
    states.map(({ name, value: { type, data } }) => [
      name,
      arrayOf(arrayType(type.dtype, type.shape), data.slice()),
    ]),
  );
}

function isSame(a: ExternalRef, b: ExternalRef): boolean {
  return a.kind === b.kind && (a.kind === 'random' || a.of === (b as typeof a).of);
}

/** The name of a gradient that a graph writes; null when the array has no name. */
function writtenName(
  write: ExternalRef,
  {
    names,
    given,
    reads,
  }: {
    readonly names: readonly string[];
    readonly given: number;
    readonly reads: readonly ExternalRef[];
  },
): string | null {
  if (write.kind !== 'gradient') return null;
  if (typeof write.of === 'number') return `${names[write.of]}.grad`;
  const read = reads.findIndex((each) => each.kind === 'array' && each.of === write.of);
  return read < 0 ? null : `${names[given + read]}.grad`;
}

/** The current value of something that a graph reads. */
function valueOf(op: string, name: string, read: ExternalRef): ConstantData {
  switch (read.kind) {
    case 'array':
      if (typeof read.of !== 'number') return constantView(read.of);
      throw new UnsupportedError(`the graph reads argument ${read.of} as state`, {
        op,
        expected: 'state that belongs to the graph',
        actual: name,
        advice: 'return what the function assigns to its arguments',
      });
    case 'host':
      return constantView(numberArray(read.of));
    case 'random': {
      const { seed, counter } = generatorState();
      return { type: { dtype: 'int64', shape: [2] }, data: BigInt64Array.of(seed, counter) };
    }
    case 'gradient':
      throw new UnsupportedError('the graph works on gradients that arrays keep', {
        op,
        actual: name,
        advice: 'return the gradients instead, with kn.grad or autograd.grad',
      });
  }
}

/** A constant that shares the memory of an array. */
export function constantView(array: NDArray): ConstantData {
  return {
    type: { dtype: array.dtype, shape: array.shape },
    data: array.computed().storage.host,
  };
}
