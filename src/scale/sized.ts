import { UnsupportedError } from '../base/errors.js';
import type { StaticGraph } from '../front/graphs/static-graph.js';
import {
  type StableHlo,
  type StableHloInput,
  type StableHloMeta,
  type StableHloOutput,
  toStableHlo,
} from '../stablehlo/to-stablehlo.js';

type Described = StableHloInput | StableHloOutput;
type Sized<T extends Described> = T & { readonly shape: readonly number[] };

/**
 * A graph as StableHLO with known sizes, which jobs have: a partition has to divide them.
 * @throws UnsupportedError for symbolic sizes, and as `toStableHlo` does.
 */
export function sizedHlo(
  graph: StaticGraph,
): Omit<StableHlo, 'meta'> & { readonly meta: StableHloMeta<number> } {
  const { meta, ...hlo } = toStableHlo(graph);
  const [inputs, outputs] = [meta.inputs.map(sized), meta.outputs.map(sized)];
  return { ...hlo, meta: { ...meta, inputs, outputs } };
}

function sized<T extends Described>(described: T): Sized<T> {
  const { name, shape } = described;
  const known = shape.filter((size) => typeof size === 'number');
  if (known.length === shape.length) return { ...described, shape: known };
  throw new UnsupportedError(`${name} has symbolic sizes`, {
    op: 'writeJob',
    expected: 'known sizes, which the mesh divides',
    actual: `[${shape.join(', ')}]`,
    advice: 'capture the graph for one batch size: leave `dynamic` out',
  });
}
