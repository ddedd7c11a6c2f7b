import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import * as kn from '../../../src/index.js';
import { near, refuses } from '../support.js';

type Sizes = readonly [a: number, b: number, c: number];
type Shape = readonly number[];

interface Case {
  readonly name: string;
  /** The shapes of the arguments. */
  readonly shapes: (...sizes: Sizes) => readonly Shape[];
  readonly code: (...arrays: kn.NDArray[]) => kn.NDArray;
}

/** Code that one graph serves at every size. */
const general: readonly Case[] = [
  { name: 'elementwise', shapes: (a, b) => [[a, b], [a, b]], code: (x, y) => x.mul(2).add(y).relu() },
  { name: 'a sum', shapes: (a, b) => [[a, b]], code: (x) => x.sum(0).mul(3) },
  { name: 'a product of matrices', shapes: (a, b, c) => [[a, b], [b, c]], code: (x, y) => x.matmul(y).add(1) },
  { name: 'a mean of squares', shapes: (a, b) => [[a, b]], code: (x) => x.square().sum(1, { keepdims: true }).sub(x) },
  { name: 'concatenation', shapes: (a, b, c) => [[a, c], [b, c]], code: (x, y) => kn.concat([x, y.mul(2)], 0) },
  { name: 'transposition', shapes: (a, b) => [[a, b], [b, a]], code: (x, y) => x.transpose().add(y) },
  { name: 'flattening', shapes: (a, b) => [[a, b, 2]], code: (x) => x.reshape([-1]).add(1) },
  { name: 'an outer sum', shapes: (a, b) => [[a], [b]], code: (x, y) => x.expandDims(1).add(y) },
  { name: 'a numeric axis of 1', shapes: (a, b) => [[a, b], [1, b]], code: (x, y) => x.mul(y) },
  { name: 'equal sizes that code relies on', shapes: (a, b) => [[a], [a], [b]], code: (x, y, z) => x.mul(y).sum().add(z) },
  { name: 'a square', shapes: (a) => [[a, a]], code: (x) => x.matmul(x).add(x.transpose()) },
]; // prettier-ignore

/** Code that refuses some sizes, does other things at some, or needs numbers. */
const special: readonly Case[] = [
  { name: 'a maximum, which nothing has none of', shapes: (a, b) => [[a, b]], code: (x) => x.max(0) },
  { name: 'an index of the greatest', shapes: (a, b) => [[b, a]], code: (x) => x.argmax(1) },
  { name: 'all axes of 1 removed', shapes: (a, b) => [[a, b, 1]], code: (x) => x.squeeze() },
  { name: 'all axes of 1 removed inside', shapes: (a, b) => [[a, b]], code: (x) => x.squeeze().sum(0).add(1) },
  { name: 'shapes that may not fit', shapes: (a, b) => [[a], [b]], code: (x, y) => x.add(y) },
  { name: 'a size as a number', shapes: (a, b) => [[a, b]], code: (x) => x.mul(x.shape[0]) },
  { name: 'the other size as a number', shapes: (a, b) => [[a, b]], code: (x) => x.add(x.shape[1]) },
  { name: 'a branch on a size', shapes: (a, b) => [[a, b]], code: (x) => (x.shape[1] > 2 ? x.mul(2) : x.sum(0)) },
  { name: 'the number of elements', shapes: (a, b) => [[a], [b]], code: (x, y) => x.sum().div(x.size + 1).add(y) },
  { name: 'halves, which not every size has', shapes: (a, b) => [[2 * a, b]], code: (x) => x.reshape([2, -1]) },
  { name: 'a first row, which nothing has none of', shapes: (a, b) => [[a, b]], code: (x) => x.slice(0).mul(2) },
  { name: 'a window', shapes: (a, b) => [[a, b]], code: (x) => x.slice([1, 3]).add(1) },
  { name: 'a matrix product that may not fit', shapes: (a, b, c) => [[a, b], [c, 2]], code: (x, y) => x.matmul(y) },
]; // prettier-ignore

