import * as kn from '../../src/index.js';
import type { Declaration } from '../../src/ops/declare/declare.js';
import * as operators from '../../src/ops/index.js';
import type { SizeAction } from './dynamic.js';

/** What a step may call. Results are an array, a list of arrays or a record of them. */
export type Callable = (...args: readonly unknown[]) => unknown;

const dropout = new kn.nn.Dropout(0.4);

const scaledTanh = kn.checkpoint((x: kn.NDArray) => x.tanh().mul(x).mul(0.5));

const halvedSine = kn.customGradient({
  forward: (x: kn.NDArray) => x.sin(),
  backward: ([grad], { inputs: [x] }) => grad.mul(x.cos()).mul(0.5),
});

const inner = kn.hybridize((x: kn.NDArray) => x.mul(0.5).add(x.sigmoid()));

/** What programs do beside calling operators. */
const actions: Readonly<Record<string, Callable>> = {
  assign: (target, value) => {
    (target as kn.NDArray).assign(value as kn.NDArray);
    return [];
  },
  detach: (x) => (x as kn.NDArray).detach(),
  dropout: (x) => dropout.call(x as kn.NDArray),
  checkpoint: (x) => scaledTanh(x as kn.NDArray),
  customGradient: (x) => halvedSine(x as kn.NDArray),
  hybridized: (x) => inner(x as kn.NDArray),
  'random.normal': (shape) => kn.random.normal(shape as number[]),
  'random.uniform': (shape) => kn.random.uniform(shape as number[]),
  'random.bernoulli': (shape) => kn.random.bernoulli(shape as number[], { dtype: 'float32' }),
};

export const actionNames: readonly string[] = Object.keys(actions);

/** Operators and creation functions that are given sizes as arrays. */
const bySizes: Readonly<Record<SizeAction, Callable>> = {
  zerosBy: (sizes) => kn.zeros(sizes as kn.NDArray),
  onesBy: (sizes) => kn.ones(sizes as kn.NDArray),
  arangeBy: (stop) => kn.arange(stop as kn.NDArray),
  reshapeBy: (x, shape) => kn.reshape(x as kn.NDArray, shape as kn.NDArray),
  broadcastBy: (x, shape) => kn.broadcastTo(x as kn.NDArray, shape as kn.NDArray),
};

/** Everything that can be called, by name. */
export const calls: ReadonlyMap<string, Callable> = new Map([
  ...Object.entries(actions),
  ...Object.entries(bySizes),
  ...Object.values(operators).flatMap((exported) =>
    typeof exported === 'function' && 'declaration' in exported
      ? [[(exported.declaration as Declaration).name, exported as Callable] as const]
      : [],
  ),
]);

/** The arrays of a call's result, in order. */
export function resultArrays(result: unknown): kn.NDArray[] {
  if (result instanceof kn.NDArray) return [result];
  return Object.values(result as object) as kn.NDArray[];
}
