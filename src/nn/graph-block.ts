import { isFloat } from '../base/dtype.js';
import { ArgumentError } from '../base/errors.js';
import { checkGraph, type StaticGraph } from '../front/graphs/static-graph.js';
import type { NDArray } from '../front/core/ndarray.js';
import { HybridBlock } from './block.js';
import { Parameter } from './parameter.js';

/**
 * A static graph as a part of a network, such as a model that `fromOnnx` has read: it runs the graph, and the
 * parameters of the graph are its own, to be trained, frozen, saved, and moved to devices like those of other
 * blocks. They stay shared with the graph, and with the block that the graph was captured from. State that runs
 * of the graph write has no gradient.
 *
 * `R` is what a call returns: the array, when the graph has one output, else a record of arrays by name.
 */
export class GraphBlock<
  R extends NDArray | Readonly<Record<string, NDArray>> = NDArray,
> extends HybridBlock {
  /** The graph that runs. */
  readonly graph: StaticGraph;
  readonly #parameters: ReadonlyMap<string, Parameter>;

  /** @throws ArgumentError for anything but a `StaticGraph`. */
  constructor(graph: StaticGraph) {
    super();
    checkGraph('GraphBlock', graph);
    this.graph = graph;
    const written = new Set(
      graph.parts.writes.flatMap((write) => (write.kind === 'array' ? [write.of] : [])),
    );
    this.#parameters = new Map(
      [...graph.parameters].map(([name, array]) => {
        const isTrained = isFloat(array.dtype) && !written.has(array);
        return [name, Parameter.of(array, isTrained ? 'write' : 'null')];
      }),
    );
  }

  /** The parameters by the names that they have in the graph. */
  override *members(): IterableIterator<readonly [string, Parameter]> {
    yield* this.#parameters.entries();
  }

  /**
   * Runs the graph on arrays in the order of its `inputNames`.
   *
   * @throws ArgumentError for another number of arrays, ShapeError and DTypeError for arrays that do not fit.
   */
  override forward(...inputs: NDArray[]): R {
    const { inputNames, outputNames } = this.graph;
    if (inputs.length !== inputNames.length) {
      throw new ArgumentError('these are not the inputs of the graph', {
        op: 'GraphBlock.call',
        expected: inputNames.join(', ') || 'no inputs',
        actual: `${inputs.length} arrays`,
      });
    }
    const feeds = Object.fromEntries(inputNames.map((name, i) => [name, inputs[i]]));
    const results = this.graph.run(feeds);
    // The caller, who knows the graph, says which of the two it is.
    return (outputNames.length === 1 ? results[outputNames[0]] : results) as R;
  }
}
