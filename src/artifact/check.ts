import type { DType, HostArray } from '../base/dtype.js';
import { isFloat } from '../base/dtype.js';
import { widened } from '../base/element.js';
import { InternalError } from '../base/errors.js';
import type { ValueRule } from '../base/attributes/options.js';
import { generatorState, setGeneratorState } from '../front/dispatch/generator.js';
import { constantArray } from '../front/dispatch/operands.js';
import { NDArray } from '../front/core/ndarray.js';
import { recordRule } from '../front/graphs/records.js';
import { StaticGraph } from '../front/graphs/static-graph.js';
import type { HostValue } from '../ir/host.js';
import { namedInputs } from '../ir/program.js';

/** Arrays by the names of inputs. */
export type Feeds = Readonly<Record<string, NDArray | HostValue>>;

/** Rule for feeds; whether they fit a graph is checked at the run. */
export const feedsRule: ValueRule<Feeds> = recordRule('an object with an array for each input');

/** An array that an artifact was given or has returned. */
export interface CheckedArray {
  readonly data: HostArray;
  readonly shape: readonly number[];
}

/**
 * Compares the results of an artifact with those of the graph here, on a copy of the graph, so that its state
 * and the random generator do not change.
 * @throws InternalError when they differ by more than rounding.
 */
export function checkArtifact(
  op: string,
  graph: StaticGraph,
  feeds: Feeds,
  run: (given: Readonly<Record<string, CheckedArray>>) => Readonly<Record<string, CheckedArray>>,
): void {
  const copy = StaticGraph.fromJSON(graph.toJSON());
  const before = generatorState();
  try {
    const expected = copy.run(feeds);
    const found = run(elementsOf(copy, feeds));
    for (const [name, array] of Object.entries(expected)) {
      const problem = arrayDifference(array.dtype, stored(array), found[name]);
      if (problem === null) continue;
      throw new InternalError(`output ${name} of what was exported is not that of the graph`, {
        op,
        actual: problem,
      });
    }
  } finally {
    setGeneratorState(before);
  }
}

const stored = ({ storage, shape }: NDArray): CheckedArray => ({ data: storage.host, shape });

function elementsOf(graph: StaticGraph, feeds: Feeds): Readonly<Record<string, CheckedArray>> {
  const dtypes = new Map(namedInputs(graph.program).map(({ name, type }) => [name, type.dtype]));
  return Object.fromEntries(
    graph.inputNames.map((name) => {
      const feed = feeds[name];
      const array = feed instanceof NDArray ? feed : constantArray(feed, dtypes.get(name)!);
      return [name, stored(array)];
    }),
  );
}

/** Tolerance for rounding in another order, relative to the greatest element of an output. */
const slack = { float16: 1e-2, bfloat16: 1e-1, float32: 1e-4, float64: 1e-10 } as const;

/** Difference between an array and its reference; null when they agree. */
export function arrayDifference(
  dtype: DType,
  expected: CheckedArray,
  found: CheckedArray | undefined,
): string | null {
  if (found === undefined) return 'it is missing';
  if (String(found.shape) !== String(expected.shape)) {
    return `shape [${found.shape.join(', ')}] instead of [${expected.shape.join(', ')}]`;
  }
  const [want, have] = [numbers(dtype, expected.data), numbers(dtype, found.data)];
  const finite = want.filter((value) => Number.isFinite(value));
  const greatest = finite.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const allowed = isFloat(dtype) ? slack[dtype as keyof typeof slack] * greatest : 0;
  const wrong = want.findIndex((value, i) => !(Object.is(value, have[i]) || Math.abs(value - have[i]) <= allowed)); // prettier-ignore
  return wrong < 0 ? null : `element ${wrong} is ${have[wrong]} instead of ${want[wrong]}`;
}

function numbers(dtype: DType, data: HostArray): number[] {
  return Array.from(widened(dtype, data) as ArrayLike<number | bigint>, Number);
}
