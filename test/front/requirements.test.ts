import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';

/** What a step refuses; the line is checked apart, since eager and captured code share it. */
function refusal(step: () => unknown): object {
  try {
    step();
  } catch (error) {
    assert.ok(error instanceof kn.KaonError, String(error));
    const { name, code, op, problem, expected, actual, advice, source } = error;
    return { name, code, op, problem, expected, actual, advice, source };
  }
  return assert.fail('nothing was refused');
}

type Body = (...arrays: kn.NDArray[]) => unknown;

interface Case {
  readonly name: string;
  readonly body: Body;
  /** Shapes to learn that sizes change; the code works on them. */
  readonly works: readonly (readonly number[])[][];
  /** Shapes that eager code refuses. */
  readonly fails: readonly (readonly number[])[][];
}

const one = (...shapes: number[][]): number[][][] => shapes.map((shape) => [shape]);

const cases: readonly Case[] = [
  { name: 'topK', body: (x) => kn.topK(x, 3).values, works: one([4], [5], [6], [7], [3]), fails: one([2], [1], [0]) },
  { name: 'topK of many', body: (x) => kn.topK(x, 70).indices, works: one([71], [72], [73], [70]), fails: one([69]) },
  { name: 'max of all', body: (x) => x.max(), works: one([4, 3], [5, 2], [6, 4], [2, 2]), fails: one([0, 3], [3, 0], [0, 0]) },
  { name: 'min of an axis', body: (x) => x.min(1), works: one([4, 3], [5, 2], [6, 4], [2, 2], [0, 0], [0, 4]), fails: one([3, 0]) },
  { name: 'argmax', body: (x) => kn.argmax(x, 0), works: one([4, 3], [5, 2], [6, 4], [2, 2], [0, 0]), fails: one([0, 3]) },
  { name: 'norm', body: (x) => kn.norm(x, null, { ord: Infinity }), works: one([4], [5], [6], [2]), fails: one([0]) },
  { name: 'split', body: (x) => kn.split(x, 2), works: one([4], [6], [8], [2], [0]), fails: one([5], [3], [1]) },
  { name: 'split of an inner axis', body: (x) => kn.split(x, 3, 1)[1], works: one([2, 3], [2, 6], [2, 9]), fails: one([2, 5]) },
  { name: 'reshape with a computed extent', body: (x) => x.reshape([-1, 2]), works: one([4], [6], [8], [2], [0]), fails: one([5], [1]) },
  { name: 'reshape to fewer rows', body: (x) => x.reshape([2, -1, 3]), works: one([4, 3], [6, 3], [8, 3]), fails: one([5, 3], [1, 3]) },
  { name: 'a number of an axis', body: (x) => x.slice(3), works: one([4], [5], [6], [7]), fails: one([3], [1], [0]) },
  { name: 'a number from the end', body: (x) => x.slice(-3), works: one([4], [5], [6], [3]), fails: one([2], [0]) },
  { name: 'take', body: (x) => kn.take(x, kn.zeros([2], { dtype: 'int32' }), { axis: 0 }), works: one([4], [5], [6], [1]), fails: one([0]) },
  { name: 'pad with the edge', body: (x) => kn.pad(x, 1, { mode: 'edge' }), works: one([4], [5], [6], [1]), fails: one([0]) },
  { name: 'maxPool', body: (x) => kn.maxPool(x, 3), works: one([1, 1, 4], [1, 1, 5], [1, 1, 6], [1, 1, 3], [1, 1, 7]), fails: one([1, 1, 2], [1, 1, 1]) },
  { name: 'what nothing reads', body: (x) => { kn.topK(x, 3); return x.mul(2); }, works: one([4], [5], [6], [7]), fails: one([2]) },
  { name: 'what nothing reads, before what is read', body: (x) => { kn.topK(x, 3); return kn.topK(x, 5).values; }, works: one([6], [7], [8], [9]), fails: one([2], [4]) },
  { name: 'what a checkpoint does', body: (x) => kn.checkpoint((y: kn.NDArray) => kn.topK(y.mul(2), 3).values)(x.slice([1])), works: one([5], [6], [7], [8]), fails: one([3]) },
  { name: 'the first of two', body: (x) => [kn.topK(x.slice([1]), 3).values, x.slice(4)], works: one([5], [6], [7], [8]), fails: one([4], [3], [2]) },
]; // prettier-ignore

const arraysOf = (shapes: readonly (readonly number[])[]): kn.NDArray[] =>
  shapes.map((shape) => kn.random.uniform([...shape]));

const plain = (value: unknown): unknown =>
  value instanceof kn.NDArray ? value.tolist() : Array.isArray(value) ? value.map(plain) : value;

for (const { name, body, works, fails } of cases) {
  test(`${name}: captured code refuses what eager code refuses, and computes the rest`, () => {
    const f = kn.hybridize(body);
    for (const shapes of works) {
      const arrays = arraysOf(shapes);
      assert.deepEqual(plain(f(...arrays)), plain(body(...arrays)), JSON.stringify(shapes));
    }
    const traces = f.explain().traces.length;
    assert.ok(f.explain().traces.some(({ symbols }) => symbols.length > 0), 'nothing is symbolic');
    for (const shapes of fails) {
      const arrays = arraysOf(shapes);
      assert.deepEqual(refusal(() => f(...arrays)), refusal(() => body(...arrays)), JSON.stringify(shapes)); // prettier-ignore
    }
    assert.equal(f.explain().traces.length, traces, 'a refusal costs no trace');
    const last = arraysOf(works[1]);
    assert.deepEqual(plain(f(...last)), plain(body(...last)), 'it still works');
  }); // prettier-ignore
}

