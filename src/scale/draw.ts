import { exportGraph } from '../front/graphs/export-graph.js';
import { deferredCompute } from '../front/graphs/deferred.js';
import { array } from '../front/arrays/creation.js';
import { drawingFrom, generatorState } from '../front/dispatch/generator.js';
import type { NDArray } from '../front/core/ndarray.js';
import { recipeOf } from '../front/devices/shape-only.js';
import { bitwiseXor } from '../ops/index.js';
import type { StableHloInput } from '../stablehlo/to-stablehlo.js';
import type { JobProgram } from './programs.js';
import { sizedHlo } from './sized.js';

/**
 * The program that makes the elements of arrays of which only the shape is known: those that they would get here, when
 * it is given the present state of the random generator. That state is an argument rather than a constant, so that
 * no compiler draws the numbers itself.
 */
export function drawProgram(wanted: ReadonlyMap<string, NDArray>): JobProgram {
  const { seed, counter } = generatorState();
  const random = array(BigInt64Array.of(seed, counter));
  let draws = false;
  const outputs = deferredCompute(() =>
    Object.fromEntries(
      [...wanted].map(([name, each]) => {
        const { stream, make } = recipeOf(each)!;
        if (stream === null) return [name, make()];
        draws = true;
        const change = BigInt64Array.of(stream.seed ^ seed, stream.counter ^ counter);
        return [name, drawingFrom(bitwiseXor(random, change), make)];
      }),
    ),
  );
  const graph = exportGraph({ inputs: draws ? { random } : {}, outputs });
  const { text, meta } = sizedHlo(graph);
  const inputs = meta.inputs.map((input): StableHloInput<number> => ({ ...input, kind: 'random' }));
  return { text, meta: { ...meta, inputs } };
}
