import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { near, refuses } from '../support.js';

/* What only captured control flow can get wrong. */

const xs = kn.array([[1, 2], [3, 4], [5, 6]]); // prettier-ignore
const loose = kn.foreach as (...args: unknown[]) => unknown;

const here = /captured\.test/;

test('branches must agree in structure, dtype and rank; errors name the place', () => {
  const branches = (other: (x: kn.NDArray) => unknown): (() => unknown) => {
    const choose = kn.cond as (...args: unknown[]) => unknown;
    const f = kn.hybridize((x: kn.NDArray) =>
      choose(
        x.sum().greater(0),
        () => ({ y: [x, x.sum()] }),
        () => other(x),
      ),
    );
    return () => f(xs);
  };
  const structure = refuses(
    branches((x) => ({ y: [x] })),
    kn.ArgumentError,
    'cond: result.y has another structure in each branch',
  );
  const keys = refuses(
    branches((x) => ({ z: x })),
    kn.ArgumentError,
    'the result has another',
  );
  const dtype = refuses(
    branches((x) => ({ y: [x, x.sum().astype('int32')] })),
    kn.DTypeError,
    'result.y[1] has another dtype in each branch',
    'cast',
  );
  const rank = refuses(
    branches((x) => ({ y: [x.sum(0), x.sum()] })),
    kn.ShapeError,
    'result.y[0] has another rank in each branch',
  );
  for (const error of [structure, keys, dtype, rank]) {
    assert.equal(error.op, 'cond');
    assert.match(error.source ?? '', here);
  }
});

test('a value read in a traced body is an error with the line and what to do', () => {
  const read: Readonly<Record<string, (x: kn.NDArray, w: kn.NDArray) => unknown>> = {
    'a slice': (x) => x.sum().item(),
    'what a body computes': (x) => x.mul(2).tolist(),
    'what the code around it computes': (_, w) => w.tolist(),
  };
  for (const look of Object.values(read)) {
    const f = kn.hybridize((rows: kn.NDArray) => {
      const w = rows.mul(2);
      return kn.foreach(
        (x, none) => {
          look(x, w);
          return [x, none];
        },
        rows,
        [],
      );
    });
    const error = refuses(() => f(xs), kn.TraceError, 'iteration 0', 'choose with where or cond');
    assert.equal(error.op, 'foreach');
    assert.match(error.source ?? '', here);
  }
});

test('an array of a body that escapes it is an error that names it', () => {
  let kept: kn.NDArray | undefined;
  const leak = (rows: kn.NDArray): void => {
    kn.foreach(
      (x, none) => {
        kept = x.exp();
        return [x, none];
      },
      rows,
      [],
    );
  };
  const uses: readonly ((rows: kn.NDArray) => unknown)[] = [
    (rows) => rows.add(kept!),
    () => kept!,
    (rows) => kn.foreach((x, none) => [x.add(kept!), none], rows, []),
    (rows) => kn.foreach((_, none) => [kept!, none], rows, []),
    (rows) => kn.cond(rows.sum().greater(0), () => rows.slice(0), () => kept!), // prettier-ignore
  ];
  for (const use of uses) {
    const f = kn.hybridize((rows: kn.NDArray) => {
      leak(rows);
      return use(rows);
    });
    const error = refuses(() => f(xs), kn.TraceError, 'used outside of it', 'result of exp');
    assert.match(error.source ?? '', here);
  }
});

test('side-effect code in a body is refused with advice', () => {
  const log = kn.staticCode(() => undefined);
  const f = kn.staticGraph((rows: kn.NDArray) =>
    kn.foreach(
      (x, none) => {
        log();
        return [x, none];
      },
      rows,
      [],
    ),
  );
  refuses(() => f(xs), kn.TraceError, 'side-effect code', 'not inside the body of a loop');
});

test('an asynchronous body is refused, eagerly and captured', () => {
  const body = async (x: kn.NDArray, s: kn.NDArray): Promise<unknown> => [x, s];
  const run = (rows: kn.NDArray): unknown => loose(body, rows, []);
  refuses(() => run(xs), kn.ArgumentError, 'asynchronous');
  refuses(() => kn.hybridize(run)(xs), kn.TraceError, 'asynchronous');
  const promising = (rows: kn.NDArray): unknown =>
    loose((x: kn.NDArray) => Promise.resolve([x, []]), rows, []);
  refuses(() => promising(xs), kn.ArgumentError, 'iteration 0', 'returns a promise');
});

test('errors of the user’s own pass through as they are', () => {
  class Own extends Error {}
  const run = (rows: kn.NDArray): unknown =>
    kn.foreach(
      (x, none) => {
        if (rows.ndim === 2) throw new Own('mine');
        return [x, none];
      },
      rows,
      [],
    );
  assert.throws(() => run(xs), Own);
  assert.throws(() => kn.hybridize(run)(xs), Own);
});

test('a later iteration that fails says which one it was, and its own line', () => {
  const positions = kn.array([0, 1, 7], { dtype: 'int32' });
  const error = refuses(
    () => kn.foreach((i, none) => [kn.take(xs, i, { axis: 0 }), none], positions, []),
    kn.KaonError,
    'foreach: iteration 2: take: ',
  );
  assert.match(error.source ?? '', here);
  let count = 0;
  refuses(
    () => kn.foreach((x, none) => [{ y: count++ === 1 ? x.sum() : x }, none], xs, []),
    kn.ShapeError,
    'iteration 1: output.y changes its shape',
  );
  refuses(
    () => kn.foreach((x, none) => [count++ % 2 === 1 ? x.astype('int32') : x, none], xs, []),
    kn.DTypeError,
    'the output changes its dtype',
  );
});

