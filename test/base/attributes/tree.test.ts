import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ArgumentError } from '../../../src/base/errors.js';
import {
  flattenTree,
  sameStructure,
  type TreeStructure,
  structureToString,
  unflattenTree,
} from '../../../src/base/attributes/tree.js';

class Leaf {
  readonly brand = 'leaf';
}
const isLeaf = (value: unknown): value is Leaf => value instanceof Leaf;
const structureOf = (tree: unknown): TreeStructure => flattenTree(tree, isLeaf).structure;

test('a nested value is taken apart and put together', () => {
  const [a, b, c] = [new Leaf(), new Leaf(), new Leaf()];
  const tree = { x: a, list: [b, 'static', null, undefined, -0], deep: [[], {}, { y: [c] }] };
  const { leaves, structure } = flattenTree(tree, isLeaf);
  assert.deepEqual(leaves, [a, b, c]);
  assert.equal(leaves[1], b);
  const again = unflattenTree(structure, leaves) as typeof tree;
  assert.deepEqual(again, tree);
  assert.equal(again.deep.length, 3);
  const swapped = unflattenTree(structure, [1, 2, 3]) as {
    x: unknown;
    deep: [unknown, unknown, { y: unknown }];
  };
  assert.equal(swapped.x, 1);
  assert.deepEqual(swapped.deep[2].y, [3]);
});

test('a bare leaf and a list of one differ', () => {
  const x = new Leaf();
  assert.equal(unflattenTree(structureOf(x), [x]), x);
  assert.deepEqual(unflattenTree(structureOf([x]), [x]), [x]);
  assert.ok(!sameStructure(structureOf(x), structureOf([x])));
});

test('equality and text agree on what differs', () => {
  const x = new Leaf();
  const f = (): number => 1;
  const g = (): number => 2;
  Object.defineProperty(g, 'name', { value: 'f' });
  const trees: unknown[] = [
    x, [x], [[x]], [], {}, null, undefined, 0, -0, NaN, 1, 1n, '1', '*', 'null', true, f, g, f.name,
    { a: x, b: x }, { b: x, a: x }, { a: x }, { a: [x] }, { a: x, b: 1 }, { a: x, b: 2 },
    { 'a: *, b': x }, [x, x], [x, '*'], Symbol('s'), Symbol('s'),
  ]; // prettier-ignore
  trees.forEach((one, i) =>
    trees.forEach((other, j) => {
      const [p, q] = [structureOf(one), structureOf(other)];
      assert.equal(sameStructure(p, q), i === j, `${structureToString(p)} ${structureToString(q)}`);
      assert.equal(structureToString(p) === structureToString(q), i === j);
    }),
  );
});

test('text is readable', () => {
  const x = new Leaf();
  assert.equal(
    structureToString(structureOf([x, { mask: x, rate: 0.5, 'the key': ['a', -0] }])),
    '[*, {mask: *, rate: 0.5, "the key": ["a", -0]}]',
  );
});

test('a key __proto__ is only a key', () => {
  const tree = JSON.parse('{"__proto__": {"polluted": 1}}') as object;
  const again = unflattenTree(structureOf(tree), []) as object;
  assert.deepEqual(Object.keys(again), ['__proto__']);
  assert.equal(Object.getPrototypeOf(again), Object.prototype);
  assert.equal(({} as { polluted?: number }).polluted, undefined);
});

test('refusals name the place', () => {
  const cycle: { list: unknown[] } = { list: [1] };
  cycle.list.push(cycle);
  let deep: unknown = 0;
  for (let i = 0; i < 100_000; i++) deep = [deep];
  const cases: [unknown, RegExp][] = [
    [cycle, /contains itself[^]*at \.list\[1\]/],
    [{ a: [new Map()] }, /no place among arrays[^]*a Map at \.a\[0\]/],
    [new Date(), /no place among arrays/],
    [{ [Symbol('s')]: 1 }, /symbols as keys/],
    [deep, /nested too deeply/],
  ];
  for (const [tree, message] of cases) {
    assert.throws(
      () => structureOf(tree),
      (error) => error instanceof ArgumentError && message.test(error.message),
    );
  }
});

test('the same object may occur twice when neither is inside the other', () => {
  const shared = [new Leaf()];
  assert.equal(flattenTree({ a: shared, b: shared }, isLeaf).leaves.length, 2);
});

test('another number of leaves is refused', () => {
  const structure = structureOf([new Leaf(), new Leaf()]);
  assert.throws(() => unflattenTree(structure, [1]), ArgumentError);
  assert.throws(() => unflattenTree(structure, [1, 2, 3]), ArgumentError);
});
