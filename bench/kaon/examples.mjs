// The networks of the examples of this repository, in every form of running them.
import { relativeError } from '../harness/statistics.mjs';
import { load } from '../dist.mjs';
import { hybridizeBlock, tier } from './tier.mjs';

const [{ firstDigits, makeDigits }, { firstNames, makeNames }, { forms, stepIn }] =
  await Promise.all(
    ['digits/run.js', 'names/run.js', 'support/forms.js'].map((path) => load(`examples/${path}`)),
  );

/** By example: a training, a batch, and the arrays that the network is called on. */
const examples = {
  digits: () => {
    const batch = firstDigits(64);
    return { make: () => makeDigits(), batch, inputs: [batch.images] };
  },
  names: () => {
    const { alphabet, batch } = firstNames(64);
    return { make: () => makeNames(alphabet), batch, inputs: [batch.characters, batch.lengths] };
  },
};

/** Eager code is the reference. */
function mustAgree(found, expected, tolerance) {
  const error = relativeError(found, expected);
  if (error > tolerance) throw new Error(`not what eager code computes: relative error ${error}`);
}

const forward =
  (hybridized) =>
  (_, { example, count }) => {
    const { make, inputs: all } = examples[example]();
    const inputs = all.map((array) => array.slice([0, count]));
    const net = hybridized ? hybridizeBlock(make().net) : make().net;
    mustAgree(
      net.call(...inputs).dataSync(),
      make()
        .net.call(...inputs)
        .dataSync(),
      1e-4,
    );
    return { run: () => net.call(...inputs) };
  };

const stepAs =
  (form) =>
  (_, { example, checked }) => {
    const { make, batch } = examples[example]();
    const losses = (form) => {
      const step = stepIn(form, make(), { tier });
      return Array.from({ length: checked }, () => step(batch));
    };
    mustAgree(losses(form), losses('eager'), 1e-3);
    const step = stepIn(form, make(), { tier });
    return { run: () => step(batch) };
  };

export const kinds = {
  exampleForward: { hybridized: forward(true), eager: forward(false) },
  exampleStep: Object.fromEntries(forms.map((form) => [form, stepAs(form)])),
};

/** Elements are read as code goes. */
export const reads = true;
