// onnxruntime on the processor, as a contestant for inference; see harness/serve.mjs.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { serve } from '../harness/serve.mjs';
import { models } from './models.mjs';

serve(async () => {
  const { InferenceSession, Tensor } = await import('onnxruntime-node');
  const home = createRequire(import.meta.url).resolve('onnxruntime-node/package.json');
  const { version } = JSON.parse(readFileSync(home, 'utf8'));
  const prepare = (make) => async (given) => {
    const { fed, model } = make(given);
    const session = await InferenceSession.create(model, {
      executionProviders: ['cpu'],
      graphOptimizationLevel: 'all',
      intraOpNumThreads: Number(process.env.KAON_BENCH_THREADS),
      interOpNumThreads: 1,
    });
    const feeds = Object.fromEntries(
      fed.map((name) => [name, new Tensor('float32', given[name].data, given[name].shape)]),
    );
    return {
      run: () => session.run(feeds),
      result: async () => (await session.run(feeds)).out.data,
    };
  };
  const kinds = Object.entries(models).map(([kind, make]) => [kind, { '': prepare(make) }]);
  return { versions: { onnxruntime: version }, kinds: Object.fromEntries(kinds) };
});
