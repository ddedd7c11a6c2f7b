import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near } from '../support.js';

/* State that loops and branches write is left as eager code leaves it. */

const { autograd, nn, optim } = kn;

type Wrap = <A extends kn.NDArray[], R>(fn: (...args: A) => R) => (...args: A) => R;

/** What a scenario gives in each form, which must be one and the same; and as often as it is called. */
function same(line: string, scenario: (wrap: Wrap) => unknown): void {
  const forms: Readonly<Record<string, Wrap>> = {
    hybridized: (fn) => kn.hybridize(fn, { verify: 'always' }),
    'a static graph': (fn) => kn.staticGraph(fn),
    'hybridized inside of another': (fn) => kn.hybridize(kn.hybridize(fn)),
    'hybridized and recorded': (fn) => {
      const hybrid = kn.hybridize(fn);
      return (...args) => autograd.record(() => hybrid(...args), { trainMode: false });
    },
  };
  const runs = (wrap: Wrap): unknown => {
    kn.random.seed(4);
    return [JSON.parse(JSON.stringify(scenario(wrap))), String(kn.random.getState().counter)];
  };
  void test(line, async (t) => {
    const eager = runs((fn) => fn);
    for (const [name, wrap] of Object.entries(forms)) {
      await t.test(name, () => alike(runs(wrap), eager));
    }
  });
}

function alike(actual: unknown, expected: unknown): void {
  if (typeof expected === 'number') return near(actual, expected);
  if (typeof expected !== 'object' || expected === null) return assert.equal(actual, expected);
  assert.deepEqual(Object.keys(actual as object), Object.keys(expected));
  for (const [key, entry] of Object.entries(expected)) {
    alike((actual as Record<string, unknown>)[key], entry);
  }
}

function stateOf(...values: number[]): kn.nn.Parameter {
  const state = new nn.Parameter({ shape: [values.length], gradReq: 'null' });
  state.assign(kn.array(values));
  return state;
}

const xs = kn.array([[1, 2], [3, -4], [0.5, 1]]); // prettier-ignore

same('a body that writes state, and reads it before and after', (wrap) => {
  const p = stateOf(1, 2);
  const step = wrap((rows: kn.NDArray) =>
    kn.foreach(
      (x, h) => {
        const before = p.value.mul(1);
        p.assign(p.value.mul(0.5).add(x));
        return [[before, p.value], h.add(p.value)];
      },
      rows,
      p.value,
    ),
  );
  return [step(xs), step(xs), p.value];
});

same('state that is written before, in and after a loop', (wrap) => {
  const p = stateOf(1, 2);
  const step = wrap((rows: kn.NDArray) => {
    p.assign(p.value.add(1));
    const [seen] = kn.foreach(
      (x, none) => {
        p.assign(p.value.add(x));
        return [p.value, none];
      },
      rows,
      [],
    );
    const between = p.value.mul(1);
    p.assign(p.value.mul(2));
    return [seen, between, p.value.mul(1)];
  });
  return [step(xs), step(xs), p.value];
});

same('a loop without rows writes nothing', (wrap) => {
  const p = stateOf(1, 2);
  const step = wrap((rows: kn.NDArray) =>
    kn.foreach(
      (x, h) => {
        p.assign(p.value.add(x));
        return [p.value, h.add(kn.random.uniform([2]))];
      },
      rows,
      p.value,
    ),
  );
  return [step(kn.zeros([0, 2])), p.value];
});

same('state that a loop with a condition reads and writes', (wrap) => {
  const p = stateOf(1, 2);
  const step = wrap((x: kn.NDArray) =>
    kn.whileLoop(
      () => p.value.sum().less(20),
      (v) => {
        p.assign(p.value.mul(2));
        return [[p.value, v], v.add(p.value)];
      },
      x,
    ),
  );
  return [step(xs.slice(0)), step(xs.slice(0)), p.value];
});

for (const maxIterations of [null, 2]) {
  same(`state that a condition writes, ${String(maxIterations)} iterations at most`, (wrap) => {
    const p = stateOf(1, 2);
    const step = wrap((x: kn.NDArray) =>
      kn.whileLoop(
        () => {
          p.assign(p.value.mul(2));
          return p.value.sum().less(40);
        },
        (v) => [p.value, v.add(p.value)],
        x,
        { maxIterations },
      ),
    );
    return [step(xs.slice(0)), step(xs.slice(0)), p.value];
  });
}

same('state that one branch writes', (wrap) => {
  const [p, q] = [stateOf(1, 2), stateOf(3, 4)];
  const step = wrap((x: kn.NDArray) => {
    const y = kn.cond(
      x.sum().greater(0),
      () => {
        p.assign(p.value.add(x));
        return x;
      },
      () => {
        q.assign(p.value.mul(x));
        p.assign(q.value.sub(1));
        return q.value;
      },
    );
    return [y, p.value.mul(1)];
  });
  return [step(xs.slice(0)), step(xs.slice(1)), step(xs.slice(0)), p.value, q.value];
});