/** Small whole numbers, so that sums are exact in any order. */
function filled(shape: Shape, seed: number): kn.NDArray {
  const count = shape.reduce((product, size) => product * size, 1);
  const data = Float32Array.from({ length: count }, (_, i) => ((i * 7 + seed * 3) % 11) - 5);
  return kn.array(data, { shape: [...shape] });
}

interface Outcome {
  readonly shape?: Shape;
  readonly values?: unknown;
  readonly error?: string;
}

function outcome(code: Case['code'], shapes: readonly Shape[]): Outcome {
  try {
    const result = code(...shapes.map(filled));
    return { shape: result.shape, values: result.tolist() };
  } catch (error) {
    if (!(error instanceof kn.KaonError)) throw error;
    return { error: `${error.name} ${error.op}: ${error.problem}` };
  }
}

const size = fc.oneof(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 7 }));
const sizes = fc.tuple(size, size, size);
const sequence = fc.array(sizes, { minLength: 1, maxLength: 12 });

function check({ name, shapes, code }: Case, calls: readonly Sizes[], f: Case['code']): void {
  for (const call of calls) {
    const wanted = outcome(code, shapes(...call));
    const found = outcome(f, shapes(...call));
    assert.deepEqual(
      [found.shape, found.error],
      [wanted.shape, wanted.error],
      `${name} at ${call.join()}`,
    );
    near(found.values ?? 0, wanted.values ?? 0);
  }
}

for (const each of [...general, ...special]) {
  test(`${each.name}: calls of random sizes do what the plain function does`, () => {
    fc.assert(
      fc.property(sequence, (calls) => check(each, calls, kn.hybridize(each.code))),
      { seed: 11, numRuns: 40 },
    );
  });
}

for (const each of general) {
  test(`${each.name}: once it is generalized, no size needs another trace`, () => {
    const f = kn.hybridize(each.code);
    check(each, [[4, 5, 6], [7, 8, 9], [10, 12, 11]], f); // prettier-ignore
    assert.equal(f.explain().traces.length, 3);
    fc.assert(
      fc.property(sizes, (call) => check(each, [call], f)),
      { seed: 5, numRuns: 60 },
    );
    assert.equal(f.explain().traces.length, 3, String(f.explain()));
    assert.equal(f.explain().evicted, 0);
  });

  test(`${each.name}: whatever the sizes and their order, traces are few`, () => {
    fc.assert(
      fc.property(fc.array(sizes, { minLength: 20, maxLength: 20 }), (calls) => {
        const f = kn.hybridize(each.code);
        check(each, calls, f);
        const count = each.shapes(...calls[0]).flat().length;
        // Two for certain sizes; after that each trace has found one more axis that changes, or two
        // axes that differ.
        const { traces } = f.explain();
        assert.ok(traces.length <= 2 + 2 * count, String(f.explain()));
      }),
      { seed: 3, numRuns: 15 },
    );
  });
}

test('sizes that are equal by accident are told apart when they differ', () => {
  const f = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => x.sum().add(y));
  for (let n = 2; n < 6; n++) f(kn.ones([n]), kn.ones([n]));
  assert.equal(f.explain().traces[2].signature, '(float32[n0], float32[n0])');
  for (let n = 2; n < 6; n++) assert.equal(f(kn.ones([n]), kn.ones([n + 1])).size, n + 1);
  assert.equal(f.explain().traces[3].signature, '(float32[n0], float32[n1])');
  const { guard } = f.explain().misses[3];
  assert.deepEqual(guard, {
    kind: 'size',
    path: 'argument 1, axis 0',
    expected: 'n0 = 2',
    actual: '3',
  });
  for (let n = 2; n < 9; n++) f(kn.ones([3]), kn.ones([n]));
  assert.equal(f.explain().traces.length, 4);
});

