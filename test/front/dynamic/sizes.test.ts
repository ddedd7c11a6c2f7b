import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

/** Runs code eagerly, deferred and hybridized (twice, so that the second call replays) on the same arrays. */
function everyWay(
  fn: (...args: kn.NDArray[]) => kn.NDArray,
  calls: readonly (readonly kn.NDArray[])[],
  expected: (call: number) => unknown,
): void {
  const hybrid = kn.hybridize(fn);
  calls.forEach((args, call) => {
    const wanted = expected(call);
    assert.deepEqual(fn(...args).tolist(), wanted, `eager, call ${call}`);
    assert.deepEqual(kn.deferredCompute(() => fn(...args)).tolist(), wanted, `deferred, ${call}`);
    assert.deepEqual(hybrid(...args).tolist(), wanted, `hybridized, call ${call}`);
  });
}

const ints = (values: readonly number[]): kn.NDArray => kn.array(values, { dtype: 'int32' });
const int = (value: number): kn.NDArray => kn.array(value, { dtype: 'int64' });

test('reshape takes its shape from an array, -1 included', () => {
  const x = kn.arange(12);
  everyWay(
    (a, shape) => a.reshape(shape),
    [
      [x, ints([3, 4])],
      [x, ints([2, 6])],
      [x, ints([-1, 2])],
      [x, ints([12, 1])],
    ],
    (call) =>
      x
        .reshape(
          [
            [3, 4],
            [2, 6],
            [6, 2],
            [12, 1],
          ][call],
        )
        .tolist(),
  );
  everyWay(
    (a, shape) => a.reshape(shape),
    [
      [kn.zeros([0, 3]), ints([3, 0])],
      [kn.zeros([0, 3]), ints([0, 7])],
    ],
    (call) =>
      kn
        .zeros(
          [
            [3, 0],
            [0, 7],
          ][call],
        )
        .tolist(),
  );
});

test('a shape in an array that does not fit is a ShapeError when it is known', () => {
  const x = kn.arange(12);
  const hybrid = kn.hybridize((a: kn.NDArray, shape: kn.NDArray) => a.reshape(shape));
  for (const shape of [
    [5, 2],
    [-1, -1],
    [-2, -6],
    [-1, 5],
  ]) {
    assert.throws(() => x.reshape(ints(shape)), kn.KaonError, shape.join());
    assert.throws(() => hybrid(x, ints(shape)), kn.ShapeError, shape.join());
  }
  assert.throws(() => x.reshape(kn.array([3, 4])), kn.DTypeError);
  assert.throws(() => x.reshape(ints([[3, 4]] as unknown as number[])), kn.ShapeError);
});

test('broadcastTo, tile, zeros, ones and full take arrays as shapes', () => {
  const row = kn.array([[1, 2, 3]]);
  everyWay(
    (a, shape) => a.broadcastTo(shape),
    [
      [row, ints([2, 3])],
      [row, ints([0, 3])],
      [row, ints([1, 3])],
    ],
    (call) => Array.from({ length: [2, 0, 1][call] }, () => [1, 2, 3]),
  );
  everyWay(
    (a, counts) => a.tile(counts),
    [
      [row, ints([2, 1])],
      [row, ints([1, 2])],
      [row, ints([0, 1])],
    ],
    (call) =>
      [
        [
          [1, 2, 3],
          [1, 2, 3],
        ],
        [[1, 2, 3, 1, 2, 3]],
        [],
      ][call],
  );
  const shapes = [
    [2, 3],
    [0, 2],
    [1, 1],
  ];
  for (const [value, make] of [
    [0, (shape: kn.NDArray) => kn.zeros(shape)],
    [1, (shape: kn.NDArray) => kn.ones(shape)],
    [7, (shape: kn.NDArray) => kn.full(shape, 7)],
  ] as const) {
    everyWay(
      (shape) => make(shape),
      shapes.map((shape) => [ints(shape)]),
      (call) => kn.full(shapes[call], value).tolist(),
    );
  }
  const hybrid = kn.hybridize((a: kn.NDArray, shape: kn.NDArray) => a.broadcastTo(shape));
  assert.throws(() => hybrid(row, ints([2, 4])), kn.ShapeError);
  assert.throws(() => row.broadcastTo(ints([2, 4])), kn.ShapeError);
});

