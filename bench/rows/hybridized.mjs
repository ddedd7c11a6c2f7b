// Captured code against the same code run operator by operator: never slower, after two calls.
import { firstDigits, makeDigits } from '../../dist/examples/digits/run.js';
import { firstNames, makeNames } from '../../dist/examples/names/run.js';
import { forms, stepIn } from '../../dist/examples/support/forms.js';
import { randomData } from '../harness.mjs';
import * as kn from '../kaon.mjs';

/** Losses of so many steps are compared before timing. */
const checked = 3;

/** The examples of this repository: a training, a batch, and the arrays that the network is called on. */
const examples = [
  {
    name: 'digits',
    prepare: () => {
      const batch = firstDigits(64);
      return { make: () => makeDigits(), batch, inputs: [batch.images] };
    },
  },
  {
    name: 'names',
    prepare: () => {
      const { alphabet, batch } = firstNames(64);
      return { make: () => makeNames(alphabet), batch, inputs: [batch.characters, batch.lengths] };
    },
  },
];

/** Calls a function twice, so that it is traced, checked and compiled. */
function warm(run) {
  for (let call = 0; call < 2; call++) run();
  return run;
}

const lossesOf = (step, batch) => Float64Array.from({ length: checked }, () => step(batch));

function stepRow({ name, prepare }) {
  const title = `hybridized against eager: ${name} train step`;
  return {
    title,
    build: async () => {
      const { make, batch } = prepare();
      const contestants = Object.fromEntries(
        forms.map((form) => {
          const result = () => lossesOf(stepIn(form, make()), batch);
          const step = stepIn(form, make());
          return [`kaon ${form}`, { run: warm(() => step(batch)), result }];
        }),
      );
      const reference = contestants['kaon eager'].result();
      return { name: title, unit: 'ms', reference, tolerance: 1e-3, against: 'kaon eager', contestants }; // prettier-ignore
    },
  };
}

function forwardRow({ name, prepare }, count) {
  const title = `hybridized against eager: ${name} forward, batch ${count}`;
  return {
    title,
    build: async () => {
      const { make, inputs: all } = prepare();
      const inputs = all.map((array) => array.slice([0, count]));
      const [eager, captured] = [make().net, make().net.hybridize()];
      return pairOf(title, {
        eager: () => eager.call(...inputs),
        captured: () => captured.call(...inputs),
      });
    },
  };
}

/** A row of one computation in two forms. */
function pairOf(name, { eager, captured }, { repeats = 1, unit = 'ms', scale } = {}) {
  const contestant = (compute) => ({
    run: warm(() => {
      for (let i = 0; i < repeats; i++) compute();
    }),
    result: () => compute().dataSync(),
  });
  const contestants = {
    'kaon hybridized': contestant(captured),
    'kaon eager': contestant(eager),
  };
  const reference = contestants['kaon eager'].result();
  return { name, unit, scale, reference, against: 'kaon eager', contestants };
}

const repeats = 1000;

export const rows = [
  ...examples.flatMap((example) => [
    forwardRow(example, 64),
    forwardRow(example, 1),
    stepRow(example),
  ]),
  {
    title: 'hybridized against eager: add of two 4x4 arrays',
    build: async () => {
      const [x, y] = [1, 2].map((seed) => kn.array(randomData(16, seed), { shape: [4, 4] }));
      const add = kn.hybridize((u, v) => u.add(v));
      const forms = { eager: () => x.add(y), captured: () => add(x, y) };
      const scale = (ms) => (ms * 1000) / repeats;
      return pairOf('hybridized against eager: add of two 4x4 arrays', forms, { repeats, unit: 'us', scale }); // prettier-ignore
    },
  },
];