same('state that a branch in a loop in a loop writes', (wrap) => {
  const p = stateOf(0);
  const step = wrap((rows: kn.NDArray) =>
    kn.foreach(
      (row, none) => {
        const [out] = kn.foreach(
          (x, none) => [
            kn.cond(
              x.greater(0.75),
              () => {
                p.assign(p.value.add(x));
                return p.value.mul(kn.random.uniform([1]));
              },
              () => p.value,
            ),
            none,
          ],
          row,
          [],
        );
        return [out, none];
      },
      rows,
      [],
    ),
  );
  return [step(xs), step(xs), p.value];
});

same('batch norm in a loop, in training', (wrap) => {
  const norm = new nn.BatchNorm();
  norm.initialize();
  const data = kn.random.normal([4, 5, 2]);
  norm.call(data.slice(0));
  const step = wrap((rows: kn.NDArray) =>
    autograd.trainMode(() => kn.foreach((x, none) => [norm.call(x), none], rows, [])),
  );
  return [step(data), step(data), [...norm.parameters()].map(([, { value }]) => value)];
});

same('dropout in a loop has another mask in each iteration', (wrap) => {
  const dropout = new nn.Dropout(0.5);
  const step = wrap((rows: kn.NDArray) =>
    autograd.trainMode(() => kn.foreach((x, none) => [dropout.call(x), none], rows, [])),
  );
  return [step(kn.ones([4, 3])), step(kn.ones([4, 3])), kn.random.uniform([2])];
});

test('a backward pass in a body leaves gradients as eager code does', () => {
  for (const req of ['write', 'add'] as const) {
    const run = (wrap: Wrap): unknown => {
      const w = kn.array([1, 2]);
      w.attachGrad({ req });
      const step = wrap((rows: kn.NDArray) =>
        kn.foreach(
          (x, total) => {
            const loss = autograd.record(() => x.mul(w).square().sum());
            loss.backward();
            return [w.grad!, total.add(loss)];
          },
          rows,
          kn.array(0),
        ),
      );
      const results = [step(xs), step(xs)].map(([grads, total]) => [grads.tolist(), total.item()]);
      return [results, w.grad!.tolist()];
    };
    near(run((fn) => kn.hybridize(fn)), run((fn) => fn)); // prettier-ignore
  }
});

same('gradients of rows and of what a body computes are its own', (wrap) => {
  const step = wrap((rows: kn.NDArray) =>
    kn.foreach(
      (x, none) => {
        x.attachGrad();
        const { loss, y } = autograd.record(() => {
          const y = x.mul(3);
          y.attachGrad();
          return { y, loss: y.square().sum() };
        });
        loss.backward();
        return [[x.grad!, y.grad!], none];
      },
      rows,
      [],
    ),
  );
  return [step(xs), step(xs)];
});

test('a backward pass in a body reaches what the code around it has recorded', () => {
  const run = (rows: kn.NDArray): kn.NDArray => {
    const h = rows.mul(2);
    h.attachGrad({ req: 'add' });
    kn.foreach(
      (x, none) => {
        autograd.record(() => h.mul(x).sum()).backward();
        return [[], none];
      },
      rows,
      [],
    );
    return h.grad!;
  };
  near(kn.hybridize(run)(xs).tolist(), run(xs).tolist());
  assert.deepEqual(run(xs).tolist(), [[4.5, -1], [4.5, -1], [4.5, -1]]); // prettier-ignore
});

for (const name of ['SGD', 'Adam', 'RMSProp'] as const) {
  test(`whole steps in a loop: ${name}`, () => {
    const run = (wrap: Wrap): unknown => {
      const w = new nn.Parameter({ shape: [2] });
      w.assign(kn.array([1, 2]));
      const optimizer = new optim[name](new Map([['w', w]]), { learningRate: 0.05 });
      const step = wrap((rows: kn.NDArray) =>
        kn.foreach(
          (x, none) => {
            const loss = autograd.record(() => x.mul(w.value).sub(1).square().sum());
            loss.backward();
            optimizer.step();
            return [loss, none];
          },
          rows,
          [],
        ),
      );
      const losses = [step(xs)[0].tolist()];
      optimizer.learningRate = 0.01;
      losses.push(step(xs)[0].tolist());
      return [losses, w.value.tolist(), w.grad!.tolist()];
    };
    near(run((fn) => kn.hybridize(fn)), run((fn) => fn)); // prettier-ignore
  });
}
