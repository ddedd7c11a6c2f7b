import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refuseElements } from '../../../src/ops/declare/check.js';
import { symbol } from '../../../src/base/dim/index.js';
import type { DType } from '../../../src/base/dtype.js';
import { ArgumentError, DTypeError, ShapeError } from '../../../src/base/errors.js';
import type { Declaration } from '../../../src/ops/declare/declare.js';
import { gather, type IndexMode, scatter, scatterAdd, take } from '../../../src/ops/index.js';
import { indicesOf, positionOf, randomOperand, sizeOf } from '../../support/arrays.js';
import {
  elementAt,
  evaluate,
  expectElements,
  gradientsOf,
  inferred,
} from '../../support/evaluate.js';
import { elementsOf, floats, operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const random = generator(13);

/** The position that an index means, in words of the mode. */
function position(index: number, extent: number, mode: IndexMode): number {
  if (mode === 'wrap') return ((index % extent) + extent) % extent;
  if (mode === 'clip') return Math.min(Math.max(index, 0), extent - 1);
  return index < 0 ? index + extent : index;
}

test('indices of any integer dtype and shape take the place of an axis', () => {
  for (const dtype of ['int8', 'uint8', 'int32', 'int64'] as DType[]) {
    for (const count of [[4], [2, 3], [], [0]]) {
      const x = randomOperand(random, [3, 5, 2], 'int64');
      for (const axis of [0, 1, 2, -1]) {
        const at = axis < 0 ? 2 : axis;
        const low = dtype === 'uint8' ? 0 : -x.shape[at];
        const list = Array.from({ length: sizeOf(count) }, () => low + Math.floor(random() * (x.shape[at] - low))); // prettier-ignore
        const indices = operand(dtype, count, list.map((i) => (dtype === 'int64' ? BigInt(i) : i))); // prettier-ignore
        const shape = [...x.shape.slice(0, at), ...count, ...x.shape.slice(at + 1)];
        expectElements(
          [x, indices],
          (v, i) => take(v, i, { axis }),
          shape,
          (index) => {
            const place = Number(elementAt(indices, index.slice(at, at + count.length)));
            return elementAt(x, [
              ...index.slice(0, at),
              position(place, x.shape[at], 'error'),
              ...index.slice(at + count.length),
            ]);
          },
        );
      }
    }
  }
});

test('without an axis positions are those of the flattened array', () => {
  const x = randomOperand(random, [2, 3]);
  const order = indicesOf([2, 3]);
  expectElements(
    [x],
    (v) => take(v, [5, -6, 2]),
    [3],
    ([k]) => elementAt(x, order[[5, 0, 2][k]]),
  );
  expectElements(
    [x],
    (v) => take(v, 4),
    [],
    () => elementAt(x, order[4]),
  );
  expectElements(
    [x],
    (v) => take(v, [], { axis: 0 }),
    [0, 3],
    () => 0,
  );
});

test('clip and wrap accept any index, even beyond 32 bits', () => {
  const x = randomOperand(random, [5]);
  const list = [-100, -6, -5, -1, 0, 4, 5, 9, 2 ** 40 + 1, -(2 ** 40)];
  const indices = operand('int64', [list.length], list.map(BigInt));
  for (const mode of ['clip', 'wrap'] as const) {
    expectElements(
      [x, indices],
      (v, i) => take(v, i, { axis: 0, mode }),
      [list.length],
      ([k]) => elementAt(x, [position(list[k], 5, mode)]),
    );
  }
});

test('in mode error an index that only the kernel sees is held to the axis', () => {
  const x = floats([3], [10, 20, 30]);
  const wild = operand('int64', [5], [3n, -4n, 2n ** 62n, -(2n ** 62n), 2n ** 32n]);
  const [y] = evaluate([x, wild], (v, i) => take(v, i, { axis: 0 }));
  assert.deepEqual(elementsOf(y), [30, 10, 30, 10, 30]);
});

test('a position taken several times sums up its gradients', () => {
  const x = randomOperand(random, [4, 2]);
  const indices = operand('int32', [2, 3], [3, 0, 3, -1, 3, 1]);
  for (const axis of [0, 1, null]) {
    const mode = axis === 1 ? 'wrap' : 'error';
    const [y] = evaluate([x, indices], (v, i) => take(v, i, { axis, mode }));
    const weights = randomOperand(random, y.shape);
    const expected = Array.from({ length: 8 }, () => 0);
    for (const index of indicesOf(y.shape)) {
      const at = axis === 1 ? 1 : 0;
      const raw = Number(elementAt(indices, axis === null ? index : index.slice(at, at + 2)));
      const extent = axis === null ? 8 : x.shape[axis];
      const place = position(raw, extent, mode);
      const source =
        axis === null
          ? place
          : positionOf([...index.slice(0, at), place, ...index.slice(at + 2)], x.shape);
      expected[source] += Number(elementAt(weights, index));
    }
    const [grad, none] = gradientsOf([x, indices], (v, i) => take(v, i, { axis, mode }), weights);
    grad!.forEach((value, k) => assert.ok(Math.abs(value - expected[k]) < 1e-12));
    assert.equal(none, null);
  }
});

test('mistakes name the index, the axis or the dtype', () => {
  const x = floats([2, 3], [1, 2, 3, 4, 5, 6]);
  const run = (indices: unknown, options?: Parameters<typeof take>[2]): unknown =>
    evaluate([x], (v) => take(v, indices as number[], options));
  assert.throws(() => run([0, 3], { axis: 1 }), (error: Error) => {
    assert.ok(error instanceof ArgumentError);
    assert.match(error.message, /take: index 3 is outside the axis/);
    assert.match(error.message, /from -3 to 2/);
    return true;
  }); // prettier-ignore
  assert.throws(() => run([[0], [-3]], { axis: 0 }), ArgumentError);
  assert.throws(() => run(6), ArgumentError);
  assert.throws(() => run([0.5]), DTypeError);
  assert.throws(() => run([true, false]), /booleanMask/);
  assert.throws(() => run([0], { axis: 2 }), ShapeError);
  assert.throws(() => run([0], { mode: 'raise' as IndexMode }), /error, clip, wrap/);
  const empty = floats([0, 2], []);
  assert.throws(() => evaluate([empty], (v) => take(v, [0], { axis: 0, mode: 'clip' })), ShapeError); // prettier-ignore
  const floating = floats([1], [0]);
  assert.throws(() => evaluate([x, floating], (v, i) => take(v, i)), DTypeError);
});

test('positions that are known before a call are checked', () => {
  const types = [{ dtype: 'float32' as const, shape: [2, 3] }, { dtype: 'int64' as const, shape: [2] }]; // prettier-ignore
  const check = (
    op: { readonly declaration: Declaration },
    positions: bigint[],
    attributes: object,
  ): void => {
    const check = op.declaration.check!;
    assert.equal(check.operand, 1);
    refuseElements(check, BigInt64Array.from(positions), types, { ...attributes });
  };
  check(take, [-3n, 2n], { axis: 1, mode: 'error' });
  check(take, [-7n, 99n], { axis: 1, mode: 'wrap' });
  assert.throws(() => check(take, [0n, 3n], { axis: 1, mode: 'error' }), /index 3 is outside/);
  assert.throws(() => check(take, [-7n, 0n], { axis: null, mode: 'error' }), ArgumentError);
  for (const op of [gather, scatter, scatterAdd]) {
    check(op, [1n, -2n], { axis: 0 });
    assert.throws(() => check(op, [0n, 2n], { axis: 0 }), /index 2 is outside/);
  }
});

test('shapes stay symbolic', () => {
  const [n, k] = [symbol('n'), symbol('k')];
  const types = [
    { dtype: 'float16' as const, shape: [n, 3] },
    { dtype: 'int32' as const, shape: [k, 2] },
  ];
  assert.equal(
    inferred(types, (v, i) => take(v, i, { axis: 0 })),
    'float16[k, 2, 3]',
  );
  assert.equal(
    inferred(types, (v, i) => take(v, i)),
    'float16[k, 2]',
  );
});
