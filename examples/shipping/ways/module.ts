import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Elements, Results } from '../compare.js';
import { elementsOf } from '../feeds.js';
import type { Way } from './way.js';

interface ModelModule {
  run(feeds: Readonly<Record<string, Elements>>): Results;
}

/** The ES module, imported from its file. */
export const moduleInNode: Way = {
  name: 'module',
  form: 'module',
  available: () => Promise.resolve({ what: `Node ${process.versions.node}` }),
  execute: async ({ runs }, folder) => {
    const file = pathToFileURL(join(folder, 'model.mjs')).href;
    const { run }: ModelModule = await import(file);
    return runs.map(({ feeds }) => run(elementsOf(feeds)));
  },
};
