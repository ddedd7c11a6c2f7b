import { arrayDifference, type CheckedArray, type Feeds, feedsRule } from '../artifact/check.js';
import { InternalError } from '../base/errors.js';
import { generatorState, setGeneratorState } from '../front/dispatch/generator.js';
import type { NDArray } from '../front/core/ndarray.js';
import { StaticGraph } from '../front/graphs/static-graph.js';
import { fromOnnx, type FromOnnxOptions } from './from-onnx.js';

export { type Feeds, feedsRule };

/** A model, the names of its outputs in the graph's order, and the location of its external data. */
export interface WrittenModel extends Pick<FromOnnxOptions, 'externalData'> {
  readonly bytes: Uint8Array;
  readonly outputs: readonly string[];
  /** Inputs for states, which the model takes besides the inputs of the graph. */
  readonly states: Readonly<Record<string, NDArray>>;
}

/**
 * Compares the results of a written model, read back and run here, with those of the graph, next values of
 * state included. Both start from the current state, which is not changed.
 * @throws InternalError when they differ by more than rounding.
 */
export function checkModel(graph: StaticGraph, model: WrittenModel, feeds: Feeds): void {
  const { bytes, outputs, states, ...options } = model;
  const before = generatorState();
  try {
    const reference = withoutWrites(graph);
    const results = reference.run(feeds);
    setGeneratorState(before);
    const found = withoutWrites(fromOnnx(bytes, options)).run({ ...feeds, ...states });
    // By name: a record has names like '12' before others, whatever the order of the outputs.
    reference.outputNames.forEach((name, i) => {
      const array = results[name];
      const other = found[outputs[i]];
      const have = other === undefined ? undefined : elementsOf(other);
      const problem = arrayDifference(array.dtype, elementsOf(array), have);
      if (problem === null) return;
      throw new InternalError(`output ${outputs[i]} of the model is not that of the graph`, {
        op: 'toOnnx',
        actual: problem,
      });
    });
  } finally {
    setGeneratorState(before);
  }
}

/** The graph with its writes turned into outputs. */
function withoutWrites({ parts: { program, reads } }: StaticGraph): StaticGraph {
  return new StaticGraph({ program, reads, writes: [] });
}

function elementsOf(array: NDArray): CheckedArray {
  return { data: array.computed().storage.host, shape: array.shape };
}
