import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Column, table } from '../../src/base/text-table.js';

test('columns are as wide as their longest cell, and nothing follows the last one', () => {
  const columns: readonly Column<readonly [string, number]>[] = [
    { title: 'name', align: 'left', show: ([name]) => name },
    { title: 'n', align: 'right', show: ([, count]) => String(count) },
    { title: 'again', align: 'left', show: ([name]) => name },
  ];
  assert.deepEqual(table(columns, [['a', 100], ['longer', 7]]), [
    'name      n  again',
    'a       100  a',
    'longer    7  longer',
  ]); // prettier-ignore
  assert.deepEqual(table(columns, []), ['name  n  again']);
});
