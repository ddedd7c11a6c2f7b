// The networks that the benchmark trains, in plain float64 loops.
import { add, causalAttention, convolution, dense, layerNorm, maxPool, relu } from './layers.mjs';
import { crossEntropy } from './memory.mjs';

/** Names of the parameters of a layer of a transformer; those of layer 0 are called `0.gamma1` and so on. */
const layerNames =
  'gamma1 beta1 wq bq wk bk wv bv wo bo gamma2 beta2 w1 b1 w2 b2'.split(' '); // prettier-ignore

/** Shapes of the parameters of a transformer, by name: those of its layers, then the last norm and the scores. */
export function transformerShapes({ layers, width, hidden, classes }) {
  const matrices = {
    wq: [width, width],
    wk: [width, width],
    wv: [width, width],
    wo: [width, width],
    w1: [width, hidden],
    b1: [hidden],
    w2: [hidden, width],
  };
  const shapes = {};
  for (let layer = 0; layer < layers; layer++) {
    for (const name of layerNames) shapes[`${layer}.${name}`] = matrices[name] ?? [width];
  }
  return { ...shapes, gamma: [width], beta: [width], w: [width, classes], b: [classes] };
}

/** One layer: attention and a perceptron, each after a norm and beside what it is added to. */
function transformerLayer(x, parameters, layer, sizes) {
  const grads = {};
  /** A layer with parameters of so many names, whose `back` gives the gradient by the input and keeps the others. */
  const part = (make, input, ...names) => {
    const own = names.map((name) => `${layer}.${name}`);
    const { y, back } = make(input, ...own.map((name) => parameters[name]));
    return {
      y,
      back: (dy) => {
        const [dx, ...others] = back(dy);
        own.forEach((name, i) => (grads[name] = others[i]));
        return dx;
      },
    };
  };
  const norm = part(layerNorm, x, 'gamma1', 'beta1');
  const projected = ['q', 'k', 'v'].map((one) => part(dense, norm.y, `w${one}`, `b${one}`));
  const mixed = causalAttention(...projected.map(({ y }) => y), sizes);
  const out = part(dense, mixed.y, 'wo', 'bo');
  const attended = add(x, out.y);
  const innerNorm = part(layerNorm, attended, 'gamma2', 'beta2');
  const inner = part(dense, innerNorm.y, 'w1', 'b1');
  const active = part(relu, inner.y);
  const outer = part(dense, active.y, 'w2', 'b2');
  const back = (dy) => {
    const dNorm = inner.back(active.back(outer.back(dy)));
    const dAttended = add(dy, innerNorm.back(dNorm));
    const dMixed = mixed.back(out.back(dAttended));
    const dNormed = projected.map((each, i) => each.back(dMixed[i])).reduce(add);
    return { dx: add(dAttended, norm.back(dNormed)), grads };
  };
  return { y: add(attended, outer.y), back };
}

/** The mean cross-entropy of a transformer over (batch * time, width), and what gives its gradients by the parameters. */
export function transformerLoss(parameters, x, labels, sizes) {
  const layers = [];
  let value = Float64Array.from(x);
  for (let layer = 0; layer < sizes.layers; layer++) {
    layers.push(transformerLayer(value, parameters, layer, sizes));
    value = layers.at(-1).y;
  }
  const norm = layerNorm(value, parameters.gamma, parameters.beta);
  const scores = dense(norm.y, parameters.w, parameters.b);
  const { loss, grad } = crossEntropy(scores.y, labels, sizes.classes);
  const gradients = () => {
    const [dNorm, w, b] = scores.back(grad);
    const [dValue, gamma, beta] = norm.back(dNorm);
    const grads = { w, b, gamma, beta };
    let dy = dValue;
    for (const layer of layers.toReversed()) {
      const { dx, grads: own } = layer.back(dy);
      Object.assign(grads, own);
      dy = dx;
    }
    return grads;
  };
  return { loss, gradients };
}

/** Shapes of the parameters of a convolutional network, by name. */
export function convolutionalShapes({ side, channels: [inputs, first, second], classes }) {
  return {
    w0: [first, inputs, 3, 3],
    b0: [first],
    w1: [second, first, 3, 3],
    b1: [second],
    w2: [second * (side / 4) ** 2, classes],
    b2: [classes],
  };
}

/** The same of a convolutional network: twice convolution, rectification and pooling, then scores. */
export function convolutionalLoss(parameters, x, labels, { batch, side, channels, classes }) {
  let value = Float64Array.from(x);
  const parts = [];
  for (const layer of [0, 1]) {
    const sizes = {
      batch,
      inputs: channels[layer],
      outputs: channels[layer + 1],
      side: side >> layer,
    };
    const convolved = convolution(value, parameters[`w${layer}`], parameters[`b${layer}`], sizes);
    const active = relu(convolved.y);
    const pooled = maxPool(active.y, sizes.side);
    parts.push({ convolved, active, pooled });
    value = pooled.y;
  }
  const scores = dense(value, parameters.w2, parameters.b2);
  const { loss, grad } = crossEntropy(scores.y, labels, classes);
  const gradients = () => {
    const [dValue, w2, b2] = scores.back(grad);
    const grads = { w2, b2 };
    let dy = dValue;
    for (const [layer, { convolved, active, pooled }] of [...parts.entries()].toReversed()) {
      const [dActive] = pooled.back(dy);
      const [dConvolved] = active.back(dActive);
      const [dx, w, b] = convolved.back(dConvolved);
      Object.assign(grads, { [`w${layer}`]: w, [`b${layer}`]: b });
      dy = dx;
    }
    return grads;
  };
  return { loss, gradients };
}

/** The losses of so many steps of gradient descent, each before its update, for `lossOf(parameters)` as above. */
export function losses(lossOf, start, rate, count) {
  const parameters = Object.fromEntries(
    Object.entries(start).map(([name, data]) => [name, Float64Array.from(data)]),
  );
  return Float64Array.from({ length: count }, (_, step) => {
    const { loss, gradients } = lossOf(parameters);
    if (step === count - 1) return loss;
    for (const [name, gradient] of Object.entries(gradients())) {
      gradient.forEach((value, i) => (parameters[name][i] -= rate * value));
    }
    return loss;
  });
}
