import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fromOnnx, statesOf } from '../../../src/onnx.js';
import { projectFile } from '../../support/paths.js';
import type { Elements, Results } from '../compare.js';
import { elementsOf } from '../feeds.js';
import type { Arrays } from '../shipped.js';
import type { Way } from './way.js';

/** The ONNX file, read back by Kaon. */
export const ownImporter: Way = {
  name: 'fromOnnx',
  form: 'onnx',
  available: () => Promise.resolve({ what: "Kaon's own importer" }),
  execute: ({ runs }, folder) => {
    const graph = fromOnnx(readFileSync(join(folder, 'model.onnx')));
    return Promise.resolve(runs.map(({ feeds }) => elementsOf(graph.run(feeds))));
  },
};

/** What is used of onnxruntime-node. */
interface Runtime {
  readonly InferenceSession: {
    create(path: string, options: { readonly logSeverityLevel: number }): Promise<Session>;
  };
  readonly Tensor: new (type: string, data: unknown, dims: readonly number[]) => Tensor;
}

interface Session {
  run(feeds: Readonly<Record<string, Tensor>>): Promise<Readonly<Record<string, Tensor>>>;
}

interface Tensor {
  readonly type: string;
  readonly dims: readonly number[];
  readonly data: Elements['data'];
}

const peer = 'onnxruntime-node';

function installed(): { readonly path: string; readonly version: string } | null {
  const require = createRequire(projectFile('parity/package.json'));
  try {
    const { version }: { readonly version: string } = require(`${peer}/package.json`);
    return { path: require.resolve(peer), version };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

/** The ONNX file, executed by onnxruntime in Node, where `npm run parity` has installed it. */
export const onnxruntimeInNode: Way = {
  name: 'ORT Node',
  form: 'plain onnx',
  available: () => {
    const found = installed();
    return Promise.resolve(
      found === null
        ? { missing: 'onnxruntime-node is not installed; npm run parity does that' }
        : { what: `onnxruntime ${found.version}` },
    );
  },
  execute: async ({ graph, runs }, folder) => {
    const found = installed();
    if (found === null) throw new Error(`${peer} is not installed`);
    const library: { default: Runtime } = await import(pathToFileURL(found.path).href);
    const { InferenceSession, Tensor } = library.default;
    const session = await InferenceSession.create(join(folder, 'model.onnx'), {
      logSeverityLevel: 3, // errors
    });
    const given = (arrays: Arrays): Record<string, Tensor> =>
      Object.fromEntries(Object.entries(elementsOf(arrays)).map(([name, { dtype, data, shape }]) => [name, new Tensor(dtype, data, shape)])); // prettier-ignore
    const states = given(statesOf(graph));
    const results: Results[] = [];
    for (const { feeds } of runs) {
      const found = await session.run({ ...given(feeds), ...states });
      for (const name of Object.keys(states)) states[name] = found[`${name}.next`] ?? states[name];
      results.push(
        Object.fromEntries(
          Object.entries(found).map(([name, { type, dims, data }]) => [
            name,
            { dtype: type, shape: dims, data },
          ]),
        ),
      );
    }
    return results;
  },
};
