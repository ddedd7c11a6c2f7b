import * as kn from '../../src/index.js';
import { stepAsWritten, type Training, wholeStep } from '../support/training.js';

/** Arrays by name. */
export type Arrays = Readonly<Record<string, kn.NDArray>>;

/** What a model is run on, and what eager code makes of it. */
export interface Run {
  /** The sizes of this run, by the names that they have in the graph. */
  readonly sizes: Readonly<Record<string, number>>;
  readonly feeds: Arrays;
  readonly expected: Arrays;
}

/** A model on its way out, with what it must compute wherever it gets. */
export interface Shipped {
  readonly graph: kn.StaticGraph;
  /** Whether each run changes the model; runs are one after the other then. */
  readonly train: boolean;
  readonly runs: readonly Run[];
  /** Where random numbers begin. */
  readonly seed: number;
}

/** The arguments of a run, and its sizes. */
export interface Sample<A extends unknown[]> {
  readonly sizes: Readonly<Record<string, number>>;
  readonly args: A;
}

/** The arrays of a nested value, in the order in which a graph names them. */
function leaves(value: unknown): kn.NDArray[] {
  if (value instanceof kn.NDArray) return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leaves) : [];
}

function byName(names: readonly string[], value: unknown): Arrays {
  const arrays = leaves(value);
  return Object.fromEntries(names.map((name, i) => [name, arrays[i]]));
}

const seed = 11;

/** A function as a graph; what it must compute is what it computes uncaptured. */
export function shipped<A extends unknown[]>(
  fn: (...args: A) => unknown,
  samples: readonly Sample<A>[],
  dynamic: kn.HybridizeOptions['dynamic'] = null,
): Shipped {
  const graph = kn.hybridize<(...args: A) => unknown>(fn, { dynamic }).graphFor(...samples[0].args);
  const runs = samples.map(({ sizes, args }) => ({
    sizes,
    feeds: byName(graph.inputNames, args),
    expected: byName(graph.outputNames, fn(...args)),
  }));
  return { graph, train: false, runs, seed };
}

/** A training step as a graph, and the losses of eager steps on one batch after the other. */
export function shippedStep<B>(
  make: () => Training<B>,
  samples: readonly Sample<[B]>[],
  dynamic: kn.HybridizeOptions['dynamic'] = null,
): Shipped {
  const graph = wholeStep(make(), { dynamic }).graphFor(...samples[0].args);
  const twin = make();
  kn.random.seed(seed);
  const runs = samples.map(({ sizes, args: [batch] }) => ({
    sizes,
    feeds: byName(graph.inputNames, batch),
    expected: byName(graph.outputNames, stepAsWritten(twin, batch)),
  }));
  return { graph, train: true, runs, seed };
}
