import * as kn from '../../../../src/index.js';
import type { Fn } from '../programs.js';

/** The shape and elements of a function's result, and the gradients of a weighted sum of it. */
export function outcome(
  f: Fn,
  value: number,
  rows: kn.NDArray,
): Readonly<Record<'shape' | 'y' | 'a' | 'rows', unknown>> {
  const [a, r] = [kn.array(value), rows.mul(1)];
  a.attachGrad();
  r.attachGrad();
  const y = f(a, r);
  const weights = kn
    .arange(y.size)
    .reshape(y.shape as number[])
    .add(1);
  const x = kn.autograd.record(() => f(a, r).mul(weights).sum());
  x.backward();
  return { shape: y.shape, y: y.tolist(), a: a.grad!.tolist(), rows: r.grad!.tolist() };
}
