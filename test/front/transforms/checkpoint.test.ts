import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near } from '../support.js';

/* Recomputation must not show: everything is compared with the same code without `checkpoint`. */

const { autograd, nn } = kn;

type Fn = (x: kn.NDArray) => kn.NDArray;
type Wrap = (fn: Fn) => Fn;

const state = (values: number[]): kn.NDArray => {
  const array = kn.array(values);
  array.attachGrad({ req: 'null' });
  return array;
};

interface Code {
  readonly forward: Fn;
  /** What is compared beside results and gradients. */
  readonly state: readonly kn.NDArray[];
}

const codes: Readonly<Record<string, (wrap: Wrap) => Code>> = {
  'batch norm': (wrap) => {
    const norm = new nn.BatchNorm();
    norm.initialize();
    norm.call(kn.ones([2, 2]));
    return {
      forward: wrap((x) =>
        norm
          .call(x)
          .mul(norm.runningMean.value)
          .add(norm.call(x.mul(3))),
      ),
      state: [...norm.parameters().values()].map(({ value }) => value),
    };
  },
  dropout: (wrap) => {
    const dropout = new nn.Dropout(0.5);
    return { forward: wrap((x) => dropout.call(dropout.call(x).sin().mul(x))), state: [] };
  },
  'a counter': (wrap) => {
    const count = state([1]);
    const forward = wrap((x) => {
      const before = x.mul(count);
      count.assign(count.add(1));
      return before.mul(x).mul(count);
    });
    return { forward, state: [count] };
  },
  'a counter that is only read with gradients stopped': (wrap) => {
    const count = state([1]);
    const forward = wrap((x) => {
      const scale = autograd.pause(() => count.mul(10));
      autograd.pause(() => count.assign(count.add(1)));
      return x.mul(x).mul(scale);
    });
    return { forward, state: [count] };
  },
  'a checkpoint inside': (wrap) => {
    const count = state([1]);
    const inner = wrap((x) => x.mul(x).mul(count));
    const forward = wrap((x) => {
      const first = inner(x);
      count.assign(count.add(1));
      const second = inner(x);
      count.assign(count.add(1));
      return first.mul(second);
    });
    return { forward, state: [count] };
  },
  'pinned state': (wrap) => {
    const count = state([1]);
    count.pin();
    const bump = kn.hybridize(() => count.assign(count.add(1)));
    const forward = wrap((x) => {
      const before = x.mul(count);
      bump();
      return before.mul(x).mul(count);
    });
    return { forward, state: [count] };
  },
};

interface Observed {
  /** Results and gradients, which sums in another order may round otherwise. */
  readonly numbers: unknown[];
  readonly rest: unknown[];
}

/** Two calls of the code in one recording, then gradients of first and second order; everything seen. */
function observe(make: (wrap: Wrap) => Code, wrap: Wrap): Observed {
  kn.random.seed(5);
  const code = make(wrap);
  const x = kn.array([
    [1, 2],
    [3, 5],
  ]);
  x.attachGrad();
  const seen: Observed = { numbers: [], rest: [] };
  const note = (...arrays: readonly kn.NDArray[]): void => {
    seen.numbers.push(arrays.map((array) => array.tolist()));
    seen.rest.push(
      code.state.map((array) => array.tolist()),
      kn.random.getState(),
      autograd.isTraining(),
    );
  };
  const total = autograd.record(() => code.forward(code.forward(x)).square().sum());
  note(total);
  total.backward(undefined, { retainGraph: true });
  note(x.grad!);
  total.backward();
  note(x.grad!);
  const twice = autograd.record(() => {
    const [slope] = autograd.grad([code.forward(x).sin().sum()], [x], { createGraph: true });
    note(slope);
    return slope.square().sum();
  });
  twice.backward();
  note(x.grad!);
  note(code.forward(x));
  return seen;
}

for (const [name, make] of Object.entries(codes)) {
  test(`checkpoint: ${name}, first and second order`, () => {
    const [actual, expected] = [kn.checkpoint as Wrap, (fn: Fn) => fn].map((wrap) => observe(make, wrap)); // prettier-ignore
    near(actual.numbers, expected.numbers);
    assert.deepEqual(actual.rest, expected.rest);
  });
}

