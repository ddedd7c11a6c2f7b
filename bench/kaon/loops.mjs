import { clock } from '../harness/clock.mjs';
import { load } from '../dist.mjs';
import { kn } from '../kaon.mjs';
import { array, computed, hybridize, unlessCompiled } from './tier.mjs';

const { compile } = await load('src/runtime/compile/compile.js');

function whileLoop(_, { iterations }) {
  const loop = hybridize((i, x) => {
    const [, [, last]] = kn.whileLoop(
      (i) => i.less(iterations),
      (i, x) => [[], [i.add(1), x.mul(0.999).add(1)]],
      [i, x],
    );
    return last;
  });
  const [i, x] = [kn.array(0, { dtype: 'int32' }), kn.array(0)];
  return computed(() => loop(i, x));
}

const step = (xt, h, w) => h.expandDims(0).matmul(w).reshape(h.shape).add(xt).tanh();

function looped(x, w) {
  const [, last] = kn.foreach((xt, h) => [[], step(xt, h, w)], x, kn.zeros([w.shape[0]]));
  return last;
}

function unrolled(x, w) {
  let h = kn.zeros([w.shape[0]]);
  for (let t = 0; t < x.shape[0]; t++) h = step(x.slice(t), h, w);
  return h;
}

const recurrence = (f) => (inputs) => {
  const [captured, x, w] = [hybridize(f), array(inputs.x), array(inputs.w)];
  return computed(() => captured(x, w));
};

/** Tracing and compiling alone: a first run would add the steps, in code that the engine has not optimized yet. */
const compiling =
  (f, steps) =>
  (_, { width }) => {
    const inputs = { x: kn.ones([steps, width]), w: kn.full([width, width], 0.01) };
    return {
      sample: () => {
        const start = clock();
        const { program } = kn.deferredCompute(() =>
          kn.exportGraph({ inputs, outputs: { y: f(inputs.x, inputs.w) } }),
        );
        compile(program).release();
        return clock() - start;
      },
    };
  };

const masked = (x) => {
  const kept = kn.booleanMask(x, x.sum(1).greater(0));
  return kept.mul(2).add(1).tanh().mul(kept).sum(0);
};

const maskedPipeline = (wrap) => (inputs) => {
  const [pipeline, x] = [wrap(masked), array(inputs.x)];
  return computed(() => pipeline(x));
};

export const kinds = {
  whileLoop: { '': whileLoop },
  recurrence: {
    foreach: recurrence(looped),
    ...unlessCompiled({ unrolled: recurrence(unrolled) }),
  },
  recurrenceCompile: {
    'foreach 10 steps': compiling(looped, 10),
    'foreach 1000 steps': compiling(looped, 1000),
    'foreach 10000 steps': compiling(looped, 10_000),
    'unrolled 1000 steps': compiling(unrolled, 1000),
  },
  maskedPipeline: { hybridized: maskedPipeline(hybridize), eager: maskedPipeline((f) => f) },
};

/** Elements are read as code goes. */
export const reads = true;
