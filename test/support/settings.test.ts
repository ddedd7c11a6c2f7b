import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ArgumentError } from '../../src/base/errors.js';
import { crossed, dealt, readSettings, settingTable } from './settings.js';
import { checkout } from './sources.js';

test('parts of a list are all of it, and none twice', () => {
  const list = Array.from({ length: 23 }, (_, k) => k);
  for (const count of [1, 2, 5, 30]) {
    const parts = Array.from({ length: count }, (_, index) => dealt(list, { index, count }));
    assert.deepEqual(parts.flat().sort((a, b) => a - b), list); // prettier-ignore
    const sizes = parts.map(({ length }) => length);
    assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1);
  }
});

test('combinations by day have every two elements of different lists; by night they are all', () => {
  const lists = [
    ['a', 'b', 'c', 'd'],
    ['e', 'f'],
    ['g', 'h', 'i'],
    ['j', 'k'],
  ] as const;
  const [a, b, c, d] = lists;
  assert.equal([...crossed(a, b, c, d, true)].length, 48);
  const some = [...crossed(a, b, c, d, false)];
  assert.equal(some.length, 16);
  for (const [at, list] of lists.entries())
    for (const [other, further] of lists.entries())
      for (const x of other === at ? [] : list)
        for (const y of further)
          assert.ok(some.some((each) => each[at] === x && each[other] === y));
});

test('settings are read from the environment, and what they are not is refused', () => {
  assert.deepEqual(readSettings({}), {
    shard: { index: 0, count: 1 },
    seed: null,
    programs: null,
    calls: null,
    isLong: false,
    isFuzzNative: false,
    test262: null,
  });
  const { shard, seed, programs } = readSettings({ KAON_SHARD: '2/5', KAON_SEED: '7', KAON_PROGRAMS: '0' }); // prettier-ignore
  assert.deepEqual([shard, seed, programs], [{ index: 1, count: 5 }, 7, 0]);
  for (const env of [
    { KAON_SHARD: '0/5' },
    { KAON_SHARD: '6/5' },
    { KAON_SHARD: '2' },
    { KAON_SEED: '-1' },
    { KAON_PROGRAMS: 'many' },
    { KAON_LONG_TESTS: 'yes' },
    { KAON_FUZZ_TIER: 'wasm' },
  ]) {
    assert.throws(() => readSettings(env), ArgumentError, JSON.stringify(env));
  }
});

test('who works on the project reads of every setting', () => {
  const text = readFileSync(join(checkout, 'docs/contributing.md'), 'utf8');
  for (const name of Object.keys(settingTable)) assert.ok(text.includes(name), name);
});
