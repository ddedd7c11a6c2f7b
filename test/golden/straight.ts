import { add, conv2d, div, mul, matmul, relu, scatterAdd, softmax, sqrt, sub, take, tanh } from '../../src/ops/index.js'; // prettier-ignore
import { elementsOf, operand, programOf } from '../support/programs.js';
import { array, f32, type GoldenCase, product, rows, type } from './case.js';

const plain = (array_: Parameters<typeof elementsOf>[0]): number[] =>
  elementsOf(array_).map(Number);

function chain(): GoldenCase {
  const [x, y] = [array(1, 19), array(2, 19)];
  const [xs, ys] = [plain(x), plain(y)];
  return {
    name: 'elementwise-chain',
    program: programOf({ x: f32(rows), y: f32(rows) }, ({ x, y }) => ({
      z: sub(mul(tanh(add(mul(x, 2), y)), y), x),
    })),
    inputs: [x, y],
    expected: [xs.map((value, i) => Math.tanh(value * 2 + ys[i]) * ys[i] - value)],
  };
}

function softmaxRows(): GoldenCase {
  const x = array(3, 5, 10);
  const xs = plain(x);
  const expected = Array.from({ length: 5 }, (_, row) => {
    const exps = xs.slice(row * 10, row * 10 + 10).map(Math.exp);
    const total = exps.reduce((a, b) => a + b, 0);
    return exps.map((value) => value / total);
  });
  return {
    name: 'softmax-rows',
    program: programOf({ x: f32(rows, 10) }, ({ x }) => ({ y: softmax(x) })),
    inputs: [x],
    expected: [expected.flat()],
  };
}

function dense(name: string, m: number, isSymbolic: boolean): GoldenCase {
  const [k, n] = [8, 16];
  const [x, w, b] = [array(4, m, k), array(5, k, n), array(6, n)];
  const bias = plain(b);
  return {
    name,
    program: programOf(
      { x: f32(isSymbolic ? rows : m, k), w: f32(k, n), b: f32(n) },
      ({ x, w, b }) => ({ y: relu(add(matmul(x, w), b)) }),
    ),
    inputs: [x, w, b],
    expected: [
      product(plain(x), plain(w), m, k, n).map((sum, at) => Math.max(0, sum + bias[at % n])),
    ],
  };
}

function convolution(): GoldenCase {
  const [side, channels, filters] = [6, 4, 8];
  const [x, w] = [array(7, 2, channels, side, side), array(8, filters, channels, 3, 3)];
  const [xs, ws] = [plain(x), plain(w)];
  const at = (image: number, c: number, i: number, j: number): number =>
    i < 0 || j < 0 || i >= side || j >= side
      ? 0
      : xs[((image * channels + c) * side + i) * side + j];
  const expected: number[] = [];
  for (let image = 0; image < 2; image++) {
    for (let f = 0; f < filters; f++) {
      for (let i = 0; i < side; i++) {
        for (let j = 0; j < side; j++) {
          let sum = 0;
          for (let c = 0; c < channels; c++) {
            for (let t = 0; t < 9; t++) {
              const [di, dj] = [Math.floor(t / 3), t % 3];
              sum += at(image, c, i + di - 1, j + dj - 1) * ws[(f * channels + c) * 9 + t];
            }
          }
          expected.push(sum);
        }
      }
    }
  }
  return {
    name: 'convolution',
    program: programOf(
      { x: f32(2, channels, side, side), w: f32(filters, channels, 3, 3) },
      ({ x, w }) => ({ y: conv2d(x, w, { padding: 1 }) }),
    ),
    inputs: [x, w],
    expected: [expected],
  };
}

function gatherScatter(): GoldenCase {
  const x = array(9, 6, 5);
  const xs = plain(x);
  const places = [4, 0, 4, 2];
  const expected = [...xs];
  for (const place of places) {
    for (let j = 0; j < 5; j++) expected[place * 5 + j] += xs[place * 5 + j] * 3;
  }
  const wide = places.flatMap((place) => [place, place, place, place, place]);
  return {
    name: 'gather-scatter',
    program: programOf(
      { x: f32(6, 5), at: type('int32', 4), wide: type('int32', 4, 5) },
      ({ x, at, wide }) => ({ y: scatterAdd(x, wide, mul(take(x, at, { axis: 0 }), 3), 0) }),
    ),
    inputs: [x, operand('int32', [4], places), operand('int32', [4, 5], wide)],
    expected: [expected],
  };
}

function adamStep(): GoldenCase {
  const shape = [3, 11];
  const names = ['w', 'g', 'm', 'v'] as const;
  const arrays = names.map((name, i) => {
    const made = array(10 + i, ...shape);
    return name === 'v' ? operand('float32', shape, plain(made).map(Math.abs)) : made;
  });
  const [w, g, m, v] = arrays.map(plain);
  const [rate, beta1, beta2, epsilon] = [0.125, 0.875, 0.96875, 2 ** -20];
  const next = w.map((_, i) => {
    const mean = m[i] * beta1 + g[i] * (1 - beta1);
    const variance = v[i] * beta2 + g[i] * g[i] * (1 - beta2);
    return { mean, variance, weight: w[i] - (mean * rate) / (Math.sqrt(variance) + epsilon) };
  });
  return {
    name: 'adam-step',
    program: programOf(
      { w: f32(...shape), g: f32(...shape), m: f32(...shape), v: f32(...shape) },
      ({ w, g, m, v }) => {
        const mean = add(mul(m, beta1), mul(g, 1 - beta1));
        const variance = add(mul(v, beta2), mul(mul(g, g), 1 - beta2));
        const step = div(mul(mean, rate), add(sqrt(variance), epsilon));
        return { weight: sub(w, step), mean, variance };
      },
    ),
    inputs: arrays,
    expected: [
      next.map(({ weight }) => weight),
      next.map(({ mean }) => mean),
      next.map(({ variance }) => variance),
    ],
  };
}

/** Programs without control flow, of sizes that are known when they start. */
export function straightCases(): readonly GoldenCase[] {
  return [
    chain(),
    softmaxRows(),
    dense('dense-fixed', 4, false),
    dense('dense-any-rows', 7, true),
    convolution(),
    gatherScatter(),
    adamStep(),
  ];
}
