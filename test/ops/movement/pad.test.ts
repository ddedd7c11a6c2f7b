import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import { pad, type PadMode } from '../../../src/ops/index.js';
import { indicesOf, positionOf, randomOperand, sizeOf } from '../../support/arrays.js';
import {
  elementAt,
  evaluate,
  expectElements,
  gradientsOf,
  inferred,
} from '../../support/evaluate.js';
import { floats } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const random = generator(8);

/** The position that a place of the border shows, by walking there step by step; null: the fill value. */
function source(place: number, extent: number, mode: PadMode): number | null {
  if (place >= 0 && place < extent) return place;
  if (mode === 'constant') return null;
  if (mode === 'edge') return place < 0 ? 0 : extent - 1;
  let at = place < 0 ? 0 : extent - 1;
  let direction = place < 0 ? 1 : -1;
  const steps = place < 0 ? -place : place - extent + 1;
  for (let step = 0; step < steps; step++) {
    if (mode === 'wrap') at = (at - direction + extent) % extent;
    else if (extent > 1) {
      if (at + direction < 0 || at + direction >= extent) direction = -direction;
      at += direction;
    }
  }
  return at;
}

const modes = ['constant', 'edge', 'reflect', 'wrap'] as const;

test('every mode shows what a walk outwards from the edge shows', () => {
  for (const shape of [
    [3, 4],
    [1, 5],
    [2, 1],
  ]) {
    for (const widths of [
      [
        [1, 2],
        [0, 3],
      ],
      [
        [4, 0],
        [9, 2],
      ],
      [
        [0, 0],
        [0, 0],
      ],
    ]) {
      for (const mode of modes) {
        const x = randomOperand(random, shape, 'float32');
        const result = shape.map((extent, axis) => extent + widths[axis][0] + widths[axis][1]);
        expectElements(
          [x],
          (v) => pad(v, widths, { mode, value: 0.5 }),
          result,
          (index) => {
            const from = index.map((at, axis) => source(at - widths[axis][0], shape[axis], mode));
            return from.includes(null) ? 0.5 : elementAt(x, from as number[]);
          },
        );
      }
    }
  }
});

test('widths are a number, a pair, or pairs; empty arrays can be surrounded by a constant', () => {
  const shapeOf = (widths: Parameters<typeof pad>[1], shape: readonly number[]): string =>
    inferred([{ dtype: 'int64', shape }], (v) => pad(v, widths));
  assert.equal(shapeOf(2, [1, 3]), 'int64[5, 7]');
  assert.equal(shapeOf([1, 0], [1, 3]), 'int64[2, 4]');
  assert.equal(shapeOf([[1, 0]], [1, 3]), 'int64[2, 4]');
  assert.equal(shapeOf([[1], [2]], [1, 3]), 'int64[3, 7]');
  const n = symbol('n');
  assert.equal(
    inferred([{ dtype: 'bool', shape: [n] }], (v) => pad(v, [1, 2])),
    'bool[n + 3]',
  );
  expectElements(
    [floats([0, 1], [])],
    (v) => pad(v, 1, { value: 7 }),
    [2, 3],
    () => 7,
  );
  expectElements(
    [floats([], [4])],
    (v) => pad(v, []),
    [],
    () => 4,
  );
  const wide = randomOperand(random, [2], 'int64');
  expectElements([wide], (v) => pad(v, 1, { value: -3.9 }), [4], ([i]) => i === 0 || i === 3 ? -3n : elementAt(wide, [i - 1])); // prettier-ignore
});

test('a border hands its gradient to the elements it shows', () => {
  for (const mode of modes) {
    const shape = [3, 2];
    const widths = [
      [2, 3],
      [1, 4],
    ];
    const weights = randomOperand(random, [8, 7]);
    const expected = Array.from({ length: sizeOf(shape) }, () => 0);
    for (const index of indicesOf([8, 7])) {
      const from = index.map((at, axis) => source(at - widths[axis][0], shape[axis], mode));
      if (!from.includes(null))
        expected[positionOf(from as number[], shape)] += Number(elementAt(weights, index));
    }
    const [actual] = gradientsOf([randomOperand(random, shape)], (v) => pad(v, widths, { mode }), weights); // prettier-ignore
    actual!.forEach((value, at) => assert.ok(Math.abs(value - expected[at]) < 1e-12, mode));
  }
});

test('mistakes are refused', () => {
  const x = floats([2], [1, 2]);
  const run = (...args: unknown[]): unknown =>
    evaluate([x], (v) => pad(v, ...(args as [number, { mode: PadMode }])));
  assert.throws(() => run(-1), ArgumentError);
  assert.throws(() => run(0.5), ArgumentError);
  assert.throws(() => run([[1, 2], [3, 4]]), /one pair, or 1/); // prettier-ignore
  assert.throws(() => run([1, 2, 3]), /3 pairs/);
  assert.throws(() => run(1, { mode: 'mirror' }), /constant, edge, reflect, wrap/);
  const empty = floats([0], []);
  assert.throws(() => evaluate([empty], (v) => pad(v, 1, { mode: 'edge' })), ShapeError);
});
