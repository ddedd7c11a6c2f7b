import { extname } from 'node:path';
import { encodeNpy } from '../formats/npy.js';
import { encodeSafetensors, type FileTensor } from '../formats/safetensors.js';
import type { NDArray } from '../front/core/ndarray.js';
import type { StaticGraph } from '../front/graphs/static-graph.js';
import { writeContent } from './graphs.js';
import type { Inputs } from './inputs.js';
import { UsageError } from './usage.js';

export type RunOutputs = Readonly<Record<string, NDArray>>;

/** Runs a graph once. */
export function runGraph(graph: StaticGraph, inputs: Inputs): RunOutputs {
  return graph.run(inputs);
}

/** Writes outputs to a file. */
export interface OutputWriter {
  /** @throws UsageError when the file format cannot hold the graph's outputs. */
  check(graph: StaticGraph): void;
  write(outputs: RunOutputs): Promise<void>;
}

/** @throws UsageError for a format other than .safetensors and .npy. */
export function writerFor(path: string): OutputWriter {
  switch (extname(path)) {
    case '.safetensors':
      return {
        check: () => {},
        write: (outputs) => writeContent(path, fileOf(outputs)),
      };
    case '.npy':
      return {
        check: ({ outputNames }) => {
          if (outputNames.length === 1) return;
          throw new UsageError(
            `--out ${path}: an .npy file holds one array, the graph returns ${outputNames.join(', ')}; give a .safetensors file`,
          );
        },
        write: (outputs) => writeContent(path, encodeNpy(stored(Object.values(outputs)[0]))),
      };
    default:
      throw new UsageError(`--out ${path}: outputs are written to .safetensors and .npy files`);
  }
}

/** Arrays by name, as a .safetensors file. */
export function fileOf(arrays: RunOutputs): Uint8Array {
  const tensors = new Map(Object.entries(arrays).map(([name, array]) => [name, stored(array)]));
  return encodeSafetensors({ tensors, metadata: new Map() });
}

function stored({ dtype, shape, storage }: NDArray): FileTensor {
  return { dtype, shape, data: storage.host };
}
