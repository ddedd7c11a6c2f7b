import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { assertClose } from '../support/close.js';

/* Algorithms of the literature as loops: against plain numbers, finite differences, and captured. */

const float64 = { dtype: 'float64' } as const;
const scalar = (value: number): kn.NDArray => kn.array(value, float64);

interface Algorithm {
  readonly inputs: readonly kn.NDArray[];
  /** Names of axes that may have any size. */
  readonly axes: kn.DynamicAxes;
  /** Gives one number that depends smoothly on the inputs. */
  readonly code: (...inputs: kn.NDArray[]) => kn.NDArray;
  /** The same number, worked out without arrays. */
  readonly plain: (...inputs: number[][][]) => number;
}

/** Asserts what an algorithm gives, and its gradients, as written, captured, and with symbolic sizes. */
function check(name: string, make: () => Algorithm): void {
  test(name, () => {
    kn.random.seed(9);
    const { inputs, axes, code, plain } = make();
    const nested = inputs.map((input) => input.tolist() as number[][]);
    const expected = plain(...nested);
    assertClose([Number(code(...inputs).item())], [expected], 1e-9, 'eager');

    const both = kn.valueAndGrad(code, inputs.map((_, k) => k)); // prettier-ignore
    const flat = ([value, grads]: ReturnType<typeof both>): number[] =>
      [value as kn.NDArray, ...(grads as kn.NDArray[])].flatMap((each) => [...each.dataSync()].map(Number)); // prettier-ignore
    const results = flat(both(...inputs));
    assertClose(results, [expected, ...differences(plain, nested)], 1e-5, 'gradients');
    assertClose(flat(kn.hybridize(both)(...inputs)), results, 1e-9, 'captured');
    assertClose(flat(kn.hybridize(both, { dynamic: axes })(...inputs)), results, 1e-9, 'symbolic');
  });
}

/** Central differences of a function of matrices, by every entry of them. */
function differences(f: Algorithm['plain'], inputs: readonly number[][][]): number[] {
  const step = 1e-5;
  return inputs.flatMap((matrix, k) =>
    matrix.flatMap((row, i) =>
      row.map((value, j) => {
        const at = (moved: number): number => {
          const changed = inputs.map((each) => each.map((entries) => [...entries]));
          changed[k][i][j] = moved;
          return f(...changed);
        };
        return (at(value + step) - at(value - step)) / (2 * step);
      }),
    ),
  );
}

const logSumExp = (values: readonly number[]): number =>
  Math.log(values.reduce((sum, value) => sum + Math.exp(value), 0));

/** The scores of all paths through states, one state a row of `emissions`. */
function pathScores(emissions: number[][], transitions: number[][]): number[] {
  let paths = emissions[0].map((score, state) => ({ state, score }));
  for (const row of emissions.slice(1)) {
    paths = paths.flatMap(({ state, score }) =>
      row.map((emission, next) => ({ state: next, score: score + transitions[state][next] + emission })),
    ); // prettier-ignore
  }
  return paths.map(({ score }) => score);
}

const chain = (): Pick<Algorithm, 'inputs' | 'axes'> => ({
  inputs: [kn.random.normal([5, 3], float64), kn.random.normal([3, 3], float64)],
  axes: [['time', null], null],
});

check('the partition function of a linear chain is a fold', () => ({
  ...chain(),
  code: (emissions, transitions) => {
    const [, scores] = kn.foreach(
      (emission, before) => [[], before.expandDims(1).add(transitions).logsumexp(0).add(emission)],
      emissions.slice([1]),
      emissions.slice(0),
    );
    return scores.logsumexp(0);
  },
  plain: (emissions, transitions) => logSumExp(pathScores(emissions, transitions)),
}));

