/** Optimizers in plain numbers, one weight at a time, written from their published rules. */

import * as kn from '../../../src/index.js';

/** The update of one weight: it keeps its own state, and counts its own updates. */
export type Rule = (weight: number, gradient: number) => number;

/** Adam at a rate of 0.1 with a beta1 of 0.9. */
export function adamOf(beta2: number, epsilon: number): Rule {
  let [m, v, t] = [0, 0, 0];
  return (w, g) => {
    t++;
    m = 0.9 * m + 0.1 * g;
    v = beta2 * v + (1 - beta2) * g * g;
    return w - (0.1 * (m / (1 - 0.9 ** t))) / (Math.sqrt(v / (1 - beta2 ** t)) + epsilon);
  };
}

export const rules: Readonly<Record<string, () => Rule>> = {
  sgd: () => (w, g) => w - 0.1 * g,
  momentum() {
    let v = 0;
    return (w, g) => w - 0.1 * (v = 0.9 * v + g + 0.01 * w);
  },
  adam: () => adamOf(0.99, 1e-3),
  adamW() {
    let [m, v, t] = [0, 0, 0];
    return (w, g) => {
      t++;
      m = 0.9 * m + 0.1 * g;
      v = 0.99 * v + 0.01 * g * g;
      const step = (0.1 * (m / (1 - 0.9 ** t))) / (Math.sqrt(v / (1 - 0.99 ** t)) + 1e-3);
      return w * (1 - 0.1 * 0.05) - step;
    };
  },
  rmsProp() {
    let v = 0;
    return (w, g) => {
      v = 0.9 * v + 0.1 * g * g;
      return w - (0.1 * g) / (Math.sqrt(v) + 1e-3);
    };
  },
  adagrad() {
    let v = 0;
    return (w, g) => w - (0.1 * g) / (Math.sqrt((v += g * g)) + 1e-3);
  },
  lion() {
    let m = 0;
    return (w, g) => {
      const step = Math.sign(0.9 * m + 0.1 * g);
      m = 0.99 * m + 0.01 * g;
      return w - 0.1 * (step + 0.01 * w);
    };
  },
};

export type Parameters = ReadonlyMap<string, kn.nn.Parameter>;

/** An optimizer for each of the rules, by name. */
export const makers: Readonly<Record<string, (parameters: Parameters) => kn.optim.Optimizer>> = {
  sgd: (p) => new kn.optim.SGD(p, { learningRate: 0.1 }),
  momentum: (p) => new kn.optim.SGD(p, { learningRate: 0.1, momentum: 0.9, weightDecay: 0.01 }),
  adam: (p) => new kn.optim.Adam(p, { learningRate: 0.1, beta2: 0.99, epsilon: 1e-3 }),
  adamW: (p) =>
    new kn.optim.AdamW(p, { learningRate: 0.1, beta2: 0.99, epsilon: 1e-3, weightDecay: 0.05 }),
  rmsProp: (p) => new kn.optim.RMSProp(p, { learningRate: 0.1, decay: 0.9, epsilon: 1e-3 }),
  adagrad: (p) => new kn.optim.Adagrad(p, { learningRate: 0.1, epsilon: 1e-3 }),
  lion: (p) => new kn.optim.Lion(p, { learningRate: 0.1, weightDecay: 0.01 }),
};
