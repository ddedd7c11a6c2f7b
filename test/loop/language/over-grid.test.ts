import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryOf } from '../../../src/loop/interpret/frame.js';
import { interpretApart } from '../../../src/loop/interpret/interpret.js';
import * as e from '../../../src/loop/language/build.js';
import { overGrid } from '../../../src/loop/language/team.js';

test('one range visits each index of a box once, whoever takes part', () => {
  const out = e.buffer('out', 'i32');
  const extents = ['a', 'b', 'c'].map((name) => e.variable(name, 'i32'));
  // 100 i + 10 j + k is where an index counts itself.
  const body = overGrid(extents, ([i, j, k]) => {
    const at = e.add(e.add(e.mul(i, 100), e.mul(j, 10)), k);
    return e.store(out, at, e.add(e.load(out, at), 1));
  });
  const kernel = e.kernel('count', [out, ...extents], body);
  for (const [a, b, c] of [
    [2, 3, 4],
    [1, 1, 1],
    [0, 3, 4],
    [2, 0, 4],
    [9, 1, 9],
  ]) {
    // prettier-ignore
    const counts = new Int32Array(1000);
    for (let index = 0; index < 3; index++) {
      const memory = { memory: memoryOf(counts.buffer), address: 0 };
      interpretApart(kernel, [memory, a, b, c], { index, count: 3 });
    }
    const expected = counts.map((_, at) =>
      Number(Math.floor(at / 100) < a && Math.floor(at / 10) % 10 < b && at % 10 < c),
    );
    assert.deepEqual(counts, expected);
  }
});
