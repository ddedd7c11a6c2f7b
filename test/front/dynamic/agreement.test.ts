import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import * as kn from '../../../src/index.js';
import {
  attentionGradient,
  convWeightGradient,
  diagonalAdjoint,
  padAdjoint,
  sliceAdjoint,
  slidingWindowsAdjoint,
  stretchTo,
  takeAdjoint,
  withSizes,
} from '../../../src/ops/index.js';
import { near } from '../support.js';

// Two arrays whose sizes different data decides, in one operator: captured code accepts and refuses what eager code
// does, with the same errors.

type Two = (p: kn.NDArray, q: kn.NDArray) => kn.NDArray;
type Form = (a: kn.NDArray, b: kn.NDArray, m: kn.NDArray, n: kn.NDArray) => kn.NDArray;

const a = kn.arange(12).reshape([4, 3]).div(7).add(0.3);
const b = kn.arange(12).reshape([4, 3]).div(5).sub(0.7);
const mask = (bits: readonly number[]): kn.NDArray => kn.array(bits, { dtype: 'bool' });
const [three, others, two, one, none] = [
  [1, 0, 1, 1],
  [0, 1, 1, 1],
  [1, 1, 0, 0],
  [0, 0, 0, 1],
  [0, 0, 0, 0],
].map(mask);
const same = (x: kn.NDArray): kn.NDArray => kn.array(x.tolist(), { dtype: 'bool' });
const pairs = {
  'equal masks': [three, same(three)],
  'masks of equal counts': [three, others],
  'masks of other counts': [three, two],
  'one and two': [one, two],
  'two and one': [two, one],
  'one and one': [one, same(one)],
  'none and none': [none, same(none)],
  'one and none': [one, none],
  'none and one': [none, one],
  'none and two': [none, two],
} as const;

const wide = (x: kn.NDArray): kn.NDArray => kn.expandDims(x, 1);
const rows = (x: kn.NDArray): kn.NDArray => kn.expandDims(x, 0);
const steps = kn.array([1, 2, 3]).div(3);
const known = b.slice([0, 2]);
const widths = [
  [1, 2],
  [0, 0],
];