test('where code relies on equal sizes, a call that broadcasts does not spoil it', () => {
  const f = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => x.add(y));
  const call = (n: number, m: number): void => {
    assert.deepEqual(f(kn.ones([n]), kn.ones([m])).tolist(), Array<number>(Math.max(n, m)).fill(2));
  };
  call(3, 3);
  call(4, 4);
  call(5, 1);
  for (let n = 6; n < 9; n++) call(n, n);
  for (let n = 6; n < 9; n++) call(n, 1);
  const { traces } = f.explain();
  for (let n = 10; n < 30; n++) {
    call(n, n);
    call(n, 1);
  }
  assert.equal(f.explain().traces.length, traces.length, String(f.explain()));
});

test('a size that code needs as a number does not keep another from becoming a symbol', () => {
  const f = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => x.mul(y.shape[0]));
  for (let n = 2; n < 30; n++) f(kn.ones([n]), kn.ones([2 + (n % 2)]));
  const { traces, misses } = f.explain();
  assert.ok(traces.length <= 4, String(f.explain()));
  assert.deepEqual(traces.at(-1)!.symbols, ['n0']);
  assert.match(misses.at(-1)!.obstacle ?? '', /reads the size of argument 1, axis 0 as a number/);
});

test('dynamic sizes need one trace, at 0 and 1 as well; others become symbols beside them', () => {
  const f = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => x.mul(2).sum(1).add(y), {
    dynamic: [['n0', null], ['n0']],
  });
  for (const n of [3, 1, 0, 7]) {
    assert.deepEqual(f(kn.ones([n, 4]), kn.ones([n])).tolist(), Array<number>(n).fill(9));
  }
  assert.equal(f.explain().traces.length, 1);
  for (let m = 5; m < 12; m++) assert.equal(f(kn.ones([2, m]), kn.ones([2])).size, 2);
  const signatures = f.explain().traces.map(({ signature }) => signature);
  assert.equal(signatures.length, 3);
  assert.equal(signatures[2], '(float32[n0, n1], float32[n0])');
  refuses(() => f(kn.ones([2, 4]), kn.ones([3])), kn.ArgumentError, 'dimension n0 has two sizes');
  const g = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => x.sum().add(y), {
    dynamic: [null, ['n0']],
  });
  for (let n = 3; n < 9; n++)
    assert.deepEqual(g(kn.ones([n]), kn.ones([2])).tolist(), [n + 1, n + 1]);
  assert.equal(g.explain().traces[2].signature, '(float32[n0_], float32[n0])');
});

test('at size 0 a trace for all sizes refuses what eager code refuses', () => {
  for (const f of [
    kn.hybridize((x: kn.NDArray) => x.max()),
    kn.hybridize((x: kn.NDArray) => x.max(), { dynamic: [['n']] }),
  ]) {
    for (let n = 2; n < 6; n++) assert.equal(f(kn.ones([n])).item(), 1);
    const eager = refuses(() => kn.ones([0]).max(), kn.KaonError);
    const traces = f.explain().traces.length;
    for (let i = 0; i < 2; i++) {
      const error = refuses(() => f(kn.ones([0])), kn.KaonError);
      assert.deepEqual(
        [error.name, error.problem, error.op],
        [eager.name, eager.problem, eager.op],
      );
    }
    assert.equal(f(kn.ones([1])).item(), 1);
    assert.equal(f.explain().traces.length, traces);
  }
});

test('gradients through a trace for all sizes are those of the plain function', () => {
  const w = kn.array([2, 3]);
  w.attachGrad();
  const code = (x: kn.NDArray): kn.NDArray => x.mul(w).square().sum();
  const f = kn.hybridize(code);
  for (const n of [2, 3, 4, 0, 1, 9, 1, 0]) {
    const x = filled([n, 2], n);
    const gradient = (g: typeof code): unknown => {
      kn.autograd.record(() => g(x)).backward();
      return w.grad!.tolist();
    };
    near(gradient(f), gradient(code));
  }
  assert.equal(f.explain().traces.length, 3);
});
