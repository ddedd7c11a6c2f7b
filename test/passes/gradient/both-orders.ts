import { test } from 'node:test';
import { toModule } from '../../../src/artifact/index.js';
import * as kn from '../../../src/index.js';
import { fromOnnx, toOnnx } from '../../../src/onnx.js';
import { differences, near } from '../../front/support.js';

const float64 = (x: readonly number[]): kn.NDArray => kn.array(x, { dtype: 'float64' });

/** A function of a vector and of arrays that have no gradient. */
type Computes = (x: kn.NDArray, others: readonly kn.NDArray[]) => kn.NDArray;

/**
 * Tests gradients of both orders against finite differences: captured, for known and for all sizes, saved and read,
 * as a module and, with `isOnnx`, as ONNX.
 */
export function testGradients(
  name: string,
  computes: Computes,
  [points, choices]: readonly [
    points: readonly (readonly number[])[],
    readonly (readonly kn.NDArray[])[],
  ],
  isOnnx: boolean,
): void {
  type Of = (x: kn.NDArray, ...others: kn.NDArray[]) => kn.NDArray;
  const loss: Of = (x, ...others) => computes(x, others).add(0.1).square().sum();
  const once: Of = (x, ...others) => kn.grad((y: kn.NDArray) => loss(y, ...others))(x);
  const slope: Of = (x, ...others) =>
    once(x, ...others)
      .square()
      .sum();
  const twice: Of = (x, ...others) => kn.grad((y: kn.NDArray) => slope(y, ...others))(x);
  const dynamic = [['n'], ...choices[0].map(() => null)];
  for (const options of [{}, { dynamic }]) {
    test(`${name}${'dynamic' in options ? ', in code for all sizes' : ''}: gradients of both orders`, () => {
      for (const [gradient, of] of [[once, loss], [twice, slope]]) {
        const captured = kn.hybridize(gradient, options);
        for (const point of points) {
          for (const others of choices) {
            const found = captured(float64(point), ...others).tolist();
            near(found, gradient(float64(point), ...others).tolist(), 1e-12);
            near(
              found,
              differences((x) => of(x, ...others), point),
              1e-4,
            );
          }
        }
      }
    }); // prettier-ignore
  }

  test(`${name}: gradients of both orders, saved, as a module${isOnnx ? ' and as ONNX' : ''}`, async () => {
    for (const gradient of [once, twice]) {
      const captured = kn.hybridize(gradient, { dynamic });
      const graph = captured.graphFor(float64(points[0]), ...choices[0]);
      const read = kn.StaticGraph.fromJSON(JSON.parse(JSON.stringify(graph)));
      const onnx = isOnnx ? [fromOnnx(toOnnx(graph))] : [];
      const text = encodeURIComponent(toModule(graph));
      const made = (await import(`data:text/javascript,${text}`)) as {
        run(feeds: unknown): Record<string, { data: Float64Array }>;
      };
      const [x, ...rest] = graph.inputNames;
      const [y] = graph.outputNames;
      for (const point of points) {
        for (const others of choices) {
          const expected = gradient(float64(point), ...others).tolist();
          for (const each of [read, ...onnx]) {
            const arrays = [float64(point), ...others];
            const feeds = Object.fromEntries(each.inputNames.map((input, k) => [input, arrays[k]]));
            near(each.run(feeds)[each.outputNames[0]].tolist(), expected, 1e-12);
          }
          const feeds = rest.map((input, k) => [input, others[k].dataSync()] as const);
          const { data } = made.run({ [x]: Float64Array.from(point), ...Object.fromEntries(feeds) })[y];
          near([...data], expected, 1e-12);
        }
      }
    }
  }); // prettier-ignore
}