const operators: Readonly<Record<string, Two>> = {
  mul: (p, q) => p.mul(q),
  'a chain': (p, q) => p.mul(q).add(p).mul(q).sub(p.mul(p)),
  where: (p, q) => kn.where(p.greater(0.5), q, p),
  'concat of other axes': (p, q) => kn.concat([p, q], 1),
  stack: (p, q) => kn.stack([p, q]),
  'matmul along them': (p, q) => kn.matmul(p.transpose([1, 0]), q),
  'batches of matmul': (p, q) => kn.matmul(wide(p), kn.expandDims(q, 2)),
  'einsum of a label': (p, q) => kn.einsum('ij,ij->i', p, q),
  'einsum along a label': (p, q) => kn.einsum('ij,ik->jk', p, q),
  'einsum of a diagonal': (p, q) => kn.einsum('ii->i', kn.matmul(p, q.transpose([1, 0]))),
  'summands of scatterAdd': (p, q) => kn.scatterAdd(kn.ones([4, 3]), kn.argsort(p, 0), q, 0),
  'values of scatter': (p, q) => kn.scatter(kn.ones([4, 3]), kn.argsort(p, 0), q, 0),
  'channels of a convolution': (p, q) => kn.conv1d(rows(p), rows(q), { padding: 1 }),
  'channels of a convolution in groups': (p, q) =>
    kn.conv1d(kn.concat([rows(p), rows(p)], 1), kn.concat([rows(q), rows(q)]), { groups: 2 }),
  'channels of a transposed convolution': (p, q) =>
    kn.convTranspose1d(rows(p), kn.expandDims(q, 1), { strides: 2 }),
  'batches of the gradient of weights': (p, q) =>
    convWeightGradient(kn.expandDims(p, 1), kn.expandDims(q, 1), {
      kernel: [2],
      padding: [[1, 0]],
    }),
  'keys of attention': (p, q) => kn.attention(p, q, p),
  'values of attention': (p, q) => kn.attention(p, p, q),
  'batches of attention': (p, q) => kn.attention(wide(p), wide(q), wide(p)),
  'a mask of attention': (p, q) =>
    kn.attention(p, p, p, { mask: kn.matmul(q, q.transpose([1, 0])) }),
  'the gradient of attention': (p, q) => {
    const back = attentionGradient(p, p, p, q, null, { causal: false, scale: null });
    return kn.concat([back.q, back.k, back.v], 1);
  },
  'the gradient of a border': (p, q) => padAdjoint(kn.pad(p, widths), q.type.shape, widths, 'edge'),
  'the gradient of a slice': (p, q) => sliceAdjoint(p, q.type.shape, [[null, null, -1]]),
  'the gradient of a slice, of known sizes': (p, q) =>
    sliceAdjoint(known, q.type.shape, [[null, null, 1]])
      .add(q)
      .mul(p.sum()),
  'the gradient of a diagonal': (p, q) =>
    diagonalAdjoint(p.sum(1), [q.type.shape[0], q.type.shape[0]], 0, 0, 1),
  'the gradient of what was taken': (p, q) =>
    takeAdjoint(p, kn.argsort(q.sum(1)), q.type.shape, { axis: 0 }),
  'the gradient of windows': (p, q) =>
    slidingWindowsAdjoint(
      kn.slidingWindows(p.transpose([1, 0]), [2], { padding: [[1, 0]] }),
      [q.type.shape[0]],
      { kernel: [2], strides: [1], padding: [[1, 0]], dilation: [1] },
    ),
  'rows of a loop': (p, q) =>
    kn.foreach(
      ([x, y], s: kn.NDArray) => [x.mul(y), s.add(x.sum())],
      [p, q] as kn.NDArray[],
      kn.zeros([]),
    )[0],
  'states of foreach': (p, q) =>
    kn.foreach((x, s: kn.NDArray) => [[], q.mul(s.sum()).mul(x)], steps, p)[1],
  'states of whileLoop': (p, q) =>
    kn.whileLoop(
      (i: kn.NDArray) => i.less(3),
      (i: kn.NDArray, s: kn.NDArray) => [[], [i.add(1), q.mul(s.sum())]],
      [kn.array(0), p],
    )[1][1],
  'results of branches': (p, q) =>
    kn
      .cond(
        p.sum().greater(3),
        () => p.mul(2),
        () => q,
      )
      .mul(p),
  'inside of a branch': (p, q) =>
    kn.cond(
      p.sum().greater(3),
      () => p.mul(q),
      () => q.mul(q),
    ),
  'a loss': (p, q) => kn.nn.loss.mse(p, q),
  'gamma of a normalization': (p, q) => kn.layerNorm(p.transpose([1, 0]), q.sum(1), q.sum(1)),
};

const selecting =
  (f: Two): Form =>
  (x, y, m, n) =>
    f(kn.booleanMask(x, m), kn.booleanMask(y, n));

/** Numbers of a result, or the parts of the error. */
function outcome(run: () => unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(run(), (_, value: unknown) => value instanceof kn.NDArray ? value.tolist() : value)); // prettier-ignore
  } catch (error) {
    if (!(error instanceof kn.ShapeError)) throw error;
    const { op, problem, expected, actual, advice } = error;
    return { op, problem, expected, actual, advice };
  }
}

function agrees(actual: () => unknown, expected: () => unknown, what: string): void {
  const [found, wanted] = [outcome(actual), outcome(expected)];
  if (Array.isArray(wanted) && Array.isArray(found)) near(found, wanted, 1e-4);
  else assert.deepEqual(found, wanted, what);
}

const grads =
  (f: Form): ((...args: Parameters<Form>) => unknown) =>
  (x, y, m, n) =>
    kn.grad((p: kn.NDArray, q: kn.NDArray) => f(p, q, m, n).square().sum(), [0, 1])(x, y);

/** The gradient of the squared gradients of both operands. */
const second =
  (f: Form): Form =>
  (x, y, m, n) =>
    kn.grad((p: kn.NDArray) => {
      const [u, v] = kn.grad((r: kn.NDArray, s: kn.NDArray) => f(r, s, m, n).square().sum(), [0, 1])(p, y); // prettier-ignore
      return u.square().sum().add(v.square().sum());
    })(x);

