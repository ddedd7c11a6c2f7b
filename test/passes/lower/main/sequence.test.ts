import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as e from '../../../../src/loop/language/build.js';
import type { Stmt } from '../../../../src/loop/language/nodes.js';
import { Sequence } from '../../../../src/passes/lower/main/sequence.js';

const at = e.variable('at', 'i32');
const numbered = (k: number): Stmt => e.assign(at, e.i32(k));
const [a, b, c, d] = [1, 2, 3, 4].map(numbered);

const team = {
  meeting: e.buffer('team', 'i32'),
  index: e.variable('thread', 'i32'),
  count: e.variable('threads', 'i32'),
};

test('one thread runs everything in order, and meets nobody', () => {
  const alone = new Sequence(null);
  alone.first(a);
  alone.everyone(b, c);
  alone.meet();
  alone.first(d);
  assert.deepEqual(alone.statements, [a, b, c, d]);
});

test('of a team the first thread runs what is for it alone, once for what stands together', () => {
  const all = new Sequence(team);
  all.everyone(a);
  assert.deepEqual(all.statements, [a], 'no branch where nothing is for the first alone');
  all.first(b);
  all.first(c);
  all.everyone(d);
  all.first(a);
  const [, together, after, last, ...rest] = all.statements;
  assert.deepEqual(rest, []);
  assert.equal(after, d);
  for (const [stmt, body] of [[together, e.block(b, c)], [last, a]] as const) {
    assert.deepEqual(stmt, e.ifThen(e.eq(team.index, 0), body));
  } // prettier-ignore
});

test('a barrier stands behind what came before it', () => {
  const all = new Sequence(team);
  all.first(a);
  all.meet();
  all.everyone(b);
  assert.deepEqual(all.statements, [
    e.ifThen(e.eq(team.index, 0), a),
    e.barrier(team.meeting, team.index, team.count),
    b,
  ]);
});
