// TensorFlow.js as a contestant; see harness/serve.mjs.
import { serve } from '../harness/serve.mjs';
import { loadTensorFlow } from './load.mjs';
import { lstmKinds } from './lstm.mjs';
import { networkKinds } from './networks.mjs';
import { operatorKinds } from './operators.mjs';

serve(async () => {
  const tf = await loadTensorFlow(Number(process.env.KAON_BENCH_THREADS));
  return {
    versions: { 'TF.js': tf.version.tfjs },
    kinds: { ...operatorKinds(tf), ...networkKinds(tf), ...lstmKinds(tf) },
  };
});