for (const [name, operator] of Object.entries(operators)) {
  const f = selecting(operator);
  test(`${name}: captured code does what eager code does`, () => {
    const hybrid = kn.hybridize(f);
    const graph = kn.StaticGraph.fromJSON(JSON.parse(JSON.stringify(hybrid.graphFor(a, b, three, others).toJSON()))); // prettier-ignore
    const names = graph.inputNames;
    for (const [what, [m, n]] of Object.entries(pairs)) {
      const eager = (): unknown => f(a, b, m, n);
      agrees(() => hybrid(a, b, m, n), eager, what);
      const feeds = Object.fromEntries([a, b, m, n].map((array, i) => [names[i], array]));
      agrees(() => Object.values(graph.run(feeds))[0], eager, `read from JSON, ${what}`);
    }
    assert.equal(hybrid.explain().traces.length, 1);
  });

  test(`${name}: sizes that the data decides meet in code for any sizes`, () => {
    const dynamic = [['r', null], ['s', null], ['r'], ['s']]; // prettier-ignore
    const hybrid = kn.hybridize(f, { dynamic });
    for (const [what, [m, n]] of Object.entries(pairs))
      agrees(() => hybrid(a, b, m, n), () => f(a, b, m, n), what); // prettier-ignore
    assert.equal(hybrid.explain().traces.length, 1);
  });

  test(`${name}: gradients of first and second order`, () => {
    const hybrid = kn.hybridize(f);
    const [outside, inside, twice] = [grads(hybrid), kn.hybridize(grads(f)), kn.hybridize(second(f))]; // prettier-ignore
    for (const [what, [m, n]] of Object.entries(pairs)) {
      if (!Array.isArray(outcome(() => f(a, b, m, n)))) continue;
      const eager = (): unknown => grads(f)(a, b, m, n);
      agrees(() => outside(a, b, m, n), eager, `recorded, ${what}`);
      agrees(() => inside(a, b, m, n), eager, `captured, ${what}`);
      agrees(() => twice(a, b, m, n), () => second(f)(a, b, m, n), `second order, ${what}`); // prettier-ignore
    }
  });
}

test('gradients are given the sizes that are asked for before the call', () => {
  const makesAgree: readonly unknown[] = [withSizes, stretchTo].map(
    ({ declaration }) => declaration,
  );
  for (const [name, operator] of Object.entries(operators)) {
    if (!name.startsWith('the gradient of')) continue;
    const { program } = kn.hybridize(selecting(operator)).graphFor(a, b, three, others);
    const left: string[] = [];
    for (const id of program.graph.nodes()) {
      const node = program.node(id);
      if (node.kind !== 'call' || makesAgree.includes(node.op)) continue;
      const { op, attributes, regions } = node;
      op.infer({
        inputs: program.operands(id).map(({ type }) => type),
        attributes,
        regions,
        fresh: (hint) => symbol(hint),
        require: (condition) => {
          if (typeof condition !== 'boolean' && condition.relation === '=') left.push(op.name);
        },
      });
    }
    assert.deepEqual(left, [], name);
  }
});

test('a size of an input meets one that the data decides', () => {
  const f = (x: kn.NDArray, y: kn.NDArray, n: kn.NDArray): kn.NDArray =>
    x.mul(kn.booleanMask(y, n)).add(kn.booleanMask(y, n));
  const hybrid = kn.hybridize(f, { dynamic: [['r', null], null, null] });
  for (const count of [2, 3, 4, 5, 1, 0])
    for (const n of [three, two, one, none]) {
      const x = kn.arange(3 * count).reshape([count, 3]);
      agrees(() => hybrid(x, b, n), () => f(x, b, n), `${count}`); // prettier-ignore
    }
  // Sizes of 0 and 1 have traces of their own.
  assert.ok(hybrid.explain().traces.length <= 3);
});

test('a count for each element, or one for all', () => {
  const f = (x: kn.NDArray, n: kn.NDArray): kn.NDArray =>
    x.repeat(kn.booleanMask(kn.array([2, 0, 3, 1], { dtype: 'int32' }), n), 0);
  const hybrid = kn.hybridize(f);
  for (const rows of [3, 1, 2])
    for (const n of [three, one, two, none])
      agrees(() => hybrid(a.slice([0, rows]), n), () => f(a.slice([0, rows]), n), `${rows}`); // prettier-ignore
});

test('a wrong option is refused before sizes are computed with it, captured as eagerly', () => {
  const f = (x: kn.NDArray): kn.NDArray => sliceAdjoint(x, [2, 3], [[2, null, 0]]);
  for (const run of [f, kn.hybridize(f)]) assert.throws(() => run(kn.ones([1, 1])), kn.ArgumentError); // prettier-ignore
});
