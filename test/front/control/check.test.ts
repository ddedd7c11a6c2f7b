import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toOnnx } from '../../../src/onnx.js';
import * as kn from '../../../src/index.js';

/* A condition that does not hold is refused where the program comes to it, and nowhere else. */

const int = (value: number): kn.NDArray => kn.array(value, { dtype: 'int32' });

function refused(run: () => unknown): kn.CheckError {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof kn.CheckError, String(error));
    return error;
  }
  assert.fail('nothing was thrown');
}

test('eager code throws at once, and names the first element', () => {
  kn.check(true, 'never');
  kn.check(kn.array([[true, true]]), 'never');
  kn.check(kn.zeros([0]).greater(0), 'nothing to check');
  const error = refused(() => kn.check(kn.array([[1, 2], [-1, -2]]).greater(0), 'x is negative')); // prettier-ignore
  assert.equal(error.problem, 'x is negative');
  assert.equal(error.code, 'KAON_CHECK');
  assert.equal(error.op, 'check');
  assert.equal(error.actual, 'element [1, 0] is false');
  assert.match(error.source!, /check\.test\./);
  assert.equal(refused(() => kn.check(false, 'no')).problem, 'no');
  assert.equal(refused(() => kn.check(kn.array(false), 'no')).actual, 'the condition is false');
});

test('wrong arguments are refused in every mode', () => {
  const wrong = (run: () => void): void => {
    for (const each of [run, () => kn.deferredCompute(run)]) assert.throws(each, kn.KaonError);
  };
  wrong(() => kn.check(kn.array([1]), 'a number is no condition'));
  wrong(() => kn.check(1 as never, 'neither'));
  wrong(() => kn.check(true, undefined as never));
});

for (const save of ['all', 'none'] as const) {
  test(`a captured check refuses some calls and leaves results and gradients alone, saving ${save}`, () => {
    const f = kn.hybridize(
      (x: kn.NDArray) => {
        kn.check(x.exp().sum().less(100), 'the sum is too large');
        return x.mul(x).sum();
      },
      { save },
    );
    const x = kn.array([1, 2, 3]);
    x.attachGrad();
    for (let round = 0; round < 5; round++) {
      const loss = kn.autograd.record(() => f(x));
      loss.backward();
      assert.equal(loss.item(), 14);
      assert.deepEqual(x.grad!.tolist(), [2, 4, 6]);
    }
    const large = kn.array([1, 2, 30]);
    for (const run of [() => f(large), () => kn.autograd.record(() => f(large))]) {
      const error = refused(run);
      assert.equal(error.problem, 'in captured code: the sum is too large');
      assert.match(error.source!, /check\.test\./);
    }
    assert.equal(f(x).item(), 14);
  });
}

test('gradients through captured checks are those without, of second order too', () => {
  const cube = (x: kn.NDArray): kn.NDArray => {
    kn.check(x.tanh().sum().greater(-9), 'impossible');
    return x.mul(x).mul(x).sum();
  };
  const second = kn.hybridize((x: kn.NDArray) =>
    kn.grad((v: kn.NDArray) => kn.grad(cube)(v).sum())(x),
  );
  assert.deepEqual(second(kn.array([1, 2])).tolist(), [6, 12]);
});

test('in loops the error names iterations and element, and counts all loops around', () => {
  const f = kn.hybridize((rows: kn.NDArray, limit: kn.NDArray) => {
    const [, total] = kn.foreach(
      (row: kn.NDArray, sum: kn.NDArray) => {
        const [, [, inner]] = kn.whileLoop(
          (i: kn.NDArray) => i.less(3),
          (i: kn.NDArray, s: kn.NDArray) => {
            kn.check(row.add(i).less(limit), 'over the limit');
            return [[], [i.add(1), s.add(row.sum())]];
          },
          [int(0), sum],
        );
        return [[], inner];
      },
      rows,
      kn.zeros([]),
    );
    return total;
  });
  const rows = kn.array([[1, 2], [3, 1], [2, 4]]); // prettier-ignore
  assert.equal(f(rows, kn.array(100)).item(), 39);
  const error = refused(() => f(rows, kn.array(5)));
  assert.equal(
    error.problem,
    'in captured code, iteration 1 of foreach, iteration 2 of whileLoop: over the limit',
  );
  assert.equal(error.actual, 'element [0] is false');
});

test('in branches only the one that runs checks', () => {
  const f = kn.hybridize((x: kn.NDArray) =>
    kn.cond(
      x.greater(0),
      () => {
        kn.check(x.less(10), 'too large');
        return x;
      },
      () => {
        kn.check(x.greater(-10), 'too small');
        return x.neg();
      },
    ),
  );
  assert.equal(f(kn.array(5)).item(), 5);
  assert.equal(f(kn.array(-5)).item(), 5);
  assert.match(refused(() => f(kn.array(11))).problem, /: too large$/);
  assert.match(refused(() => f(kn.array(-11))).problem, /: too small$/);
});

