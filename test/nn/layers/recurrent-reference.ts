import * as kn from '../../../src/index.js';

/*
 * Recurrent layers on plain numbers, one example after the other: the equations in PyTorch's
 * documentation of LSTM, GRU and RNN, in double precision.
 */

export type Kind = 'LSTM' | 'GRU' | 'RNN';
export const kinds: readonly Kind[] = ['LSTM', 'GRU', 'RNN'];
export type Layer = kn.nn.LSTM | kn.nn.GRU | kn.nn.RNN;

type Vector = number[];
type Matrix = number[][];

export interface Expected {
  /** (batch, time, size * directions), zero beyond an example's length. */
  readonly outputs: number[][][];
  /** For each array of a state (layers * directions, batch, size). */
  readonly states: number[][][][];
}

interface Weights {
  readonly inputWeight: Matrix;
  readonly stateWeight: Matrix;
  readonly inputBias: Vector;
  readonly stateBias: Vector;
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

const affine = (weight: Matrix, bias: Vector, x: Vector): Vector =>
  weight.map((row, i) => row.reduce((sum, w, j) => sum + w * x[j], bias[i]));

/** The states [h, c] or [h] after one step. */
function step(kind: Kind, weights: Weights, x: Vector, states: readonly Vector[]): Vector[] {
  const [h, c] = states;
  const a = affine(weights.inputWeight, weights.inputBias, x);
  const b = affine(weights.stateWeight, weights.stateBias, h);
  const gate = (k: number, j: number): number => a[k * h.length + j] + b[k * h.length + j];
  const units = [...h.keys()];
  if (kind === 'RNN') return [units.map((j) => Math.tanh(gate(0, j)))];
  if (kind === 'LSTM') {
    const cell = units.map(
      (j) => sigmoid(gate(1, j)) * c[j] + sigmoid(gate(0, j)) * Math.tanh(gate(2, j)),
    );
    return [units.map((j) => sigmoid(gate(3, j)) * Math.tanh(cell[j])), cell];
  }
  return [
    units.map((j) => {
      const r = sigmoid(gate(0, j));
      const z = sigmoid(gate(1, j));
      const n = Math.tanh(a[2 * h.length + j] + r * b[2 * h.length + j]);
      return (1 - z) * n + z * h[j];
    }),
  ];
}

function weightsOf(cell: Layer['cells'][number]): Weights {
  const { inputWeight, stateWeight, inputBias, stateBias } = cell;
  const [w, u] = [inputWeight, stateWeight].map(({ value }) => value.tolist() as Matrix);
  const [b, c] = [inputBias, stateBias].map(({ value }) => value.tolist() as Vector);
  return { inputWeight: w, stateWeight: u, inputBias: b, stateBias: c };
}

/** What a layer must compute. `x` is (batch, time, channels), states are as the layer takes them. */
export function expectedOf(
  kind: Kind,
  layer: Layer,
  x: number[][][],
  states: readonly number[][][][],
  lengths: readonly number[] = x.map((steps) => steps.length),
): Expected {
  const directions = layer.reverseCells.length > 0 ? 2 : 1;
  const ends = states.map((state) => state.map((rows) => rows.map((row) => [...row])));
  const outputs = x.map((padded, example) => {
    let sequence: Matrix = padded.slice(0, lengths[example]);
    layer.cells.forEach((cell, index) => {
      const read = sequence;
      sequence = read.map(() => []);
      [cell, ...layer.reverseCells.slice(index, index + 1)].forEach((each, direction) => {
        const place = index * directions + direction;
        const weights = weightsOf(each);
        let now = states.map((state) => state[place][example]);
        const order = [...read.keys()];
        for (const t of direction === 0 ? order : order.reverse()) {
          now = step(kind, weights, read[t], now);
          sequence[t] = [...sequence[t], ...now[0]];
        }
        now.forEach((vector, k) => (ends[k][place][example] = vector));
      });
    });
    const zeros = Array.from({ length: directions * layer.size }, () => 0);
    return padded.map((_, t) => sequence[t] ?? zeros);
  });
  return { outputs, states: ends };
}

/** A layer whose parameters, biases included, are random float64 numbers, the same for each seed. */
export function layerOf(
  kind: Kind,
  size: number,
  channels: number,
  options: kn.nn.RecurrentOptions = {},
  seed: number = 1,
): Layer {
  const layer = new kn.nn[kind](size, { inputs: channels, ...options });
  kn.random.seed(seed);
  for (const cell of [...layer.cells, ...layer.reverseCells]) {
    for (const name of ['inputWeight', 'stateWeight', 'inputBias', 'stateBias'] as const) {
      const shape = cell[name].shape as readonly number[];
      cell[name] = new kn.nn.Parameter({ shape, dtype: 'float64' });
      cell[name].assign(data(shape));
    }
  }
  return layer;
}

/** Random float64 numbers. */
export function data(shape: readonly number[]): kn.NDArray {
  return kn.random.normal(shape, { dtype: 'float64' });
}

/** Random states for a layer, as many and as large as it takes. */
export function statesFor(layer: Layer, batch: number): kn.NDArray[] {
  return layer.beginState(batch).map(({ shape }) => data(shape));
}

export const flat = (x: kn.NDArray): number[] => Array.from(x.dataSync(), Number);
