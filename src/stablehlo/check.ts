import { arrayDifference, type Feeds } from '../artifact/check.js';
import { InternalError } from '../base/errors.js';
import { evaluateModule } from '../formats/stablehlo/evaluate/evaluate.js';
import { constantArray } from '../front/dispatch/operands.js';
import { generatorState, setGeneratorState } from '../front/dispatch/generator.js';
import { NDArray } from '../front/core/ndarray.js';
import { StaticGraph } from '../front/graphs/static-graph.js';
import type { StableHlo } from './to-stablehlo.js';

/**
 * Compares the results of a written module, by a plain reading of its text, with those of the graph, next values of
 * state included. Both start from the current state, which is not changed.
 * @throws InternalError when they differ by more than rounding.
 */
export function checkText(
  graph: StaticGraph,
  { text, state, meta }: StableHlo,
  feeds: Feeds,
): void {
  const before = generatorState();
  try {
    const { program, reads } = graph.parts;
    const copy = new StaticGraph({ program, reads, writes: [] });
    const results = copy.run(feeds);
    const inputs = meta.inputs.map(({ name, dtype }) => {
      const feed = Object.hasOwn(state, name) ? state[name] : feeds[name];
      const array = feed instanceof NDArray ? feed : constantArray(feed, dtype);
      return { dtype, ...elementsOf(array) };
    });
    const found = evaluateModule(text, inputs);
    const names = program.outputs.map(({ name }) => name);
    const { writes } = graph.parts;
    const returned = names.length - writes.length;
    const expected = names.filter((_, k) => writes[k - returned]?.kind !== 'gradient');
    // By name: a record has names like '12' before others, whatever the order of the outputs.
    expected.forEach((name, k) => {
      const array = results[name];
      const problem = arrayDifference(array.dtype, elementsOf(array), found[k]);
      if (problem === null) return;
      throw new InternalError(
        `output ${meta.outputs[k].name} of the text is not that of the graph`,
        {
          op: 'toStableHlo',
          actual: problem,
        },
      );
    });
  } finally {
    setGeneratorState(before);
  }
}

function elementsOf(array: NDArray): {
  readonly data: NDArray['storage']['host'];
  readonly shape: readonly number[];
} {
  return { data: array.computed().storage.host, shape: array.shape };
}