test('loops and branches whose results nobody reads still check', () => {
  const f = kn.hybridize((x: kn.NDArray) => {
    kn.cond(
      x.sum().greater(0),
      () => {
        kn.check(x.less(10), 'in a branch');
        return x;
      },
      () => x,
    );
    kn.foreach(
      (row: kn.NDArray) => {
        kn.check(row.greater(-10), 'in a loop');
        return [row, []];
      },
      x,
      [],
    );
    return x.add(1);
  });
  assert.deepEqual(f(kn.array([1, 2])).tolist(), [2, 3]);
  assert.match(refused(() => f(kn.array([1, 12]))).problem, /: in a branch$/);
  assert.match(refused(() => f(kn.array([1, -12]))).problem, /iteration 1 of foreach: in a loop$/);
});

test('inside of another captured function, of checkpoint and of a gradient, checks stay', () => {
  const inner = kn.hybridize((x: kn.NDArray) => {
    kn.check(x.exp().less(10), 'inner');
    return x.mul(2);
  });
  const outer = kn.hybridize((x: kn.NDArray) => {
    inner(x);
    return x.add(1);
  });
  const checkpointed = kn.hybridize((x: kn.NDArray) => kn.checkpoint(inner)(x));
  for (const f of [outer, checkpointed]) {
    f(kn.array(1));
    assert.match(refused(() => f(kn.array(9))).problem, /: inner$/);
  }
});

test('conditions of captured loops check, and refuse positions', () => {
  const f = kn.hybridize((table: kn.NDArray, end: kn.NDArray) => {
    const [, , count] = kn.whileLoop(
      (i: kn.NDArray) => table.take(i, { axis: 0 }).less(end),
      (i: kn.NDArray) => [[], i.add(1)],
      int(0),
    );
    return count;
  });
  const limited = kn.hybridize((table: kn.NDArray) => {
    const [, , count] = kn.whileLoop(
      (i: kn.NDArray) => {
        kn.check(table.take(i, { axis: 0 }).less(9), 'nine');
        return kn.array(true);
      },
      (i: kn.NDArray) => [[], i.add(1)],
      int(0),
      { maxIterations: 3 },
    );
    return count;
  });
  const table = kn.array([1, 2, 3]);
  assert.equal(f(table, kn.array(3)).item(), 2);
  assert.throws(() => f(table, kn.array(9)), /index 3 is outside the axis/);
  // After the last iteration the condition is not evaluated, in which a position would be outside.
  assert.equal(limited(table).item(), 3);
  assert.match(refused(() => limited(kn.array([1, 9, 1]))).problem, /: nine$/);
});

test('nothing is written where a check refuses', () => {
  const state = kn.zeros([]);
  const f = kn.hybridize((x: kn.NDArray) => {
    state.assign(state.add(1));
    kn.check(x.exp().sum().less(100), 'too large');
    return x;
  });
  f(kn.array([1]));
  refused(() => f(kn.array([9])));
  assert.equal(state.item(), 1);
});

test('a deferred check throws when what is captured with it is computed, and is part of exported graphs', () => {
  const x = kn.array([1, -1]);
  const deferred = (): { before: kn.NDArray; after: kn.NDArray } =>
    kn.deferredCompute(() => {
      const before = x.mul(2);
      kn.check(x.greater(0), 'not positive');
      return { before, after: x.mul(3) };
    });
  for (const [name, factor] of [
    ['before', 2],
    ['after', 3],
  ] as const) {
    assert.match(refused(() => deferred()[name].tolist()).message, /not positive/);
    const graph = kn.exportGraph({ inputs: { x }, outputs: { y: deferred()[name] } });
    const saved = kn.StaticGraph.fromJSON(JSON.stringify(graph.toJSON()));
    for (const each of [graph, saved]) {
      const y = each.run({ x: kn.array([1, 2]) }).y;
      assert.deepEqual(y.tolist(), [factor, 2 * factor]);
      assert.match(refused(() => each.run({ x })).problem, /: not positive$/);
    }
  }
});

