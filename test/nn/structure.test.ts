import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';

/** Replacing any part of a hybridized block must be noticed by its next call, and nothing else. */

const { nn } = kn;

class Scale extends nn.HybridBlock {
  factor: kn.nn.Parameter;

  constructor(factor: number) {
    super();
    this.factor = new nn.Parameter({ shape: [], init: nn.initializer.constant(factor) });
    this.initialize();
  }

  override forward(x: kn.NDArray): kn.NDArray {
    return x.mul(this.factor.value);
  }
}

class Net extends nn.HybridBlock {
  first: Scale = new Scale(2);
  rest: (Scale | null)[] = [new Scale(3), null];
  extra?: Scale;
  calls = 0;
  log: unknown[] = [];
  note: unknown = null;

  override forward(x: kn.NDArray): kn.NDArray {
    const scales = [this.first, ...this.rest, this.extra ?? null];
    return scales.reduce((y, scale) => (scale === null ? y : scale.call(y)), x);
  }
}

const product = (net: Net): number => Number(net.call(kn.ones([1])).item());

/** A network, its product after a change, and how many graphs that took. */
const changes: readonly (readonly [string, (net: Net) => void, number])[] = [
  ['a child is replaced', (net) => (net.first = new Scale(5)), 15],
  ['a child of a child is replaced', (net) => (net.first.factor = new Scale(7).factor), 21],
  ['an entry of a list is replaced', (net) => (net.rest[0] = new Scale(5)), 10],
  ['a place of a list is filled', (net) => (net.rest[1] = new Scale(5)), 30],
  ['an entry is taken away', (net) => (net.rest[0] = null), 2],
  ['a list grows', (net) => net.rest.push(new Scale(10)), 60],
  ['a list shrinks', (net) => (net.rest.length = 0), 2],
  ['a list is replaced', (net) => (net.rest = [new Scale(4)]), 8],
  ['a property appears', (net) => (net.extra = new Scale(4)), 24],
  [
    'a property takes the place of another',
    (net) => {
      delete (net as { note?: unknown }).note;
      net.extra = new Scale(4);
    },
    24,
  ],
];

for (const [what, change, expected] of changes) {
  test(`${what}: the next call runs another graph`, () => {
    const net = new Net().hybridize();
    assert.deepEqual([product(net), product(net), product(net)], [6, 6, 6]);
    change(net);
    assert.deepEqual([product(net), product(net), product(net)], [expected, expected, expected]);
    assert.equal(net.explain().traces.length, 2);
  });
}

test('what is no part of a block may change at will', () => {
  const net = new Net().hybridize();
  for (let i = 0; i < 5; i++) {
    net.calls++;
    net.log.push({ i });
    net.note = i % 2 === 0 ? { i } : i;
    (net as unknown as Record<string, unknown>)[`other${i}`] = 'text';
    assert.equal(product(net), 6);
  }
  net.first.factor.assign(10);
  assert.equal(product(net), 30);
  assert.equal(net.explain().traces.length, 1);
});

test('a part that comes back finds its graph', () => {
  const net = new Net().hybridize();
  const parts = [net.first, new Scale(5)];
  for (let i = 0; i < 6; i++) {
    net.first = parts[i % 2];
    assert.equal(product(net), i % 2 === 0 ? 6 : 15);
  }
  assert.equal(net.explain().traces.length, 2);
});

test('a block in two places, and one that knows its parent', () => {
  class Child extends Scale {
    parent: Family | null = null;
  }
  class Family extends nn.HybridBlock {
    left: Child = new Child(2);
    right: Child = this.left;

    override forward(x: kn.NDArray): kn.NDArray {
      return this.right.call(this.left.call(x));
    }
  }
  const family = new Family().hybridize();
  family.left.parent = family;
  const value = (): number => Number(family.call(kn.ones([1])).item());
  assert.deepEqual([value(), value()], [4, 4]);
  family.right = new Child(5);
  assert.deepEqual([value(), value()], [10, 10]);
  assert.deepEqual([...family.parameters().keys()], ['left.factor', 'right.factor']);
});

test('graphs of blocks name parameters by their path, the first where there are several', () => {
  const net = new Net();
  net.extra = net.first;
  const graph = net.graphFor(kn.ones([1]));
  assert.deepEqual([...graph.parameters.keys()].sort(), ['first.factor', 'rest.0.factor']);
});
