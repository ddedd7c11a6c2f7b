// The cases as ONNX models: `{ inputs, constants, nodes, outputs, fed }`, `fed` naming the inputs.
import { modelOf, node } from './model.mjs';

/** A model that is fed some of a case's inputs, the others being its constants. */
function graph(given, fed, shape, nodes, constants = {}) {
  const inputs = Object.fromEntries(fed.map((name) => [name, given[name].shape]));
  return { fed, model: modelOf({ inputs, constants, nodes, outputs: { out: shape } }) };
}

/** The inputs of a case whose names are given. */
const pick = (given, names) => Object.fromEntries(names.map((name) => [name, given[name]]));

const padded = { kernel_shape: [3, 3], pads: [1, 1, 1, 1] };

function mlpForward(given) {
  const nodes = [0, 1, 2].flatMap((i) => {
    const [from, to] = [i === 0 ? 'x' : `y${i - 1}`, i === 2 ? 'out' : `y${i}`];
    if (i === 2) return [node('Gemm', [from, `w${i}`, `b${i}`], [to])];
    return [node('Gemm', [from, `w${i}`, `b${i}`], [`z${i}`]), node('Relu', [`z${i}`], [to])];
  });
  const shape = [given.x.shape[0], given.w2.shape[1]];
  return graph(given, ['x'], shape, nodes, pick(given, ['w0', 'w1', 'w2', 'b0', 'b1', 'b2']));
}

function residualBlock(given) {
  const stage = (i, from, to) => [
    node('Conv', [from, `w${i}`], [`c${i}`], padded),
    node(
      'BatchNormalization',
      [`c${i}`, `gamma${i}`, `beta${i}`, `mean${i}`, `variance${i}`],
      [to],
      { epsilon: 1e-5 },
    ),
  ];
  const nodes = [
    ...stage(0, 'x', 'n0'),
    node('Relu', ['n0'], ['inner']),
    ...stage(1, 'inner', 'n1'),
    node('Add', ['n1', 'x'], ['sum']),
    node('Relu', ['sum'], ['out']),
  ];
  const names = ['w', 'gamma', 'beta', 'mean', 'variance'].flatMap((name) => [
    `${name}0`,
    `${name}1`,
  ]);
  return graph(given, ['x'], given.x.shape, nodes, pick(given, names));
}

function attention(given) {
  const [, , size] = given.q.shape;
  const scale = { data: Float32Array.of(1 / Math.sqrt(size)), shape: [] };
  const nodes = [
    node('Transpose', ['k'], ['kt'], { perm: [0, 2, 1] }),
    node('MatMul', ['q', 'kt'], ['scores']),
    node('Mul', ['scores', 'scale'], ['scaled']),
    node('Softmax', ['scaled'], ['weights'], { axis: -1 }),
    node('MatMul', ['weights', 'v'], ['out']),
  ];
  return graph(given, ['q', 'k', 'v'], given.q.shape, nodes, { scale });
}

/** Weights as ONNX wants them: (1, 4 * size, inputs), gates in the order input, output, forget, cell. */
function gates({ data, shape }, order) {
  const [rows, columns] = shape.length === 2 ? shape : [1, shape[0]];
  const size = columns / 4;
  const turned = new Float32Array(data.length);
  order.forEach((from, to) => {
    for (let j = 0; j < size; j++) {
      for (let i = 0; i < rows; i++) {
        turned[(to * size + j) * rows + i] = data[i * columns + from * size + j];
      }
    }
  });
  return turned;
}

function lstmForward(given) {
  const { x, w, u, b } = given;
  const [inputs, size] = [w.shape[0], u.shape[0]];
  const order = [0, 3, 1, 2]; // ours is input, forget, cell, output
  const biases = new Float32Array(8 * size); // of the inputs, then of the states
  biases.set(gates(b, order));
  const constants = {
    w: { data: gates(w, order), shape: [1, 4 * size, inputs] },
    u: { data: gates(u, order), shape: [1, 4 * size, size] },
    b: { data: biases, shape: [1, 8 * size] },
  };
  const nodes = [node('LSTM', ['x', 'w', 'u', 'b'], ['out'], { hidden_size: size })];
  return graph(given, ['x'], [x.shape[0], 1, x.shape[1], size], nodes, constants);
}

const matmul = (given) =>
  graph(
    given,
    ['a', 'b'],
    [given.a.shape[0], given.b.shape[1]],
    [node('MatMul', ['a', 'b'], ['out'])],
  );

function chain(given) {
  const nodes = [
    node('Mul', ['x', 'y'], ['p']),
    node('Add', ['p', 'y'], ['q']),
    node('Tanh', ['q'], ['r']),
    node('Mul', ['r', 'x'], ['s']),
    node('Sub', ['s', 'y'], ['out']),
  ];
  return graph(given, ['x', 'y'], given.x.shape, nodes);
}

const softmax = (given) =>
  graph(given, ['x'], given.x.shape, [node('Softmax', ['x'], ['out'], { axis: -1 })]);

function layerNorm(given) {
  const inputs = ['x', 'gamma', 'beta'];
  const attributes = { axis: -1, epsilon: 1e-5 };
  const nodes = [node('LayerNormalization', inputs, ['out'], attributes)];
  return graph(given, ['x'], given.x.shape, nodes, pick(given, ['gamma', 'beta']));
}

const convolution = (given) =>
  graph(
    given,
    ['x'],
    given.x.shape,
    [node('Conv', ['x', 'w'], ['out'], padded)],
    pick(given, ['w']),
  );

export const models = {
  matmul,
  chain,
  softmax,
  layerNorm,
  attention,
  convolution,
  residualBlock,
  mlpForward,
  lstmForward,
};
