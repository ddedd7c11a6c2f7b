import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addDim, symbol, symbolsOf } from '../../../src/base/dim/index.js';
import { CapturedSizes } from '../../../src/front/capture/sizes.js';

const describeNothing = (): null => null;
const sizesOf = (
  known: Readonly<Record<string, number>> = {},
  parent: CapturedSizes<object> | null = null,
): CapturedSizes<object> =>
  new CapturedSizes(new Map(Object.entries(known)), parent, describeNothing);
const [n, m] = [symbol('n'), symbol('m')];

test('a size is evaluated without being noted, and noted when it is read', () => {
  const sizes = sizesOf({ n: 3 });
  assert.equal(sizes.evaluate(addDim(n, 2)), 5);
  assert.equal(sizes.readAsNumbers.size, 0);
  assert.equal(sizes.read(addDim(n, 2)), 5);
  assert.deepEqual([...sizes.readAsNumbers.keys()], ['n']);
});

test('a size that only the data decides is neither evaluated nor noted', () => {
  const sizes = sizesOf({ n: 3 });
  assert.equal(sizes.evaluate(addDim(n, m)), undefined);
  assert.equal(sizes.read(addDim(n, m)), undefined);
  assert.equal(sizes.readAsNumbers.size, 0);
});

test('a body notes what it reads for the code around it', () => {
  const outer = sizesOf({ n: 3 });
  const inner = sizesOf({ n: 3 }, outer);
  inner.read(n);
  inner.handOut(m);
  assert.deepEqual([...outer.readAsNumbers.keys()], ['n']);
  assert.deepEqual([...outer.handedOut], ['m']);
});

test('sizes found by a body are not those of the code around it', () => {
  const outer = sizesOf({ n: 3 });
  const inner = sizesOf({ n: 3 }, outer);
  inner.known.set('m', 4);
  assert.equal(inner.evaluate(m), 4);
  assert.equal(outer.evaluate(m), undefined);
});

test('equal sizes are handed out as one object, also to a body', () => {
  const outer = sizesOf();
  const inner = sizesOf({}, outer);
  const first = outer.handOut(addDim(symbol('n'), 1));
  assert.equal(inner.handOut(addDim(symbol('n'), 1)), first);
  assert.notEqual(inner.handOut(addDim(symbol('n'), 2)), first);
  assert.equal(outer.handOut(7), 7);
  assert.deepEqual([...outer.handedOut], ['n']);
});

test('only sizes whose symbols are all declared must stay symbols', () => {
  const sizes = sizesOf();
  assert.ok(!sizes.isDeclared(n));
  sizes.declared = new Set(['n']);
  assert.ok(sizes.isDeclared(n));
  assert.ok(!sizes.isDeclared(addDim(n, m)));
  assert.ok(!sizes.isDeclared(4));
});

test('reads that must not specialize leave no trace, even when they throw', () => {
  const sizes = sizesOf({ n: 3, m: 4 });
  sizes.declared = new Set(['n']);
  sizes.read(m);
  const inside = sizes.withoutNoting(() => [sizes.isDeclared(n), sizes.read(n), sizes.read(m)]);
  assert.deepEqual(inside, [false, 3, 4]);
  assert.throws(() =>
    sizes.withoutNoting(() => {
      sizes.read(n);
      throw new Error('refused');
    }),
  );
  assert.deepEqual([...sizes.readAsNumbers.keys()], ['m']);
  assert.ok(sizes.isDeclared(n));
});

test('fresh symbols differ between captures, and keep one suffix', () => {
  const [a, b] = [sizesOf().fresh('kept'), sizesOf().fresh('kept_3')];
  const [[one], [other]] = [a, b].map((dim) => [...symbolsOf(dim)]);
  assert.notEqual(one, other);
  for (const name of [one, other]) assert.match(name, /^kept_\d+$/);
});

test('sizes are told by the inputs and the data of a capture and of those around it', () => {
  const outer = sizesOf();
  const inner = sizesOf({}, outer);
  outer.given.add('n');
  outer.decided.set('k', {});
  inner.given.add('row');
  const told = (sizes: typeof inner): boolean[] => ['n', 'k', 'row', 'unknown'].map((name) => sizes.tells(name)); // prettier-ignore
  assert.deepEqual([told(inner), told(outer)], [[true, true, true, false], [true, true, false, false]]); // prettier-ignore
});
