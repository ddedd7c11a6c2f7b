import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import * as kn from '../../../src/index.js';
import { near } from '../support.js';

/** Calls with two sizes that keep changing, and tells how many traces that took. */
function tracesFor(read: (x: kn.NDArray) => unknown): number {
  const f = kn.hybridize((x: kn.NDArray) => {
    read(x);
    return x.mul(2);
  });
  for (let i = 0; i < 8; i++) {
    const shape = [2 + i, 3, 20 - i];
    assert.deepEqual(f(kn.ones(shape)).tolist(), kn.full(shape, 2).tolist());
  }
  return f.explain().traces.length;
}

test('looking at one axis leaves the others free', () => {
  let reads: number[] = [];
  const f = kn.hybridize((x: kn.NDArray) => {
    reads.push(x.shape[1]);
    return x.mul(x.shape[1]);
  });
  // Only the second axis is read: two sizes of it are two graphs, whatever the first one is.
  for (let n = 2; n < 12; n++) {
    for (const c of [3, 4]) {
      assert.deepEqual(f(kn.ones([n, c])).tolist(), kn.full([n, c], c).tolist());
    }
  }
  reads = [...new Set(reads)];
  assert.deepEqual(reads.sort(), [3, 4]);
  const { traces } = f.explain();
  assert.ok(traces.length <= 5, String(f.explain()));
});

for (const [what, read] of [
  ['the rank', (x) => [x.ndim, x.shape.length, x.shape.map.length]],
  ['an axis that stays', (x) => [x.shape[1], x.shape.at(-2), x.shape.slice(1, 2)]],
  ['the extents of an inspector', (x) => inspect(x.shape)],
  ['a place where there is none', (x) => [x.shape[3], x.shape.at(7)]],
] as readonly (readonly [string, (x: kn.NDArray) => unknown])[]) {
  test(`looking at ${what} leaves sizes free`, () => {
    assert.equal(tracesFor(read), 3);
  });
}

for (const [what, read] of [
  ['an index', (x) => [x.shape[0], x.shape[2]]],
  ['destructuring', (x) => { const [n, , t] = x.shape; return [n, t]; }],
  ['spreading', (x) => [...x.shape]],
  ['mapping', (x) => x.shape.map((extent) => extent)],
  ['JSON', (x) => JSON.stringify(x.shape)],
  ['concatenation', (x) => [1].concat(x.shape)],
  ['entries of the object', (x) => Object.entries(x.shape)],
  ['the number of elements', (x) => x.size],
] as readonly (readonly [string, (x: kn.NDArray) => unknown])[]) {
  test(`sizes looked at by ${what} are what the graph is for`, () => {
    assert.equal(tracesFor(read), 8);
  });
} // prettier-ignore

test('the shape of an array in captured code behaves as any other', () => {
  const f = kn.hybridize(
    (x: kn.NDArray) => {
      const { shape } = x;
      assert.ok(Array.isArray(shape) && Object.isFrozen(shape));
      assert.deepEqual(shape, [4, 3]);
      assert.deepEqual([...shape, shape.length, shape.at(-1)], [4, 3, 2, 3]);
      assert.deepEqual(shape.concat([7]), [4, 3, 7]);
      assert.deepEqual(
        shape.map((extent) => extent * 2),
        [8, 6],
      );
      assert.deepEqual([JSON.stringify(shape), String(shape)], ['[4,3]', '4,3']);
      assert.deepEqual([shape.includes(3), shape.indexOf(4), shape[2]], [true, 0, undefined]);
      assert.equal(inspect(shape), '[ 4, 3 ]');
      assert.throws(() => ((shape as number[])[0] = 5), TypeError);
      return x.mul(1);
    },
    { verify: 'off' },
  );
  for (const n of [2, 3]) assert.throws(() => f(kn.ones([n, 3])), assert.AssertionError);
  assert.deepEqual(f(kn.ones([4, 3])).shape, [4, 3]);
});

test('what the body of an operator reads, the code around it relies on', () => {
  const f = kn.hybridize((x: kn.NDArray) => kn.checkpoint((v: kn.NDArray) => v.mul(v.shape[0]))(x));
  for (const n of [2, 3, 4, 5, 6]) {
    assert.deepEqual(f(kn.ones([n])).tolist(), kn.full([n], n).tolist());
  }
});

test('draws of the size of an array serve arrays of any size', () => {
  const draws: Readonly<Record<string, (x: kn.NDArray) => kn.NDArray>> = {
    categorical: (x) => kn.random.categorical(x),
    permutation: (x) => kn.random.permutation(x),
  };
  for (const [name, draw] of Object.entries(draws)) {
    const f = kn.hybridize((x: kn.NDArray) => draw(x));
    for (const n of [2, 3, 4, 5, 6, 7]) {
      const x = kn.linspace(-1, 1, 5 * n).reshape([n, 5]);
      const [actual, expected] = [f, draw].map((each) => {
        kn.random.seed(n);
        return each(x).astype('float32').tolist();
      });
      near(actual, expected);
    }
    assert.equal(f.explain().traces.length, 3, name);
  }
});

for (const [what, use] of [
  ['zeros', (x) => x.mul(0).add(kn.zeros(x.shape))],
  ['reshape', (x) => x.mul(0).reshape([-1]).reshape(x.shape)],
  ['broadcastTo', (x) => x.mul(kn.broadcastTo(kn.array(0), x.shape))],
  ['random numbers', (x) => kn.where(kn.random.uniform(x.shape).greater(2), x, 0)],
] as readonly (readonly [string, (x: kn.NDArray) => kn.NDArray])[]) {
  test(`a shape handed to ${what} as a whole stays symbolic`, () => {
    assert.equal(tracesFor(use), 3);
    const declared = kn.hybridize(use, { dynamic: [['n', 'c', 't']] });
    for (const shape of [
      [2, 3, 4],
      [0, 1, 5],
    ]) {
      assert.deepEqual(declared(kn.ones(shape)).tolist(), kn.zeros(shape).tolist());
    }
    assert.equal(declared.explain().traces.length, 1);
  });
}

test('the shape of what only the data sizes can be handed on, though not be read', () => {
  const f = kn.hybridize((x: kn.NDArray) => {
    const kept = x.booleanMask(x.greater(0));
    return kept.add(kn.ones(kept.shape));
  });
  assert.deepEqual(f(kn.array([1, -1, 3])).tolist(), [2, 4]);
  assert.deepEqual(f(kn.array([-1, -1, -3])).tolist(), []);
});
