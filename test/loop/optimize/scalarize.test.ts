import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import * as e from '../../../src/loop/language/build.js';
import { interpretApart } from '../../../src/loop/interpret/interpret.js';
import { memoryOf } from '../../../src/loop/interpret/frame.js';
import type { Kernel } from '../../../src/loop/language/nodes.js';
import { verifyKernel } from '../../../src/loop/language/verify.js';
import { ownExprs, visitExprs, visitStmts } from '../../../src/loop/language/visit.js';
import { optimize } from '../../../src/loop/optimize/optimize.js';
import { scalarize } from '../../../src/loop/optimize/scalarize.js';
import { randomKernel } from '../random-kernel.js';
import { contentsAfter } from '../running.js';

function mostLanes({ body }: Kernel): number {
  let most = 1;
  visitStmts(body, (stmt) => {
    if ('variable' in stmt) most = Math.max(most, stmt.variable.type.lanes);
    visitExprs(ownExprs(stmt), ({ type }) => (most = Math.max(most, type.lanes)));
  });
  return most;
}

test('random kernels compute the same without vectors', () => {
  for (const entropy of fc.sample(fc.array(fc.nat(2 ** 16), { maxLength: 150 }), {
    seed: 5,
    numRuns: 60,
  })) {
    // prettier-ignore
    const kernel = optimize(randomKernel(entropy), { vectorBytes: 64 });
    const scalar = scalarize(kernel);
    verifyKernel(scalar);
    assert.equal(mostLanes(scalar), 1);
    for (const [n, m] of [[0, 3], [5, 9]]) assert.deepEqual(contentsAfter(scalar, n, m), contentsAfter(kernel, n, m)); // prettier-ignore
  }
});

test('vectorized loops compute the same without vectors', () => {
  const [out, x, k] = [e.buffer('out', 'f32'), e.buffer('x', 'f32'), e.buffer('k', 'i32')];
  const n = e.variable('n', 'i32');
  const local = e.variable('local', 'f32');
  const body = e.forLoop(
    'i',
    0,
    n,
    (i) =>
      e.block(
        e.declare(local, e.add(e.load(x, e.mul(i, 2)), e.cast('f32', e.load(k, i)))),
        e.forLoop('j', 0, 3, (j) => e.assign(local, e.mul(local, e.cast('f32', e.add(i, j))))),
        e.store(out, i, e.select(e.lt(local, 40), e.neg(local), e.load(x, e.load(k, i)))),
      ),
    { mode: 'vector' },
  );
  for (const vectorBytes of [16, 64]) {
    const kernel = optimize(e.kernel('loops', [out, x, k, n], body), { vectorBytes });
    assert.equal(mostLanes(kernel), vectorBytes / 4);
    const scalar = scalarize(kernel);
    assert.equal(mostLanes(scalar), 1);
    for (const size of [0, 1, 15, 16, 17, 35]) {
      const [found, expected] = [scalar, kernel].map((each) => {
        const results = new Float32Array(size);
        const given = [
          results,
          Float32Array.from({ length: 80 }, (_, at) => at / 7),
          Int32Array.from({ length: size }, (_, at) => (at * 5) % 40),
        ].map(({ buffer }) => ({ memory: memoryOf(buffer), address: 0 }));
        interpretApart(each, [...given, size]);
        return results;
      });
      assert.deepEqual(found, expected);
    }
  }
});

test('all lanes are read before one is replaced', () => {
  const memory = e.buffer('memory', 'i32');
  const v = e.variable('v', 'i32', 4);
  const turned = e.select(
    e.eq(e.ramp(0, 1, 4), 0),
    e.broadcast(e.extract(v, 3), 4),
    e.broadcast(e.extract(v, 0), 4),
  );
  const body = e.block(
    e.declare(v, e.load(memory, e.ramp(0, 1, 4))),
    e.assign(v, turned),
    // Each goes where the next one is read from.
    e.store(memory, e.ramp(1, 1, 4), e.add(e.load(memory, e.ramp(0, 1, 4)), v)),
  );
  const elements = Int32Array.from([1, 2, 3, 4, 5]);
  interpretApart(scalarize(e.kernel('turn', [memory], body)), [
    { memory: memoryOf(elements.buffer), address: 0 },
  ]);
  assert.deepEqual([...elements], [1, 1 + 4, 2 + 1, 3 + 1, 4 + 1]);
});
