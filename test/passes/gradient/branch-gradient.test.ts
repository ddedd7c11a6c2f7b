import * as kn from '../../../src/index.js';
import { testGradients } from './both-orders.js';

/* Gradients of branches with results of sizes that the branch decides, or that differ from the other branch's. */

type Chooses = (x: kn.NDArray, first: kn.NDArray) => kn.NDArray;

const positive = (x: kn.NDArray): kn.NDArray => kn.booleanMask(x, x.greater(0));

const cases: Readonly<Record<string, Chooses>> = {
  'a multiple of a size that a branch decides': (x, first) =>
    kn.cond(
      first,
      () => kn.concat([positive(x), positive(x).square()]),
      () => x.mul(3),
    ),
  'one more than it, and another size that is decided': (x, first) =>
    kn.cond(
      first,
      () => kn.concat([positive(x).square(), kn.ones([1], { dtype: 'float64' })]),
      () => kn.booleanMask(x, x.less(0)).exp(),
    ),
  'the size itself beside twice the size': (x, first) => {
    const [a, b] = kn.cond(
      first,
      (): kn.NDArray[] => [positive(x).square(), kn.concat([positive(x), positive(x).exp()])],
      () => [x, x.sin()],
    );
    return kn.concat([a, b]);
  },
  'twice the size of an operand': (x, first) =>
    kn.cond(
      first,
      () => kn.concat([x, x.square()]),
      () => x.exp(),
    ),
  'an axis that one of the branches adds to': (x, first) =>
    kn.cond(
      first,
      () => kn.stack([positive(x), positive(x).neg()], 1),
      () => kn.ones([2, 1], { dtype: 'float64' }).mul(x.sum()),
    ),
};

/** Cases without sizes that a reader of ONNX takes for two: it knows less of them than a capture. */
const areKnown = new Set([
  'a multiple of a size that a branch decides',
  'twice the size of an operand',
]);

const points = [
  [1, -2, 3, -0.5, 0.25],
  [-1, -2],
  [0.5, 1.5, 2.5],
];

for (const [name, chooses] of Object.entries(cases)) {
  testGradients(
    name,
    (x, [first]) => chooses(x, first),
    [points, [[kn.array(true)], [kn.array(false)]]],
    areKnown.has(name),
  );
}