test('arange counts up to an array, and between arrays', () => {
  everyWay((n) => kn.arange(n), [[int(4)], [int(0)], [int(-3)], [ints([1])]], (call) =>
    [[0, 1, 2, 3], [], [], [0]][call]); // prettier-ignore
  everyWay(
    (a, b) => kn.arange(a, b, 2, { dtype: 'int32' }),
    [
      [int(1), int(6)],
      [int(6), int(1)],
      [int(-3), int(-1)],
    ],
    (call) => [[1, 3, 5], [], [-3]][call],
  );
  everyWay(
    (a, b) => kn.arange(a, b, -1.5),
    [
      [kn.array(4), kn.array(-1)],
      [kn.array(0.25), kn.array(0.25)],
    ],
    (call) => [[4, 2.5, 1, -0.5], []][call],
  );
  assert.throws(() => kn.arange(int(3), int(9), 0), kn.ArgumentError);
  assert.throws(() => kn.arange(ints([1, 2])), kn.ArgumentError);
});

test('slice takes arrays as positions and as bounds', () => {
  const x = kn.arange(24).reshape([4, 6]);
  const rows = x.tolist() as number[][];
  everyWay(
    (a, i) => a.slice(i),
    [0, 3, -1, 2].map((i) => [x, int(i)]),
    (call) => rows.at([0, 3, -1, 2][call]),
  );
  everyWay(
    (a, i) => a.slice('...', i, [1, 3]),
    [1, -2].map((i) => [x.reshape([2, 2, 6]), ints([i])]),
    (call) =>
      [
        [
          [7, 8],
          [19, 20],
        ],
        [
          [1, 2],
          [13, 14],
        ],
      ][call],
  );
  const bounds = [-9, -3, -1, 0, 1, 2, 4, 9].flatMap((a) =>
    [-4, -1, 0, 3, 6, 8].map((b) => [a, b] as const),
  );
  for (const step of [1, 2, -1, -3]) {
    everyWay(
      (a, from, to) => a.slice(':', [from, to, step]),
      bounds.map(([a, b]) => [x, int(a), int(b)]),
      (call) => x.slice(':', [...bounds[call], step]).tolist(),
    );
  }
  everyWay(
    (a, to) => a.slice([null, to], null, [2, null, 2]),
    [0, 1, 4, -1].map((to) => [x, int(to)]),
    (call) => x.slice([null, [0, 1, 4, -1][call]], null, [2, null, 2]).tolist(),
  );
});

test('an index in an array that is outside, of another dtype or not one is refused', () => {
  const x = kn.arange(4);
  assert.throws(() => x.slice(int(4)), kn.ArgumentError);
  assert.throws(() => x.slice(kn.array(true)), kn.ArgumentError);
  assert.throws(() => x.slice(ints([1, 2])), kn.ArgumentError);
  assert.throws(() => x.slice([int(0), 2, 0]), kn.ArgumentError);
  assert.throws(() => x.slice(int(0), int(0)), kn.ShapeError);
  const hybrid = kn.hybridize((a: kn.NDArray, i: kn.NDArray) => a.slice(i));
  assert.throws(() => hybrid(x, int(4)), kn.ArgumentError);
});

test('repeat takes a count for each element', () => {
  const x = kn.array([[1, 2], [3, 4], [5, 6]]); // prettier-ignore
  everyWay(
    (a, counts) => a.repeat(counts, 0),
    [[x, ints([2, 0, 1])], [x, ints([0, 0, 0])], [x, int(2)]],
    (call) => [[[1, 2], [1, 2], [5, 6]], [], [[1, 2], [1, 2], [3, 4], [3, 4], [5, 6], [5, 6]]][call],
  ); // prettier-ignore
  assert.deepEqual(x.repeat([1, 2], 1).tolist(), [[1, 2, 2], [3, 4, 4], [5, 6, 6]]); // prettier-ignore
  assert.throws(() => x.repeat(ints([1, -1, 0]), 0), kn.ArgumentError);
  assert.throws(() => x.repeat(ints([1, 1]), 0), kn.ShapeError);
  assert.throws(() => x.repeat(kn.array([1, 1, 1]), 0), kn.DTypeError);
});

test('gradients flow through sizes that arrays decide', () => {
  const x = kn.arange(6);
  const weights = kn.array([[1, 2, 3], [4, 5, 6]]); // prettier-ignore
  const loss = (a: kn.NDArray, shape: kn.NDArray): kn.NDArray =>
    a
      .reshape(shape)
      .mul(weights.reshape(shape))
      .sum()
      .add(
        a
          .square()
          .slice([0, shape.slice(0)])
          .sum(),
      );
  const expected = [1, 2 + 2, 3, 4, 5, 6];
  for (const run of [kn.grad(loss), kn.hybridize(kn.grad(loss)), kn.grad(kn.hybridize(loss))]) {
    assert.deepEqual(run(x, ints([2, 3])).tolist(), expected);
  }
});

