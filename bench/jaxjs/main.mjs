// jax-js as a contestant; see harness/serve.mjs. Its arrays are used up by what they are passed to,
// unless `.ref` is passed.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { serve } from '../harness/serve.mjs';
import { loadJax } from './load.mjs';
import { trainingKinds } from './training.mjs';

serve(async () => {
  const jax = await loadJax();
  const home = createRequire(import.meta.url).resolve('@jax-js/jax');
  const { version } = JSON.parse(readFileSync(new URL('../package.json', `file://${home}`)));
  return { versions: { 'jax-js': version }, kinds: kindsOf(jax) };
});

function kindsOf(jax) {
  const { numpy: np, nn, lax } = jax;
  const array = ({ data, shape }) => np.array(data).reshape(shape);

  /** A compiled function of all inputs. */
  const compiled = (f) => (inputs) => {
    const jitted = jax.jit(f);
    const arrays = Object.values(inputs).map(array);
    const call = () => jitted(...arrays.map((x) => x.ref));
    return {
      run: async () => (await jax.blockUntilReady(call())).dispose(),
      result: async () => call().data(),
    };
  };

  const half = (f) => (inputs) => {
    const jitted = jax.jit(f);
    const arrays = Object.values(inputs).map((input) => array(input).astype(np.float16));
    const call = () => jitted(...arrays.map((x) => x.ref));
    return {
      run: async () => (await jax.blockUntilReady(call())).dispose(),
      result: async () => call().astype(np.float32).data(),
    };
  };

  const chain = (u, v) => np.tanh(u.ref.mul(v.ref).add(v.ref)).mul(u).sub(v);

  const perceptron = (parameters, x) => {
    let value = x;
    for (let i = 0; i < 3; i++) {
      value = np.matmul(value, parameters[i]).add(parameters[3 + i]);
      if (i < 2) value = nn.relu(value);
    }
    return value;
  };
  const layers = (inputs) =>
    ['w0', 'w1', 'w2', 'b0', 'b1', 'b2'].map((name) => array(inputs[name]));

  const mlpForward = (inputs) => {
    const forward = jax.jit((parameters, x) => perceptron(parameters, x));
    const [parameters, x] = [layers(inputs), array(inputs.x)];
    const call = () => forward(parameters.map((p) => p.ref), x.ref); // prettier-ignore
    return {
      run: async () => (await jax.blockUntilReady(call())).dispose(),
      result: async () => call().data(),
    };
  };

  const attention = (q, k, v) => {
    const scores = np.matmul(q.mul(1 / Math.sqrt(64)), np.swapaxes(k, 1, 2));
    return np.matmul(nn.softmax(scores, -1), v);
  };

  return {
    matmul: { '': compiled((a, b) => np.matmul(a, b)) },
    chain: { '': compiled(chain) },
    matmulHalf: { '': half((a, b) => np.matmul(a, b)) },
    chainHalf: { '': half(chain) },
    softmaxHalf: { '': half((x) => nn.softmax(x, -1)) },
    softmax: { '': compiled((x) => nn.softmax(x, -1)) },
    layerNorm: {
      '': compiled((x, gamma, beta) =>
        nn.standardize(x, -1, { epsilon: 1e-5 }).mul(gamma).add(beta),
      ),
    },
    meanAll: { '': compiled((x) => np.mean(x)) },
    sumRows: { '': compiled((x) => np.sum(x, 1)) },
    sumColumns: { '': compiled((x) => np.sum(x, 0)) },
    variance: { '': compiled((x) => np.var_(x, 1)) },
    norm: { '': compiled((x) => np.sqrt(np.sum(np.square(x), 1))) },
    attention: { '': compiled(attention) },
    convolution: { '': compiled((x, w) => lax.conv(x, w, [1, 1], 'SAME')) },
    mlpForward: { '': mlpForward },
    ...trainingKinds(jax),
  };
}
