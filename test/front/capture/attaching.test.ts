import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

// Gradients that captured code attaches: the array keeps after each call what it keeps after the same eager call.

const { record } = kn.autograd;

interface Case {
  /** Code on an array whose gradient has been attached to be written. */
  readonly code: (s: kn.NDArray) => kn.NDArray;
  /** Results of two calls on [1, 2], and the gradients that they leave. */
  readonly calls: readonly (readonly [result: number, gradient: number])[];
}

const sumTimes = (s: kn.NDArray, factor: number): kn.NDArray => record(() => s.mul(factor).sum());

const cases: Readonly<Record<string, Case>> = {
  'after its first use in a recording': {
    code: (s) => {
      const loss = sumTimes(s, 3);
      s.attachGrad({ req: 'add' });
      loss.backward();
      return s.grad!.sum();
    },
    calls: [
      [6, 3],
      [6, 3],
    ],
  },
  'in another mode after it was assigned to': {
    code: (s) => {
      s.assign(s.mul(2));
      s.attachGrad({ req: 'add' });
      sumTimes(s, 2).backward();
      sumTimes(s, 10).backward();
      return s.sum();
    },
    calls: [
      [6, 12],
      [12, 12],
    ],
  },
  'in two modes after it was read': {
    code: (s) => {
      const before = s.grad!;
      s.attachGrad({ req: 'add' });
      sumTimes(s, 5).backward();
      s.attachGrad({ req: 'write' });
      sumTimes(s, 7).backward();
      return before.sum();
    },
    calls: [
      [0, 7],
      [14, 7],
    ],
  },
};

for (const [name, { code, calls }] of Object.entries(cases)) {
  const forms: Record<string, (s: kn.NDArray) => () => kn.NDArray> = {
    eager: (s) => () => code(s),
    'of an argument': (s) => {
      const f = kn.hybridize(code);
      return () => f(s);
    },
    'of an outer array': (s) => kn.hybridize(() => code(s)),
    'of an outer array, always verified': (s) => kn.hybridize(() => code(s), { verify: 'always' }),
    'of a static graph': (s) => kn.staticGraph(() => code(s)),
  };
  for (const [form, make] of Object.entries(forms)) {
    test(`a gradient is attached ${name}: ${form}`, () => {
      const s = kn.array([1, 2]);
      s.attachGrad();
      const call = make(s);
      for (const [result, gradient] of calls) {
        assert.equal(call().item(), result);
        assert.deepEqual(s.grad!.tolist(), [gradient, gradient]);
      }
    });
  }
}

test('a gradient is attached to an array that had none, after its first use', () => {
  for (const wrap of [(f: () => void): (() => void) => f, kn.hybridize]) {
    const s = kn.array([1, 2]);
    wrap(() => {
      const loss = sumTimes(s, 3);
      s.attachGrad();
      loss.backward();
    })();
    assert.deepEqual(s.grad!.tolist(), [3, 3]);
  }
});

test('code that fails while it is captured leaves attached gradients as they were', () => {
  const s = kn.array([1, 2]);
  s.attachGrad();
  sumTimes(s, 3).backward();
  const f = kn.hybridize(() => {
    s.attachGrad({ req: 'add' });
    return s.add(kn.ones([3]));
  });
  assert.throws(() => f(), kn.ShapeError);
  assert.deepEqual(s.grad!.tolist(), [3, 3]);
});