test('a body that changes between two captures is found', () => {
  let scale = 2;
  const f = kn.hybridize((rows: kn.NDArray) =>
    kn.foreach((x, none) => [x.mul(scale), none], rows, []),
  );
  f(xs);
  scale = 3;
  const error = refuses(() => f(xs), kn.TraceError, 'another constant');
  assert.match(error.source ?? '', here);
  let isNested = false;
  const g = kn.hybridize(
    (rows: kn.NDArray) =>
    kn.foreach((x, none) => [isNested ? kn.cond(x.sum().less(0), () => x, () => x) : x, none], rows, []), // prettier-ignore
  );
  g(xs);
  isNested = true;
  refuses(() => g(xs), kn.TraceError);
});

test('bodies may be called with other sizes, and read sizes as numbers', () => {
  const f = kn.hybridize((rows: kn.NDArray) => {
    const [width] = rows.shape.slice(1);
    return kn.foreach((x, s) => [x.add(kn.arange(width)), s.add(x.shape[0])], rows, kn.array(0));
  });
  for (const shape of [
    [2, 3],
    [4, 2],
    [1, 5],
    [0, 3],
    [3, 3],
  ]) {
    // prettier-ignore
    const [outputs, total] = f(kn.zeros(shape));
    assert.deepEqual(
      outputs.tolist(),
      Array.from({ length: shape[0] }, () => Array.from({ length: shape[1] }, (_, i) => i)),
    );
    assert.equal(total.item(), shape[0] * shape[1]);
  }
});

test('sizes that the data decides may be used in bodies and by what is around them', () => {
  const f = (x: kn.NDArray): unknown => {
    const picked = kn.booleanMask(x, x.greater(0));
    return kn.foreach(
      (row, s) => {
        const small = kn.booleanMask(row, row.less(4));
        return [small.sum().add(picked.mul(row.sum()).sum()), s.add(picked)];
      },
      kn.stack([x, x.mul(2)]),
      kn.zerosLike(picked),
    );
  };
  const contents = (tree: unknown): unknown => JSON.parse(JSON.stringify(tree));
  const hybrid = kn.hybridize(f);
  for (const values of [
    [1, -2, 3],
    [-1, 5, 2],
    [-1, -1, -1],
  ]) {
    // prettier-ignore
    near(contents(hybrid(kn.array(values))), contents(f(kn.array(values))));
  }
});

test('loops compiled once are used by every call', () => {
  let traced = 0;
  const f = kn.hybridize((rows: kn.NDArray) =>
    kn.foreach(
      (x, none) => {
        traced++;
        return [x, none];
      },
      rows,
      [],
    ),
  );
  for (let i = 0; i < 5; i++) f(xs);
  // The first trace, and those that are compared with it at the calls 2 and 4.
  assert.equal(traced, 3);
});

test('second gradients of captured loops and branches are those of the plain code', () => {
  const plain = (x: kn.NDArray): kn.NDArray => {
    let h = x;
    for (const k of [1, 2, 3]) h = h.mul(x).add(k).sin();
    return h.sum();
  };
  const looped = (x: kn.NDArray): kn.NDArray => {
    const [, last] = kn.foreach((k, h) => [[], h.mul(x).add(k).sin()], kn.array([1, 2, 3]), x);
    return last.sum();
  };
  const counted = (x: kn.NDArray): kn.NDArray => {
    const [, [, last]] = kn.whileLoop(
      (i) => i.less(4),
      (i, h) => [[], [i.add(1), h.mul(x).add(i).sin()]],
      [kn.array(1), x],
    );
    return last.sum();
  };
  const chosen = (x: kn.NDArray): kn.NDArray =>
    kn.cond(x.sum().greater(0), () => plain(x), () => x.sum()); // prettier-ignore
  const x = kn.array([0.5, 0.25]);
  const second = (f: (x: kn.NDArray) => kn.NDArray): unknown =>
    kn.grad((v: kn.NDArray) => kn.grad(f)(v).mul(kn.array([1, 2])).sum())(x).tolist(); // prettier-ignore
  for (const f of [looped, counted, chosen]) {
    near(second(f), second(plain), 1e-4);
    near(second(kn.hybridize(f)), second(plain), 1e-4);
  }
});

test('bodies may speak of sizes that nothing they are given has', () => {
  const ones = kn.hybridize(
    (rows: kn.NDArray, w: kn.NDArray) =>
      // A gradient of a sum has the shape of `w`, and reads nothing of it.
      kn.foreach((_, none) => [kn.grad((v: kn.NDArray) => v.sum().mul(2))(w), none], rows, [])[0],
    { dynamic: [['t', null], ['n']] }, // prettier-ignore
  );
  for (const [t, n] of [
    [3, 2],
    [1, 4],
    [2, 1],
    [0, 3],
  ]) {
    // prettier-ignore
    const result = ones(kn.zeros([t, 2]), kn.zeros([n]));
    assert.deepEqual(result.shape, [t, n]);
    assert.ok([...result.dataSync()].every((each) => each === 2));
  }
  assert.equal(ones.explain().traces.length, 1);
});