test('a gradient that has nothing but the size of what the data selected is computed', () => {
  const mask = kn.array([true, false, true]);
  const total = (a: kn.NDArray, m: kn.NDArray): kn.NDArray => a.booleanMask(m).sum();
  for (const run of [kn.grad(total), kn.hybridize(kn.grad(total)), kn.grad(kn.hybridize(total))]) {
    assert.deepEqual(run(kn.array([1, 2, 3]), mask).tolist(), [1, 0, 1]);
  }
  const { g } = kn.deferredCompute(() => ({ g: kn.grad(total)(kn.array([1, 2, 3]), mask) }));
  assert.deepEqual(g.tolist(), [1, 0, 1]);
});

test('graphs with sizes that their data decides are exported, saved and reloaded', () => {
  const x = kn.array([[1, 2], [3, 4], [5, 6]]); // prettier-ignore
  const mask = kn.array([true, false, true]);
  const { y, z } = kn.deferredCompute(() => {
    const chosen = x.booleanMask(mask);
    return { y: chosen.mul(2), z: kn.zeros(kn.shapeOf(chosen)).add(1) };
  });
  const twice = [[2, 4], [10, 12]]; // prettier-ignore
  assert.deepEqual(y.tolist(), twice);
  const graph = kn.exportGraph({ inputs: { x, mask }, outputs: { y, z } });
  for (const each of [graph, kn.StaticGraph.fromJSON(JSON.parse(JSON.stringify(graph.toJSON())))]) {
    const first = each.run({ x, mask });
    assert.deepEqual(first['y'].tolist(), twice);
    assert.deepEqual(first['z'].tolist(), [[1, 1], [1, 1]]); // prettier-ignore
    assert.deepEqual(each.run({ x, mask: mask.logicalNot() })['y'].tolist(), [[6, 8]]);
  }
});

test('side-effect code is given arrays whose sizes the data decides', () => {
  const seen: unknown[] = [];
  const look = kn.staticCode((a: kn.NDArray) => void seen.push(a.tolist()));
  const f = kn.staticGraph((x: kn.NDArray, n: kn.NDArray) => {
    const steps = kn.arange(n);
    const sums = kn.ones(kn.shapeOf(steps)).mul(x).add(steps);
    look(sums);
    return x.mul(2);
  });
  for (const n of [2, 3, 0]) {
    assert.equal(f(kn.array(5), int(n)).item(), 10);
    assert.deepEqual(seen.at(-1), [5, 6, 7].slice(0, n));
  }
  assert.equal(seen.length, 3);
});

test('a vector of sizes makes so many axes and no more', () => {
  const sizes = kn.ones([257], { dtype: 'int32' });
  const refused = (error: unknown): boolean =>
    error instanceof kn.ShapeError && /at most 256 sizes/.test(error.message);
  assert.throws(() => kn.deferredCompute(() => kn.zeros(sizes)), refused);
  assert.throws(() => kn.hybridize((shape: kn.NDArray) => kn.zeros(shape))(sizes), refused);
});

test('kn.array and kn.full take sizes of captured code as the numbers that they are', () => {
  const f = kn.hybridize(
    (x: kn.NDArray) => {
      const n = kn.sizeOf(x, 0);
      return {
        float: kn.array(n),
        int: kn.array(n, { dtype: 'int32' }),
        list: kn.array([n, 1, n], { dtype: 'int64' }),
        grid: kn.array([n, n], { shape: [2, 1] }),
        full: kn.full([2], n),
      };
    },
    { dynamic: [['n']] },
  );
  for (const n of [5, 4, 1, 0]) {
    const { float, int, list, grid, full } = f(kn.zeros([n]));
    assert.deepEqual([float.dtype, int.dtype, list.dtype, full.dtype], ['float32', 'int32', 'int64', 'float32']); // prettier-ignore
    assert.deepEqual([float.tolist(), int.tolist(), full.tolist()], [n, n, [n, n]]);
    assert.deepEqual(list.tolist(), [BigInt(n), 1n, BigInt(n)]);
    assert.deepEqual(grid.tolist(), [[n], [n]]);
  }
  const narrow = kn.hybridize((x: kn.NDArray) => kn.array(kn.sizeOf(x, 0), { dtype: 'uint8' }), { dynamic: [['n']] }); // prettier-ignore
  assert.equal(narrow(kn.zeros([255])).item(), 255);
  assert.throws(() => narrow(kn.zeros([256])), kn.KaonError);
});