test('the pass reads state that was written since the call as the call read it', () => {
  const scale = state([2]);
  const x = kn.array([3]);
  x.attachGrad();
  const y = autograd.record(() => kn.checkpoint((v: kn.NDArray) => v.mul(scale))(x));
  scale.assign(kn.array([5]));
  y.backward();
  assert.deepEqual([x.grad!.tolist(), scale.tolist()], [[2], [5]]);
});

test('what the function reads takes part in the recording, and may change when that is over', () => {
  const [x, w, c, idle] = [3, 2, 4, 7].map((value) => kn.array([value]));
  for (const array of [x, w, idle]) array.attachGrad();
  const fn = kn.checkpoint((v: kn.NDArray) => {
    idle.mul(2);
    return v.mul(w).mul(c);
  });
  const train = (): void => {
    const y = autograd.record(() => fn(x));
    assert.throws(() => c.assign(kn.array([0])), kn.ArgumentError);
    assert.throws(() => w.assign(kn.array([0])), kn.ArgumentError);
    y.backward();
  };
  autograd.record(() => idle.mul(3)).backward();
  train();
  assert.deepEqual([x, w, idle].map(({ grad }) => grad!.tolist()), [[8], [12], [0]]); // prettier-ignore
  w.assign(kn.array([1]));
  c.assign(kn.array([1]));
  train();
  assert.deepEqual(
    [x, w].map(({ grad }) => grad!.tolist()),
    [[1], [3]],
  );
});

test('an argument that the function uses by another name as well', () => {
  const f = (wrap: Wrap) => (x: kn.NDArray) =>
    wrap((y) => y.mul(x).add(wrap((z) => z.mul(x).mul(y))(y).sin()))(x).sum();
  const x = kn.array([1, 2]);
  for (const orders of [1, 2, 3]) {
    const [expected, actual] = [f((fn) => fn), f(kn.checkpoint)].map((code) => {
      let slope = code;
      for (let k = 0; k < orders; k++) {
        const before = slope;
        slope = (y) => kn.grad(before)(y).sum();
      }
      return slope(x).item();
    });
    near(actual, expected, 1e-4);
  }
});

test('a loop that keeps nothing starts from what its body also reads', () => {
  const x = kn.ones([1]);
  const f = (save: 'all' | 'none') => (start: kn.NDArray) => {
    const outer = (_: kn.NDArray, s: kn.NDArray): [kn.NDArray, kn.NDArray] => {
      const inner = (_: kn.NDArray, t: kn.NDArray): [never[], kn.NDArray] => [[], t.add(s)];
      return [s, kn.foreach(inner, kn.ones([2]), s, { save })[1]];
    };
    return kn.foreach(outer, kn.ones([3]), start, { save })[0].sum();
  };
  // Each state is three times the one before.
  for (const save of ['all', 'none'] as const) {
    assert.deepEqual(kn.grad(f(save))(x).tolist(), [1 + 3 + 9]);
  }
});

test('where no gradient flows there is none, which zeros times an infinite slope are not', () => {
  const x = kn.ones([2]);
  // The slope of acosh at 1 is infinite.
  const both = kn.checkpoint((v: kn.NDArray) => [kn.acosh(v), v.mul(3)]);
  assert.deepEqual(
    kn
      .grad((v: kn.NDArray) => both(v)[1].sum())(x)
      .tolist(),
    [3, 3],
  );
  const loop = (iterations: number) => (v: kn.NDArray) => {
    const [, [, other]] = kn.foreach(
      (_, [, t]): [never[], [kn.NDArray, kn.NDArray]] => [[], [kn.acosh(v), t.add(v)]],
      kn.ones([iterations]),
      [kn.acosh(v), v.mul(3)] as [kn.NDArray, kn.NDArray],
      { save: 'none' },
    );
    return other.sum();
  };
  assert.deepEqual(kn.grad(loop(2))(x).tolist(), [5, 5]);
  assert.deepEqual(kn.grad(loop(0))(x).tolist(), [3, 3]);
});

test('a function that closes over a variable which its own results take over is refused', () => {
  const x = kn.array([1, 2]);
  x.attachGrad();
  let h = x.mul(1);
  const step = kn.checkpoint((a: kn.NDArray) => a.mul(h));
  const loss = kn.autograd.record(() => {
    h = x.mul(2);
    h = step(x);
    return h.sum();
  });
  assert.throws(() => loss.backward(), {
    name: 'ArgumentError',
    op: 'checkpoint',
    message: /depends on its own results/,
  });
});
