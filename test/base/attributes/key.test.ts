import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dims, number, oneOf } from '../../../src/base/attributes/attribute.js';
import { attributesKey } from '../../../src/base/attributes/key.js';
import { symbol } from '../../../src/base/dim/index.js';
import { ArgumentError } from '../../../src/base/errors.js';
import { registry } from '../../../src/ops/registry.js';

test('attributes have different keys exactly when they differ', () => {
  const slice = registry.get('slice')!;
  const lists: unknown[][] = [
    [0], [-0], [1], [null], ['...'], [[0, null, 1]], [[null, 0, 1]], [[0, 1, 1]], [0, 1], [[0, 1, 2]], [],
  ]; // prettier-ignore
  const keys = lists.map((indices) => attributesKey(slice, { indices }));
  assert.equal(new Set(keys).size, lists.length);
  lists.forEach((indices, i) =>
    assert.equal(attributesKey(slice, { indices: [...indices] }), keys[i]),
  );
});

test('numbers that print alike have different keys', () => {
  const op = { name: 'op', attributes: { slope: number } };
  const values = [-0, 0, 1, -1, 1e21, 5e-324, NaN, Infinity, -Infinity];
  const keys = values.map((slope) => attributesKey(op, { slope }));
  assert.equal(new Set(keys).size, values.length);
});

test('symbolic sizes count by what they are', () => {
  const op = { name: 'op', attributes: { shape: dims } };
  const [n, m] = [symbol('n'), symbol('m')];
  const shapes = [[n], [m], [n, m], [m, n], [n, 2], [2, 2]];
  const keys = shapes.map((shape) => attributesKey(op, { shape }));
  assert.equal(new Set(keys).size, shapes.length);
  assert.equal(attributesKey(op, { shape: [symbol('n'), 2] }), keys[4]);
});

test('the order of attributes in a call does not count, their names do', () => {
  const op = { name: 'op', attributes: { a: number, b: number } };
  assert.equal(attributesKey(op, { a: 1, b: 2 }), attributesKey(op, { b: 2, a: 1 }));
  assert.notEqual(attributesKey(op, { a: 1, b: 2 }), attributesKey(op, { a: 2, b: 1 }));
  assert.equal(attributesKey({ name: 'op', attributes: {} }, {}), '');
});

test('text is told from the number that it reads like, or refused', () => {
  const op = { name: 'op', attributes: { mode: oneOf('a', 'null', '1') } };
  const keys = ['a', 'null', '1'].map((mode) => attributesKey(op, { mode }));
  assert.equal(new Set([...keys, ';null', ';1', ';a']).size, 6);
  assert.throws(() => attributesKey(op, { mode: 'b' }), ArgumentError);
});
