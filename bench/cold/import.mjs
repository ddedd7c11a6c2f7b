// node bench/cold/import.mjs kaon|tfjs|jaxjs|onnxruntime
// Milliseconds from asking for a library to being able to use it, in a process that has loaded nothing.
import { existsSync } from 'node:fs';
import { distFolder, load as loadCompiled } from '../dist.mjs';
import { clock } from '../harness/clock.mjs';

/** As it is published, in few files, where that has been built; else the modules one by one. */
const published = existsSync(new URL('kaon/index.js', distFolder));

const loaders = {
  kaon: () => loadCompiled(published ? 'kaon/index.js' : 'src/index.js'),
  tfjs: async () => (await import('../tfjs/load.mjs')).loadTensorFlow(),
  jaxjs: async () => (await import('../jaxjs/load.mjs')).loadJax(),
  onnxruntime: () => import('onnxruntime-node'),
};

const load = loaders[process.argv[2]];
console.log = console.error; // libraries greet
const start = clock();
await load();
process.stdout.write(JSON.stringify({ milliseconds: clock() - start }));
process.exit(0);
