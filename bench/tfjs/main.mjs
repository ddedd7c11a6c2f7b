// TensorFlow.js as a contestant; see harness/serve.mjs.
import { device } from '../harness/device.mjs';
import { serve } from '../harness/serve.mjs';
import { loadTensorFlow } from './load.mjs';
import { lstmKinds } from './lstm.mjs';
import { networkKinds } from './networks.mjs';
import { operatorKinds } from './operators.mjs';
import { trainingKinds } from './training.mjs';

/** Contestants whose runs have ended when the GPU has computed. */
function untilComputed(tf, kinds) {
  if (device !== 'webgpu') return kinds;
  const backend = tf.backend();
  const wrapped = (make) => (inputs, work) => {
    const { run, ...rest } = make(inputs, work);
    const waiting = async () => {
      await run();
      // What is small it computes on the CPU.
      if (backend.commandEncoder !== null) {
        backend.endComputePassEncoder();
        backend.submitQueue();
      }
      await backend.queue.onSubmittedWorkDone();
    };
    return { ...rest, run: waiting };
  };
  return Object.fromEntries(
    Object.entries(kinds).map(([kind, forms]) => [
      kind,
      Object.fromEntries(Object.entries(forms).map(([form, make]) => [form, wrapped(make)])),
    ]),
  );
}

serve(async () => {
  const tf = await loadTensorFlow(Number(process.env.KAON_BENCH_THREADS));
  return {
    versions: { 'TF.js': tf.version.tfjs },
    kinds: untilComputed(tf, {
      ...operatorKinds(tf),
      ...networkKinds(tf),
      ...trainingKinds(tf),
      ...lstmKinds(tf),
    }),
  };
});