check('the best path of a linear chain is found forth, and read back', () => ({
  ...chain(),
  code: (emissions, transitions) => {
    const [pointers, scores] = kn.foreach(
      (emission, before) => {
        const all = before.expandDims(1).add(transitions);
        return [all.argmax(0), all.max(0).add(emission)];
      },
      emissions.slice([1]),
      emissions.slice(0),
    );
    const last = scores.argmax(0);
    const [path, first] = kn.foreach((pointer, at) => [at, pointer.take(at)], pointers, last, {
      reverse: true,
    });
    // The score of the path that was read, not the maximum: so the path must be right.
    const [, score] = kn.foreach(
      ([emission, at], { sum, from }) => [
        [],
        { sum: sum.add(emission.take(at)).add(transitions.take(from, { axis: 0 }).take(at)), from: at },
      ],
      [emissions.slice([1]), path],
      { sum: emissions.slice(0).take(first), from: first },
    ); // prettier-ignore
    return score.sum;
  },
  plain: (emissions, transitions) => Math.max(...pathScores(emissions, transitions)),
}));

check('soft dynamic time warping is a loop in a loop', () => ({
  // Cuturi and Blondel, Soft-DTW: a Differentiable Loss Function for Time-Series, ICML 2017.
  inputs: [kn.random.uniform([3, 4], float64)],
  axes: [['time', 'other']],
  code: (costs) => {
    const far = 10;
    const [, last] = kn.foreach(
      (row, above) => {
        const [cells] = kn.foreach(
          ([cost, up, diagonal], left) => {
            const cell = kn.stack([up, diagonal, left]).neg().logsumexp(0).neg().add(cost);
            return [cell, cell];
          },
          [row, above.slice([1]), above.slice([0, -1])],
          scalar(far),
        );
        return [[], kn.concat([kn.full([1], far, float64), cells])];
      },
      costs,
      kn.concat([kn.zeros([1], float64), kn.fullLike(costs.slice(0), far)]),
    );
    return last.slice(-1);
  },
  plain: (costs) => {
    let above = [0, ...costs[0].map(() => 10)];
    for (const row of costs) {
      const cells = [10];
      row.forEach((cost, j) => {
        cells.push(cost - logSumExp([-above[j + 1], -above[j], -cells[j]]));
      });
      above = cells;
    }
    return above.at(-1)!;
  },
}));

check('an adaptive step of an integrator is a branch in a loop that ends with the time', () => ({
  // Heun's method with Euler's as its control.
  inputs: [kn.random.normal([3, 1], float64), kn.random.normal([3, 3], float64)],
  axes: [
    ['size', null],
    ['size', 'size'],
  ],
  code: (start, matrix) => {
    const f = (y: kn.NDArray): kn.NDArray => matrix.matmul(y).tanh();
    const [, { y }] = kn.whileLoop(
      ({ time }) => time.less(1),
      (state) => {
        const step = kn.minimum(state.step, kn.sub(1, state.time));
        const first = f(state.y);
        const second = f(state.y.add(first.mul(step)));
        const error = second.sub(first).abs().max().mul(step);
        return [
          [],
          kn.cond(
            error.less(0.05),
            () => ({
              y: state.y.add(first.add(second).mul(step).div(2)),
              time: state.time.add(step),
              step: state.step.mul(1.5),
            }),
            () => ({ ...state, step: state.step.div(2) }),
          ),
        ];
      },
      { y: start, time: scalar(0), step: scalar(0.4) },
    );
    return y.square().sum();
  },
  plain: (start, matrix) => {
    const f = (y: number[]): number[] =>
      matrix.map((row) => Math.tanh(row.reduce((sum, entry, j) => sum + entry * y[j], 0)));
    let [y, time, step] = [start.map(([entry]) => entry), 0, 0.4];
    while (time < 1) {
      const used = Math.min(step, 1 - time);
      const first = f(y);
      const second = f(y.map((entry, i) => entry + used * first[i]));
      if (Math.max(...first.map((entry, i) => Math.abs(second[i] - entry))) * used < 0.05) {
        y = y.map((entry, i) => entry + (used * (first[i] + second[i])) / 2);
        time += used;
        step *= 1.5;
      } else step /= 2;
    }
    return y.reduce((sum, entry) => sum + entry * entry, 0);
  },
}));

