// node bench/cold/import.mjs kaon|tfjs|jaxjs|onnxruntime
// Milliseconds from asking for a library to being able to use it, in a process that has loaded nothing.
import { clock } from '../harness/clock.mjs';

const loaders = {
  kaon: () => import('../kaon.mjs'),
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
