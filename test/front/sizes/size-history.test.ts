import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SizeHistory } from '../../../src/front/sizes/size-history.js';

const after = (...calls: readonly (readonly number[])[]): SizeHistory =>
  calls.reduce((history: SizeHistory, sizes) => history.with(sizes), SizeHistory.empty);
const proposalsAfter = (...calls: readonly (readonly number[])[]): readonly string[] =>
  [...after(...calls).proposals()].map((names) => names.map((name) => name ?? '-').join(' '));

test('sizes that never changed stay numbers', () => {
  assert.deepEqual(new Set(proposalsAfter([2, 3], [2, 3])), new Set(['- -']));
  assert.equal(proposalsAfter([2, 3], [4, 3])[0], 'n0 -');
});

test('sizes that were always equal share a name, and lose it at the first difference', () => {
  assert.equal(proposalsAfter([2, 2], [4, 4])[0], 'n0 n0');
  assert.equal(proposalsAfter([2, 2], [4, 5])[0], 'n0 n1');
  assert.equal(proposalsAfter([2, 2], [4, 5], [6, 6])[0], 'n0 n1');
});

test('the second guess relies on sizes that are equal in this call, the third keeps ones', () => {
  const [, second, third] = proposalsAfter([2, 3, 5], [4, 4, 1]);
  assert.equal(second, 'n0 n0 n1');
  assert.equal(third, 'n0 n0 -');
});

test('then all names but one are tried, then one alone', () => {
  const proposals = proposalsAfter([2, 3], [4, 5]);
  assert.deepEqual(proposals.slice(-4), ['- n1', 'n0 -', 'n0 -', '- n1']);
});

test('a size that went back to its first value has changed', () => {
  assert.equal(proposalsAfter([2], [3], [2])[0], 'n0');
  assert.equal(after([2], [3], [2]).calls, 3);
});

test('a history is not changed by later calls', () => {
  const first = after([2]);
  first.with([3]);
  assert.equal(first.calls, 1);
  assert.equal([...first.with([2]).proposals()][0].join(), '');
});
