import { test } from 'node:test';
import { toModule } from '../../../src/artifact/index.js';
import * as kn from '../../../src/index.js';
import { fromOnnx, toOnnx } from '../../../src/onnx.js';
import { differences, near } from '../../front/support.js';

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
const truth = (bit: boolean): kn.NDArray => kn.array(bit);
const float64 = (x: readonly number[]): kn.NDArray => kn.array(x, { dtype: 'float64' });

for (const [name, chooses] of Object.entries(cases)) {
  const loss = (x: kn.NDArray, first: kn.NDArray): kn.NDArray =>
    chooses(x, first).add(0.1).square().sum();
  const once = (x: kn.NDArray, first: kn.NDArray): kn.NDArray => kn.grad(loss, [0])(x, first)[0];
  const slope = (x: kn.NDArray, first: kn.NDArray): kn.NDArray => once(x, first).square().sum();
  const twice = (x: kn.NDArray, first: kn.NDArray): kn.NDArray =>
    kn.grad((y: kn.NDArray) => slope(y, first))(x);
  for (const dynamic of [false, true]) {
    const options = dynamic ? { dynamic: [['n'], null] as const } : {};
    test(`${name}${dynamic ? ', in code for all sizes' : ''}: gradients of both orders`, () => {
      const orders = [
        { gradient: once, of: loss },
        { gradient: twice, of: slope },
      ];
      for (const { gradient, of } of orders) {
        const captured = kn.hybridize(gradient, options);
        for (const point of points) {
          for (const bit of [true, false]) {
            const found = captured(float64(point), truth(bit)).tolist();
            near(found, gradient(float64(point), truth(bit)).tolist(), 1e-12);
            near(
              found,
              differences((x) => of(x, truth(bit)), point),
              1e-4,
            );
          }
        }
      }
    });
  }

  test(`${name}: gradients of both orders, saved, as ONNX and as a module`, async () => {
    for (const gradient of [once, twice]) {
      const captured = kn.hybridize(gradient, { dynamic: [['n'], null] });
      const graph = captured.graphFor(float64(points[0]), truth(true));
      const read = kn.StaticGraph.fromJSON(JSON.parse(JSON.stringify(graph)));
      const onnx = areKnown.has(name) ? [fromOnnx(toOnnx(graph))] : [];
      const text = encodeURIComponent(toModule(graph));
      const made = (await import(`data:text/javascript,${text}`)) as {
        run(feeds: unknown): Record<string, { data: Float64Array }>;
      };
      const [x, first] = graph.inputNames;
      const [y] = graph.outputNames;
      for (const point of points) {
        for (const bit of [true, false]) {
          const expected = gradient(float64(point), truth(bit)).tolist();
          for (const each of [read, ...onnx]) {
            const [given] = each.inputNames;
            const feeds = { [given]: float64(point), [each.inputNames[1]]: truth(bit) };
            near(each.run(feeds)[each.outputNames[0]].tolist(), expected, 1e-12);
          }
          const { data } = made.run({ [x]: Float64Array.from(point), [first]: Uint8Array.of(+bit) })[y]; // prettier-ignore
          near([...data], expected, 1e-12);
        }
      }
    }
  });
}
