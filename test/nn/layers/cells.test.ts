import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { assertClose } from '../../support/close.js';

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** W x + b for one example, in plain numbers. */
function affine(weight: number[][], bias: number[], x: number[]): number[] {
  return weight.map((row, i) => row.reduce((sum, w, j) => sum + w * x[j], bias[i]));
}

function numbers(parameter: kn.nn.Parameter): never {
  return parameter.value.tolist() as never;
}

interface Weights {
  readonly inputWeight: number[][];
  readonly stateWeight: number[][];
  readonly inputBias: number[];
  readonly stateBias: number[];
}

/** Random weights, biases included, as plain numbers. */
function randomize(cell: kn.nn.LSTMCell | kn.nn.GRUCell | kn.nn.RNNCell, x: kn.NDArray): Weights {
  cell.initialize();
  cell.call(x, cell.beginState(x.shape[0]));
  for (const parameter of cell.parameters().values())
    parameter.assign(kn.random.normal(parameter.value.shape));
  return {
    inputWeight: numbers(cell.inputWeight),
    stateWeight: numbers(cell.stateWeight),
    inputBias: numbers(cell.inputBias),
    stateBias: numbers(cell.stateBias),
  };
}

const size = 3;

for (const hybridized of [false, true]) {
  const how = hybridized ? 'captured' : 'eager';

  test(`LSTMCell computes the published equations, ${how}`, () => {
    kn.random.seed(1);
    const x = kn.random.normal([2, 4]);
    const cell = new kn.nn.LSTMCell(size);
    const weights = randomize(cell, x);
    if (hybridized) cell.hybridize();
    const states = [kn.random.normal([2, size]), kn.random.normal([2, size])];
    const [output, [h, c]] = cell.call(x, states);
    const rows = [x, ...states].map((array) => array.tolist() as number[][]);
    rows[0].forEach((row, n) => {
      const a = affine(weights.inputWeight, weights.inputBias, row);
      const b = affine(weights.stateWeight, weights.stateBias, rows[1][n]);
      const gate = (k: number, j: number): number => a[k * size + j] + b[k * size + j];
      for (let j = 0; j < size; j++) {
        const cellState =
          sigmoid(gate(1, j)) * rows[2][n][j] + sigmoid(gate(0, j)) * Math.tanh(gate(2, j));
        const hidden = sigmoid(gate(3, j)) * Math.tanh(cellState);
        assertClose(
          [(c.tolist() as number[][])[n][j], (h.tolist() as number[][])[n][j]],
          [cellState, hidden],
        );
      }
    });
    assert.deepEqual(output.tolist(), h.tolist());
  });

  test(`GRUCell computes the published equations, ${how}`, () => {
    kn.random.seed(2);
    const x = kn.random.normal([2, 4]);
    const cell = new kn.nn.GRUCell(size);
    const weights = randomize(cell, x);
    if (hybridized) cell.hybridize();
    const state = kn.random.normal([2, size]);
    const [output] = cell.call(x, [state]);
    (x.tolist() as number[][]).forEach((row, n) => {
      const before = (state.tolist() as number[][])[n];
      const a = affine(weights.inputWeight, weights.inputBias, row);
      const b = affine(weights.stateWeight, weights.stateBias, before);
      for (let j = 0; j < size; j++) {
        const reset = sigmoid(a[j] + b[j]);
        const update = sigmoid(a[size + j] + b[size + j]);
        const candidate = Math.tanh(a[2 * size + j] + reset * b[2 * size + j]);
        assertClose(
          [(output.tolist() as number[][])[n][j]],
          [(1 - update) * candidate + update * before[j]],
        );
      }
    });
  });

  test(`RNNCell with relu, ${how}`, () => {
    kn.random.seed(3);
    const x = kn.random.normal([1, 2]);
    const cell = new kn.nn.RNNCell(size, { activation: 'relu' });
    const weights = randomize(cell, x);
    if (hybridized) cell.hybridize();
    const state = kn.random.normal([1, size]);
    const [output] = cell.call(x, [state]);
    const a = affine(weights.inputWeight, weights.inputBias, (x.tolist() as number[][])[0]);
    const b = affine(weights.stateWeight, weights.stateBias, (state.tolist() as number[][])[0]);
    assertClose(
      (output.tolist() as number[][])[0],
      a.map((value, j) => Math.max(0, value + b[j])),
    );
  });
}
