import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gpuTarget } from '../../../src/kernels/gpu/index.js';
import * as e from '../../../src/loop/language/build.js';
import { rangesIn } from '../../../src/loop/language/verify-ranges.js';
import { overAll } from '../../../src/ops/loops.js';

test('loops of definitions have a thread for each element', () => {
  const out = e.buffer('out', 'i32');
  const shape = [e.i32(3), e.i32(4), e.i32(5)];
  const body = overAll(
    shape,
    ([i, j, k]) => e.store(out, e.add(e.mul(e.add(e.mul(i, 4), j), 5), k), e.i32(1)),
    'serial',
    { isDivided: true, target: gpuTarget },
  );
  const [range, ...others] = rangesIn(body);
  assert.equal(others.length, 0);
  assert.equal(range.step, 1);
});
