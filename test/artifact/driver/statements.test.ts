import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PlacedStatement, withoutUnused } from '../../../src/artifact/driver/statements.js';
import { addDim, type Dim, subDim, symbol } from '../../../src/base/dim/index.js';

const [a, b, c, i] = [symbol('a'), symbol('b'), symbol('c'), symbol('i')];
const set = (name: string, value: Dim): PlacedStatement => ({ kind: 'set', name, value });
const assign = (name: string, value: Dim): PlacedStatement => ({ kind: 'assign', name, value });

/** A loop that adds `a` to `b` and counts in `i`; `c` follows `b` from iteration to iteration. */
const loop = (...more: readonly PlacedStatement[]): readonly PlacedStatement[] => [
  set('a', 2),
  set('b', 0),
  set('c', 1),
  set('i', 0),
  {
    kind: 'repeat',
    body: [
      assign('b', addDim(b, a)),
      assign('c', addDim(c, b)),
      assign('i', addDim(i, 1)),
      ...more,
    ],
  },
];

const names = (body: readonly PlacedStatement[]): readonly string[] =>
  body.flatMap((each) => {
    if (each.kind === 'repeat') return names(each.body);
    return 'name' in each ? [each.name] : [];
  });

test('a name goes where nothing asks for it but its own next value, and with it what it alone asks for', () => {
  const leave: PlacedStatement = { kind: 'leave', when: { dim: subDim(i, 3), relation: '>=' } };
  assert.deepEqual(names(withoutUnused(loop(leave), [])), ['i', 'i']);
  assert.deepEqual(names(withoutUnused(loop(leave), [b])), ['a', 'b', 'i', 'b', 'i']);
  assert.deepEqual(names(withoutUnused(loop(leave), [c])), ['a', 'b', 'c', 'i', 'b', 'c', 'i']);
  assert.deepEqual(names(withoutUnused(loop(), [])), []);
  const asked: PlacedStatement = { kind: 'store', to: a, value: b };
  assert.deepEqual(names(withoutUnused(loop(asked), [])), ['a', 'b', 'b']);
});
