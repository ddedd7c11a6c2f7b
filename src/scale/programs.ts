import { ArgumentError } from '../base/errors.js';
import { array } from '../front/arrays/creation.js';
import { generatorState } from '../front/dispatch/generator.js';
import type { NDArray } from '../front/core/ndarray.js';
import type { StaticGraph } from '../front/graphs/static-graph.js';
import type { StableHloInput, StableHloMeta, StableHloOutput } from '../stablehlo/to-stablehlo.js';

import { drawProgram } from './draw.js';
import { sizedHlo } from './sized.js';

const op = 'writeJob';

/** A program of a job, as text. */
export interface JobProgram {
  readonly text: string;
  readonly meta: StableHloMeta<number>;
}

/** Programs of a job, which share their state. */
export interface JobPrograms {
  readonly step: JobProgram;
  readonly evaluate?: JobProgram;
  readonly init?: JobProgram;
  /** Arguments other than inputs, of all programs. */
  readonly arguments: readonly StableHloInput<number>[];
  /** Their first values, but for those that `init` returns. */
  readonly state: ReadonlyMap<string, NDArray>;
}

/** The graphs of a job. */
export interface JobGraphs {
  readonly step: StaticGraph;
  readonly evaluate?: StaticGraph | undefined;
  readonly init?: StaticGraph | undefined;
}

/**
 * Writes the graphs of a job as programs over one state: what two of them read in common has one name.
 * @throws ArgumentError for graphs that do not fit each other, UnsupportedError as `toStableHlo` does.
 */
export function writePrograms({ step, evaluate, init }: JobGraphs): JobPrograms {
  const state = new SharedState();
  const programs = {
    step: state.add('step', step),
    ...(evaluate !== undefined && { evaluate: state.add('evaluate', evaluate) }),
  };
  if (!programs.step.meta.inputs.some(({ kind, next }) => kind === 'array' && next !== null)) {
    throw new ArgumentError('the step changes no state', {
      op,
      expected: 'a graph with the backward pass and the update, such as step.graphFor(batch)',
      actual: `a graph that returns ${programs.step.meta.outputs.map(({ name }) => name).join(', ')}`,
    });
  }
  if (evaluate !== undefined) refuseChanges(programs.evaluate!.meta);
  const drawn = init === undefined ? null : initProgram(init, state.arguments);
  for (const { name } of drawn?.meta.outputs ?? []) {
    state.values.delete(name);
    state.absent.delete(name);
  }
  if (drawn !== null && state.absent.size > 0) {
    throw new ArgumentError(
      `init does not return ${[...state.absent.keys()][0]}, which has no elements`,
      {
        op,
        expected: `all arrays of which only the shape is known: ${[...state.absent.keys()].join(', ')}`,
        actual: drawn.meta.outputs.map(({ name }) => name).join(', '),
        advice: 'leave init out: the initializers of the parameters are written then',
      },
    );
  }
  const first = drawn ?? (state.absent.size > 0 ? drawProgram(state.absent) : null);
  if (first !== null && first.meta.inputs.length > 0) state.addRandom();
  return {
    ...programs,
    ...(first !== null && { init: first }),
    arguments: state.arguments,
    state: state.values,
  };
}

/** State of several programs, under the names of the first one that reads it. */
class SharedState {
  readonly arguments: StableHloInput<number>[] = [];
  readonly values: Map<string, NDArray> = new Map();
  /** Arrays of which only the shape is known. */
  readonly absent: Map<string, NDArray> = new Map();
  readonly #names: Map<unknown, string> = new Map();

  add(which: string, graph: StaticGraph): JobProgram {
    const { text, meta, state } = sizedHlo(graph);
    const { reads } = graph.staticForm.parts;
    const given = meta.inputs.length - reads.length;
    const inputs = meta.inputs.map((input, i): StableHloInput<number> => {
      const read = reads[i - given];
      if (read === undefined) return input;
      // There is one generator; everything else is known by its identity.
      const source = read.kind === 'random' ? 'random' : read.of;
      const known = this.#names.get(source);
      if (known !== undefined) return { ...input, name: known };
      this.#refuseTaken(which, input.name);
      this.#names.set(source, input.name);
      this.arguments.push(input);
      if (Object.hasOwn(state, input.name)) this.values.set(input.name, state[input.name]);
      // Only arrays are known by their shape alone.
      else this.absent.set(input.name, source as NDArray);
      return input;
    });
    return { text, meta: { ...meta, inputs } };
  }

  /** The state of the generator, for an init program that reads it alone. */
  addRandom(): void {
    if (this.values.has('random')) return;
    const { seed, counter } = generatorState();
    this.values.set('random', array(BigInt64Array.of(seed, counter)));
  }

  #refuseTaken(which: string, name: string): void {
    if (!this.arguments.some((each) => each.name === name)) return;
    throw new ArgumentError(`${which} reads another ${name} than the step`, {
      op,
      expected: 'one array for each name of state',
      actual: `two arrays called ${name}`,
      advice: 'capture both from one network, or give one of the arrays another name',
    });
  }
}

function refuseChanges({ inputs }: StableHloMeta<number>): void {
  const changed = inputs.find(({ kind, next }) => kind === 'array' && next !== null);
  if (changed === undefined) return;
  throw new ArgumentError(`evaluate changes ${changed.name}`, {
    op,
    expected: 'a graph that leaves the state as it is',
    actual: `the output ${changed.next}`,
    advice: 'capture it outside of autograd.record, where layers predict',
  });
}

/** The program that draws first values: its outputs are named after state of the others. */
function initProgram(graph: StaticGraph, state: readonly StableHloInput<number>[]): JobProgram {
  const { text, meta } = sizedHlo(graph);
  const wrong = meta.inputs.find(({ kind }) => kind !== 'random');
  if (wrong !== undefined) {
    throw new ArgumentError(`init reads ${wrong.name}`, {
      op,
      expected: 'a graph without inputs and state, but for random numbers',
      actual: `${wrong.dtype}[${wrong.shape.join(', ')}]`,
    });
  }
  const changes = new Set(meta.inputs.map(({ next }) => next));
  for (const output of meta.outputs) if (!changes.has(output.name)) checkDrawn(output, state);
  return { text, meta };
}

function checkDrawn(
  output: StableHloOutput<number>,
  state: readonly StableHloInput<number>[],
): void {
  const target = state.find(({ name }) => name === output.name);
  const typeOf = ({ dtype, shape }: StableHloOutput<number>): string =>
    `${dtype}[${shape.join(', ')}]`;
  if (target !== undefined && typeOf(target) === typeOf(output)) return;
  throw new ArgumentError(
    target === undefined
      ? `init returns ${output.name}, which is no state of the step`
      : `init returns another ${output.name} than the step reads`,
    {
      op,
      expected: target === undefined ? state.map(({ name }) => name).join(', ') : typeOf(target),
      actual: typeOf(output),
    },
  );
}

/** Names of the scalars that a program returns besides next values of state. */
export function metricsOf({ inputs, outputs }: StableHloMeta<number>): readonly string[] {
  const next = new Set(inputs.map((input) => input.next));
  return outputs.flatMap(({ name, shape }) => (next.has(name) || shape.length > 0 ? [] : [name]));
}