test('deferred branches and loops check when they are computed, and refuse positions', () => {
  const deferred = (x: kn.NDArray, at: kn.NDArray): kn.NDArray =>
    kn.deferredCompute(() =>
      kn.cond(
        x.sum().greater(0),
        () => {
          kn.check(x.less(10), 'too large');
          return kn.foreach((i: kn.NDArray) => [x.take(i), []], at, [])[0];
        },
        () => x,
      ),
    );
  const at = kn.array([1, 0], { dtype: 'int32' });
  assert.deepEqual(deferred(kn.array([1, 2]), at).tolist(), [2, 1]);
  assert.deepEqual(deferred(kn.array([-1, 20, -30]), at).tolist(), [-1, 20, -30]);
  assert.match(refused(() => deferred(kn.array([1, 20]), at).tolist()).message, /too large/);
  assert.throws(() => deferred(kn.array([1, 2]), at.add(1)).tolist(), /iteration 0 of foreach: index 2 is outside the axis/); // prettier-ignore
});

test('ONNX refuses checks, and leaves them out where asked', () => {
  const f = kn.hybridize((x: kn.NDArray) => {
    kn.check(x.exp().less(10), 'too large');
    return x.add(1);
  });
  const graph = f.graphFor(kn.array([1]));
  assert.throws(() => toOnnx(graph), { name: 'UnsupportedError', op: 'toOnnx' });
  const bytes = toOnnx(graph, { checks: 'omit', check: { [graph.inputNames[0]]: kn.array([1]) } });
  assert.ok(bytes.length > 0);
});

test('equal checks are one, and different messages are two', () => {
  const f = kn.hybridize((x: kn.NDArray) => {
    kn.check(x.exp().less(10), 'a');
    kn.check(x.exp().less(10), 'a');
    kn.check(x.exp().less(20), 'b');
    return x;
  });
  assert.match(refused(() => f(kn.array(2.5))).problem, /: a$/);
  assert.equal(f(kn.array(1)).item(), 1);
});

/** Rows whose sizes do not agree where an element is twice as large as another one. */
const disagreeing = (x: kn.NDArray): kn.NDArray =>
  kn.foreach((row: kn.NDArray) => [x.booleanMask(x.greater(row)), []], x, [])[0].sum();

for (const when of ['before', 'behind', 'within a loop before'] as const) {
  test(`a check ${when} what has no size for all rows is refused in the order of eager code`, () => {
    const check = (x: kn.NDArray): void => kn.check(x.exp().sum().less(100), 'the sum is too large'); // prettier-ignore
    const code = (x: kn.NDArray): kn.NDArray => {
      if (when === 'before') check(x);
      if (when === 'within a loop before') {
        kn.foreach(
          (row: kn.NDArray) => {
            check(row.mul(2));
            return [row, []];
          },
          x,
          [],
        );
      }
      const y = disagreeing(x);
      if (when === 'behind') check(x);
      return y;
    };
    const captured = kn.hybridize(code);
    for (const record of [false, true]) {
      for (const values of [
        [1, 1],
        [1, 2],
        [1, 30],
        [30, 30],
        [0, 1, 2, 30],
      ]) {
        const of = (f: (x: kn.NDArray) => kn.NDArray): unknown => {
          const x = kn.array(values);
          x.attachGrad();
          try {
            return (record ? kn.autograd.record(() => f(x)) : f(x)).item();
          } catch (error) {
            assert.ok(error instanceof kn.KaonError);
            return error.name;
          }
        };
        assert.deepEqual(of(captured), of(code), values.join());
      }
    }
  });
}

const unread: Readonly<Record<string, (x: kn.NDArray, check: (x: kn.NDArray) => void) => void>> = {
  foreach: (x, check) => {
    kn.foreach(
      (row: kn.NDArray) => {
        check(row);
        return [[], []];
      },
      x,
      [],
    );
  },
  cond: (x, check) => {
    kn.cond(
      x.sum().greater(0),
      () => {
        check(x);
        return [];
      },
      () => [],
    );
  },
  whileLoop: (x, check) => {
    const body = (i: kn.NDArray): [never[], kn.NDArray] => {
      check(x.mul(i.add(1)));
      return [[], i.add(1)];
    };
    kn.whileLoop((i: kn.NDArray) => i.less(2), body, int(0));
  },
};

for (const [name, form] of Object.entries(unread)) {
  test(`a check in ${name} is made where nothing else is`, () => {
    const code = (x: kn.NDArray): kn.NDArray => {
      form(x, (y) => kn.check(y.exp().sum().less(100), 'the sum is too large'));
      return x.sum();
    };
    const captured = kn.hybridize(code);
    const inner = kn.hybridize((x: kn.NDArray) => captured(x).mul(2));
    for (const f of [captured, inner, kn.staticGraph(code)]) {
      assert.ok(Number(f(kn.array([1, 1])).item()) >= 2);
      assert.match(refused(() => f(kn.array([1, 30]))).problem, /the sum is too large/);
    }
    assert.match(
      refused(() => kn.deferredCompute(() => code(kn.array([1, 30]))).item()).problem,
      /large/,
    );
  });
}
