import assert from 'node:assert/strict';
import { test } from 'node:test';
import { minDim, symbol } from '../../../src/base/dim/index.js';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import { requireOrKeep } from '../../../src/ir/requirement.js';
import type { Shape } from '../../../src/ir/types.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { broadcastTo, sumTo } from '../../../src/ops/reduction/sum.js';
import {
  broadcastShapes,
  checkShape,
  normalizeAxes,
  normalizeAxis,
  reducedShape,
} from '../../../src/ops/declare/infer.js';
import { randomOperand } from '../../support/arrays.js';
import { elementAt, evaluate, expectElements, gradientsOf } from '../../support/evaluate.js';
import { elementsOf, floats } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const n = symbol('n');
const m = symbol('m');

/** What is required of sizes that are not known yet, as conditions. */
function broadcast(...shapes: readonly Shape[]): { shape: Shape; required: string[] } {
  const required: string[] = [];
  const require = requireOrKeep(({ condition: { dim, relation } }) =>
    required.push(`${String(dim)} ${relation} 0`),
  );
  return { shape: broadcastShapes('add', shapes, require), required };
}

test('shapes broadcast from the last axis; a symbol stretches a 1 and meets only itself', () => {
  for (const [shapes, shape] of [
    [[], []],
    [[[2, 1], [3]], [2, 3]],
    [[[1], [0]], [0]],
    [[[], [4], [5, 1, 1]], [5, 1, 4]],
    [[[n, 1], [1, m], [n, m]], [n, m]],
  ] as const) {
    assert.deepEqual(broadcast(...shapes), { shape, required: [] });
  } // prettier-ignore
  for (const [a, b] of [
    [[2], [3]],
    [[n], [m]],
    [[n], [2]],
    [[0], [2]],
  ]) {
    assert.throws(() => broadcast(a, b), (error: Error) => {
      assert.ok(error instanceof ShapeError);
      assert.match(error.message, /^add: the shapes do not broadcast\n.*\n.* \[\w\] and \[\w\]/);
      return true;
    }); // prettier-ignore
  }
});

test('sizes that are 1 only together are required to be equal', () => {
  const [some, more] = [symbol('some', { min: 2 }), symbol('more', { min: 2 })];
  assert.deepEqual(broadcast([some], [more]), { shape: [some], required: ['more - some = 0'] });
  // 20 is not 1, so that the lesser of it and n is 1 only where n is.
  for (const shapes of [[[minDim(20, n)], [n]], [[n], [minDim(20, n)]]]) {
    assert.deepEqual(broadcast(...shapes), { shape: [n], required: ['min(20, n) - n = 0'] });
  } // prettier-ignore
  assert.throws(() => broadcast([minDim(m, n)], [n]), ShapeError);
  assert.throws(() => broadcast([some], [n]), ShapeError);
});

test('axes count from either end and are named once', () => {
  assert.equal(normalizeAxis('sum', -1, 3), 2);
  assert.deepEqual(normalizeAxes('sum', null, 3), [0, 1, 2]);
  assert.deepEqual(normalizeAxes('sum', [-1, 0], 3), [0, 2]);
  assert.deepEqual(normalizeAxes('sum', [], 3), []);
  assert.deepEqual(normalizeAxes('sum', 1, 3), [1]);
  assert.throws(() => normalizeAxis('sum', 3, 3), /from -3 to 2\n.* 3/);
  assert.throws(() => normalizeAxis('sum', 0, 0), /rank 0/);
  assert.throws(() => normalizeAxis('sum', 0.5, 3), ShapeError);
  assert.throws(() => normalizeAxes('sum', [0, -3], 3), ArgumentError);
  assert.deepEqual(reducedShape([n, 2, m], [0, 2], false), [2]);
  assert.deepEqual(reducedShape([n, 2, m], [0, 2], true), [1, 2, 1]);
});

test('extents are not negative', () => {
  checkShape('fill', [0, n, 3]);
  assert.throws(() => checkShape('fill', [2, -1]), /0 or more\n.*\[2, -1\]/);
});

test('broadcastTo repeats, and sumTo takes the copies together again', () => {
  const cases = [
    [[3], [2, 3]],
    [
      [2, 1],
      [2, 4],
    ],
    [
      [1, 1],
      [3, 0],
    ],
    [[], [2, 2]],
    [
      [2, 3],
      [2, 3],
    ],
  ] as const;
  const random = generator(17);
  for (const [from, to] of cases) {
    const x = randomOperand(random, from);
    const lead = to.length - from.length;
    expectElements(
      [x],
      (v) => broadcastTo(v, to),
      to,
      (index) =>
        elementAt(
          x,
          index.slice(lead).map((at, axis) => (from[axis] === 1 ? 0 : at)),
        ),
    );
    const [total] = evaluate([randomOperand(random, to)], (v) => sumTo(v, from));
    assert.deepEqual(total.shape, from);
  }
  // In two steps, 257 would first be rounded to 256.
  const ones = new Uint16Array(257 * 3).fill(0x3f80);
  const many = { storage: new Storage('bfloat16', ones), shape: [3, 1, 257] };
  for (const shape of [[1, 1], [1], []]) {
    const [total] = evaluate([many], (v) => sumTo(v, shape));
    assert.deepEqual(total.shape, shape);
    assert.deepEqual(elementsOf(total), [772]);
  }
  const weights = floats([2, 2], [1, 2, 3, 4]);
  assert.deepEqual(gradientsOf([floats([2, 1], [0, 0])], (v) => broadcastTo(v, [2, 2]), weights), [[3, 7]]); // prettier-ignore
  assert.deepEqual(gradientsOf([floats([2], [0, 0])], (v) => broadcastTo(v, [2, 2]), weights), [[4, 6]]); // prettier-ignore
  const x = floats([2], [1, 2]);
  for (const shape of [[3], [1], [2, 1], [], [2, -1]]) {
    assert.throws(() => evaluate([x], (v) => broadcastTo(v, shape)), ShapeError);
  }
});
