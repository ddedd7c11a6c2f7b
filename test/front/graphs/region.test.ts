import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { type OperatorFunction, operator } from '../../../src/ops/declare/declare.js';
import type { Unary } from '../../../src/ops/signatures.js';
import { near, refuses } from '../support.js';

const { autograd } = kn;

function gradients(f: (x: kn.NDArray) => kn.NDArray, w: kn.NDArray): unknown {
  const x = kn.array([1, 2]);
  x.attachGrad();
  w.attachGrad();
  kn.random.seed(5);
  autograd.record(() => f(x).sum()).backward();
  return [x.grad!.tolist(), w.grad!.tolist()];
}

test('bodies of captured functions with their own gradient may use arrays from outside', () => {
  const w = kn.array([3, 4]);
  const scale = kn.array([10, 100]);
  const custom = kn.customGradient({
    forward: (x) => x.mul(scale),
    backward: ([g], { inputs: [x], outputs: [y] }) => g.mul(scale).add(x).add(y),
  });
  const f = (x: kn.NDArray): kn.NDArray => {
    const hidden = x.mul(w);
    return custom(hidden).mul(hidden);
  };
  near(gradients(kn.hybridize(f), w), gradients(f, w));
});

test('bodies may close over values of the code around them', () => {
  const w = kn.array([3, 4]);
  const f = kn.hybridize((x: kn.NDArray) => {
    const around = w.mul(2);
    const custom = kn.customGradient({
      forward: (v) => v.add(around),
      backward: ([g]) => g.mul(around),
    });
    return custom(x);
  });
  near(f(kn.array([1, 1])).tolist(), [7, 9]);
  // Nothing flows to what a body closes over: the rule speaks of its inputs only.
  near(gradients(f, w), [
    [6, 8],
    [0, 0],
  ]);
});

test('random draws inside a body are those of eager code', () => {
  const custom = kn.customGradient({
    forward: (x) => x.mul(kn.random.uniform([2])).add(kn.random.uniform([2])),
    backward: ([g]) => g.mul(2),
  });
  const f = (x: kn.NDArray): kn.NDArray => custom(x).add(kn.random.uniform([2]));
  const x = kn.array([1, 2]);
  const draw = (g: typeof f): unknown => {
    kn.random.seed(8);
    return [g(x).tolist(), g(x).tolist()];
  };
  near(draw(kn.hybridize(f)), draw(f), 1e-6);
});

test('state cannot be written in a body that has no way to hand it back', () => {
  const state = kn.array([1, 2]);
  const custom = kn.customGradient({
    forward: (x) => {
      state.assign(x);
      return x.mul(2);
    },
    backward: ([g]) => g,
  });
  refuses(
    () => kn.hybridize(custom)(kn.array([3, 4])),
    kn.UnsupportedError,
    'cannot be returned',
    'assign it outside',
  );
  assert.deepEqual(state.tolist(), [1, 2]);
  state.attachGrad();
  const passing = kn.customGradient({
    forward: (x) => {
      autograd.record(() => state.mul(x)).backward();
      return x;
    },
    backward: ([g]) => g,
  });
  refuses(() => kn.hybridize(passing)(kn.array([3, 4])), kn.UnsupportedError, 'cannot be returned');
});

test('a body with its own gradient may count its draws, but not let loops draw', () => {
  const custom = kn.customGradient({
    forward: (x) => kn.foreach((row, none) => [row.mul(kn.random.uniform([])), none], x, [])[0],
    backward: ([g]) => g,
  });
  assert.deepEqual(custom(kn.ones([3, 2])).shape, [3, 2]);
  refuses(() => kn.hybridize(custom)(kn.ones([3, 2])), kn.UnsupportedError, 'draw outside');
});

test('a size that only the data decides is not there while tracing', () => {
  const some: OperatorFunction<Unary> = operator<Unary, Record<string, never>>({
    name: 'some',
    family: 'structure',
    attributes: {},
    call: (x) => ({ inputs: [x], attributes: {} }),
    infer: ({ inputs: [x], fresh }) => [{ dtype: x.dtype, shape: [fresh('count')] }],
    gradient: 'none',
    lowering: { kind: 'view' },
    samples: [],
  });
  for (const read of [(y: kn.NDArray) => y.shape[0], (y: kn.NDArray) => y.size]) {
    const f = kn.hybridize((x: kn.NDArray) => {
      read(some(x));
      return x;
    });
    const error = refuses(
      () => f(kn.array([1])),
      kn.TraceError,
      'only the data decides',
      'shapeOf',
    );
    assert.match(error.source ?? '', /region\.test/);
  }
  const typed = kn.hybridize((x: kn.NDArray) => [some(x).ndim, some(x).dtype]);
  assert.deepEqual(typed(kn.array([1])), [1, 'float32']);
});
