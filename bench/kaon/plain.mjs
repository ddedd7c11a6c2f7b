import { kn } from '../kaon.mjs';
import { distFolder, load } from '../dist.mjs';
import { tier } from './tier.mjs';

/** Counts primes by trial division: nested loops, a jump to the outer one, numbers only. */
const primes = `export function primes(limit) {
  'use graph';
  let count = 0;
  search: for (let n = 2; n < limit; n++) {
    for (let d = 2; d * d <= n; d++) {
      if (n % d === 0) continue search;
    }
    count++;
  }
  return count;
}
`;

const moduleOf = (code) => import(`data:text/javascript,${encodeURIComponent(code)}`);

/** The text above in one of the forms. */
async function codeIn(form) {
  if (form === 'written') return primes.replace("'use graph';", '');
  const { transform } = await load('src/source/index.js');
  const runtime = new URL('src/front/converted/index.js', distFolder).href;
  return transform(primes, { filename: 'primes.js', runtime }).code;
}

const hostLoop =
  (form) =>
  async (_, { limit }) => {
    const { primes: count } = await moduleOf(await codeIn(form));
    return { run: () => count(limit), result: () => Float64Array.of(count(limit)) };
  };

const ints = (values) => kn.array(values, { dtype: 'int32' });

function drawn(block, scale = 0.3) {
  kn.random.seed(3);
  for (const parameter of block.parameters().values()) {
    parameter.assign(kn.random.normal(parameter.value.shape).mul(scale));
  }
  return block;
}

async function example(name) {
  const { importConverted } = await load('test/support/converted.js');
  return importConverted(new URL(`examples/plain/${name}.js`, distFolder));
}

/** By example: the network by hand or the plain one, and what it is called with. */
const examples = {
  'beam search': async (isPlain) => {
    const { Speller } = await load('examples/decoding/model.js');
    const speller = new Speller({ alphabet: 30, languages: 4, size: 96 }).initialize();
    speller.step(ints([0]), speller.beginState(ints([0])));
    drawn(speller);
    const { BeamSpeller } = await load('examples/decoding/beam.js');
    const { PlainBeamSpeller } = await example('beam');
    const Searcher = isPlain ? PlainBeamSpeller : BeamSpeller;
    const net = new Searcher(speller, { width: 8, longest: 12, lengthPenalty: 1 });
    return { net, given: [ints(1)], result: ({ scores }) => scores };
  },
  generation: async (isPlain) => {
    const { Transformer } = await load('examples/attention/model.js');
    const { tokens } = await load('examples/attention/data.js');
    const model = new Transformer({ size: 48, heads: 4, layers: 2, capacity: 24 }).initialize();
    model.call(kn.zeros([1, 1], { dtype: 'int32' }));
    drawn(model);
    const { Generator } = await load('examples/attention/generate.js');
    const { PlainGenerator } = await example('generate');
    const prompts = tokens([[3, 1, 4], [1, 5], [9], [2, 6, 5, 3, 5]], 24); // prettier-ignore
    const net = new (isPlain ? PlainGenerator : Generator)(model);
    return { net, given: [prompts, ints([3, 2, 1, 5])] };
  },
  trees: async (isPlain) => {
    const { batchTrees, treeAxes } = await load('examples/listops/batch.js');
    const { drawExpressions } = await load('examples/listops/run.js');
    const { TreeReader } = await load('examples/listops/model.js');
    const { PlainTreeReader } = await example('trees');
    const batch = batchTrees(drawExpressions(32, { depth: 4, longest: 4 }));
    const net = new (isPlain ? PlainTreeReader : TreeReader)(48).initialize();
    net.call(batch);
    return { net: drawn(net), given: [batch], dynamic: [treeAxes] };
  },
};

/** One call of an example, compiled; with its gradients for a training step. */
const plainExample =
  (isPlain) =>
  async (_, { example: name, trains }) => {
    const { net, given, dynamic, result = (array) => array } = await examples[name](isPlain);
    net.hybridize({ tier, ...(dynamic && { dynamic }) });
    const call = () => result(net.call(...given));
    return {
      run: trains
        ? () => kn.autograd.record(() => call().square().sum()).backward()
        : () => call().dataSync(),
    };
  };

/** Running the code of an example once to capture its graph, which is not compiled. */
const plainCapture =
  (isPlain) =>
  async (_, { example: name }) => {
    const { net, given, dynamic } = await examples[name](isPlain);
    const call = (...arrays) => net.call(...arrays);
    const options = { verify: 'off', ...(dynamic && { dynamic }) };
    return { run: () => kn.hybridize(call, options).graphFor(...given) };
  };

export const kinds = {
  hostLoop: { written: hostLoop('written'), converted: hostLoop('converted') },
  plainExample: { 'by hand': plainExample(false), plain: plainExample(true) },
  plainCapture: { 'by hand': plainCapture(false), plain: plainCapture(true) },
};

/** Elements are read as code goes. */
export const reads = true;