test('nothing is drawn or written by a call that is refused', () => {
  const state = kn.zeros([2]);
  state.attachGrad({ req: 'null' });
  const body = (x: kn.NDArray): kn.NDArray => {
    const noise = kn.random.normal([2]);
    state.assign(state.add(noise));
    return kn.topK(x, 3).values.add(noise.sum());
  };
  const f = kn.hybridize(body);
  for (const n of [4, 5, 6, 7]) f(kn.ones([n]));
  const before = state.tolist();
  kn.random.seed(7);
  const expected = kn.random.uniform([3]).tolist();
  kn.random.seed(7);
  assert.throws(() => f(kn.ones([2])), kn.ShapeError);
  assert.deepEqual(state.tolist(), before);
  assert.deepEqual(kn.random.uniform([3]).tolist(), expected);
});

test('gradients flow through what is required, in recordings of captured code', () => {
  const body = (x: kn.NDArray): kn.NDArray => {
    const [a, b] = kn.split(x.reshape([-1, 2]), 2, 1);
    return a.mul(b).add(kn.topK(x, 2).values.sum()).sum();
  };
  const f = kn.hybridize(body);
  for (const n of [4, 6, 8, 10, 12]) {
    const x = kn.random.uniform([n]);
    assert.deepEqual(kn.grad(f)(x).tolist(), kn.grad(body)(x).tolist(), `size ${n}`);
  }
  const odd = kn.ones([7]);
  const refuse = (g: typeof body) => refusal(() => kn.grad(g)(odd));
  assert.deepEqual(refuse(f), refuse(body));
});

test('captured code inside captured code keeps what it requires', () => {
  const inner = kn.hybridize((x: kn.NDArray) => kn.topK(x.mul(2), 3).values);
  const body = (x: kn.NDArray): kn.NDArray => inner(x.slice([1])).add(1);
  const f = kn.hybridize(body);
  for (const n of [5, 6, 7, 8]) assert.deepEqual(f(kn.ones([n])).shape, [3]);
  assert.deepEqual(refusal(() => f(kn.ones([3]))), refusal(() => body(kn.ones([3]))));
}); // prettier-ignore

test('sizes with two names are held to be equal when a graph runs, saved ones too', () => {
  const body = (a: kn.NDArray, b: kn.NDArray): kn.NDArray =>
    kn.concat([a.matmul(b), a.sum().reshape([1, 1]).tile([2, 1])], 1);
  const f = kn.hybridize(body, { dynamic: [[null, 'k'], ['m', null]] });
  // Whole numbers, since sums of others depend on the order in which a kernel for known sizes adds.
  const whole = (shape: number[]): kn.NDArray => kn.random.uniform(shape).mul(99).floor();
  const fits = (k: number): [kn.NDArray, kn.NDArray] => [whole([2, k]), whole([k, 3])];
  for (const k of [3, 4, 5]) {
    const [a, b] = fits(k);
    assert.deepEqual(f(a, b).tolist(), body(a, b).tolist());
  }
  assert.equal(f.explain().traces.length, 1);
  const [a] = fits(4);
  const [, b] = fits(5);
  const eager = refusal(() => body(a, b));
  assert.deepEqual(refusal(() => f(a, b)), eager);
  const graph = f.graphFor(...fits(3));
  const saved = kn.StaticGraph.fromJSON(JSON.parse(JSON.stringify(graph.toJSON())));
  for (const each of [graph, saved]) {
    const [first, second] = each.inputNames;
    const run = (x: kn.NDArray, y: kn.NDArray): unknown => each.run({ [first]: x, [second]: y });
    assert.deepEqual(refusal(() => run(a, b)), eager);
    const [x, y] = fits(6);
    assert.deepEqual(Object.values(run(x, y) as object)[0].tolist(), body(x, y).tolist());
  }
}); // prettier-ignore

test('gradients meet operands whose sizes have other names', () => {
  const body = (a: kn.NDArray, b: kn.NDArray): kn.NDArray => {
    const products = [a.matmul(b), kn.concat([a, b.transpose()]), kn.stack([a, b.transpose()])];
    return products.map((each) => each.square().sum()).reduce((x, y) => x.add(y));
  };
  const f = kn.hybridize(body, {
    dynamic: [
      [null, 'k'],
      ['m', null],
    ],
  });
  for (const k of [3, 4]) {
    const [a, b] = [kn.random.uniform([2, k]), kn.random.uniform([k, 2])];
    const [eager, captured] = [body, f].map((g) => kn.grad(g, [0, 1])(a, b));
    captured.forEach((each, i) => {
      assert.deepEqual(each.shape, eager[i].shape);
      const apart = each.sub(eager[i]).abs().max().item();
      assert.ok(Number(apart) < 1e-4, `${String(apart)}`);
    });
  }
  assert.equal(f.explain().traces.length, 1);
});