check('transport is balanced until nothing changes', () => ({
  // Cuturi, Sinkhorn Distances, NeurIPS 2013.
  inputs: [kn.random.uniform([3, 4], float64)],
  axes: [['from', 'to']],
  code: (costs) => {
    const kernel = costs.neg().exp();
    const ones = { rows: kn.onesLike(costs.slice(':', 0)), columns: kn.onesLike(costs.slice(0)) };
    const shares = { row: ones.rows.sum().pow(-1), column: ones.columns.sum().pow(-1) };
    const [, { rows, columns }] = kn.whileLoop(
      ({ change }) => change.greater(1e-13),
      (before) => {
        const columnsNext = kn.div(shares.column, before.rows.matmul(kernel));
        const rowsNext = kn.div(shares.row, kernel.matmul(columnsNext));
        const change = rowsNext.sub(before.rows).abs().max();
        return [[], { rows: rowsNext, columns: columnsNext, change }];
      },
      { ...ones, change: scalar(1) },
      { maxIterations: 500 },
    );
    return rows.expandDims(1).mul(kernel).mul(columns).mul(costs).sum();
  },
  plain: (costs) => {
    const kernel = costs.map((row) => row.map((cost) => Math.exp(-cost)));
    let rows = costs.map(() => 1);
    let columns = costs[0].map(() => 1);
    for (let i = 0; i < 300; i++) {
      columns = columns.map((_, j) => 1 / columns.length / rows.reduce((sum, row, k) => sum + row * kernel[k][j], 0)); // prettier-ignore
      rows = rows.map((_, k) => 1 / rows.length / columns.reduce((sum, column, j) => sum + kernel[k][j] * column, 0)); // prettier-ignore
    }
    return rows.reduce((sum, row, k) => sum + row * columns.reduce((part, column, j) => part + kernel[k][j] * column * costs[k][j], 0), 0); // prettier-ignore
  },
}));

check('rows of a loop without limit are read back by another', () => ({
  inputs: [kn.random.uniform([1, 3], { ...float64, low: 0.5, high: 1 })],
  axes: [[null, 'size']],
  code: (start) => {
    const [rows] = kn.whileLoop(
      (x) => x.sum().less(30),
      (x) => [x, x.mul(1.7).add(1)],
      start,
    );
    const [sums] = kn.foreach((row, sum) => [sum, sum.add(row.square())], rows, start.mul(0), {
      reverse: true,
    });
    return sums.mul(rows).sum();
  },
  plain: ([start]) => {
    const rows: number[][] = [];
    for (let x = start; x.reduce((a, b) => a + b) < 30; x = x.map((each) => each * 1.7 + 1)) rows.push(x); // prettier-ignore
    const sums = start.map(() => 0);
    let total = 0;
    for (const row of rows.toReversed()) {
      row.forEach((each, j) => {
        total += sums[j] * each;
        sums[j] += each * each;
      });
    }
    return total;
  },
}));

check('each step computes with as many rows as its mask has', () => ({
  inputs: [kn.random.normal([6, 4], float64), kn.random.normal([4, 4], float64)],
  axes: [['time', null], null],
  code: (x, w) => {
    const [outputs] = kn.foreach(
      (row, h) => {
        const isKept = row.greater(0);
        const mixed = w.booleanMask(isKept).matmul(h).tanh(); // a number for each element that is kept
        return [mixed.sum().mul(row.booleanMask(isKept).sum()), h.mul(0.5).add(row)];
      },
      x,
      kn.zeros([4], float64),
    );
    return outputs.sum();
  },
  plain: (x, w) => {
    let h = [0, 0, 0, 0];
    let total = 0;
    for (const row of x) {
      const kept = row.flatMap((entry, i) => (entry > 0 ? [i] : []));
      const mixed = kept.map((i) =>
        Math.tanh(w[i].reduce((sum, entry, j) => sum + entry * h[j], 0)),
      );
      const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);
      total += sum(mixed) * sum(kept.map((i) => row[i]));
      h = h.map((entry, i) => entry * 0.5 + row[i]);
    }
    return total;
  },
}));
