import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DType } from '../../../src/base/dtype.js';
import { ShapeError } from '../../../src/base/errors.js';
import * as kn from '../../../src/index.js';
import { cast, cos, flip, gather, matmul, mul, tan } from '../../../src/ops/index.js';
import { indicesOf, numbersOf, positionOf, randomOperand } from '../../support/arrays.js';
import { assertClose } from '../../support/close.js';
import { evaluate } from '../../support/evaluate.js';
import { elementsOf, operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

interface Expected {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

/** NumPy's rules by the book: every element of the result is one loop over the inner axis. */
function naive(
  x: readonly number[],
  xShape: readonly number[],
  y: readonly number[],
  yShape: readonly number[],
): Expected {
  const left = xShape.length === 1 ? [1, ...xShape] : xShape;
  const right = yShape.length === 1 ? [...yShape, 1] : yShape;
  const rank = Math.max(left.length, right.length) - 2;
  const batchOf = (shape: readonly number[]): number[] => [
    ...Array.from({ length: rank - shape.length + 2 }, () => 1),
    ...shape.slice(0, -2),
  ];
  const [a, b] = [batchOf(left), batchOf(right)];
  const batch = a.map((extent, axis) => (extent === 1 ? b[axis] : extent));
  const [m, k, n] = [left.at(-2)!, left.at(-1)!, right.at(-1)!];
  const data = indicesOf([...batch, m, n]).map((index) => {
    const [i, j] = index.slice(-2);
    const within = (own: readonly number[]): number[] =>
      own.map((extent, axis) => (extent === 1 ? 0 : index[axis]));
    let sum = 0;
    for (let at = 0; at < k; at++) {
      sum +=
        x[positionOf([...within(a), i, at], [...a, m, k])] *
        y[positionOf([...within(b), at, j], [...b, k, n])];
    }
    return sum;
  });
  const shape = [
    ...batch,
    ...(xShape.length === 1 ? [] : [m]),
    ...(yShape.length === 1 ? [] : [n]),
  ];
  return { shape, data };
}

const shapes: readonly (readonly [readonly number[], readonly number[]])[] = [
  [[1, 1], [1, 1]],
  [[3, 4], [4, 5]],
  [[9, 7], [7, 13]],
  [[17, 33], [33, 19]],
  [[4, 8], [8, 8]],
  [[0, 3], [3, 2]],
  [[2, 0], [0, 3]],
  [[2, 3], [3, 0]],
  [[5], [5]],
  [[5], [5, 3]],
  [[3, 5], [5]],
  [[0], [0]],
  [[5], [2, 5, 3]],
  [[2, 3, 5], [5]],
  [[2, 3, 4], [4, 5]],
  [[3, 4], [2, 4, 5]],
  [[2, 1, 3, 4], [5, 4, 2]],
  [[2, 3, 3, 4], [1, 4, 6]],
  [[0, 3, 4], [4, 5]],
  [[1, 3, 4], [2, 4, 1]],
]; // prettier-ignore

for (const [xShape, yShape] of shapes) {
  test(`[${xShape}] by [${yShape}] is what loops give, in every kind of number`, () => {
    const random = generator(xShape.length + 7 * yShape.length);
    for (const dtype of ['float64', 'float32', 'int32', 'int64'] as const satisfies DType[]) {
      const x = randomOperand(random, xShape, dtype);
      const y = randomOperand(random, yShape, dtype);
      const [result] = evaluate([x, y], (a, b) => matmul(a, b));
      const expected = naive(numbersOf(x), xShape, numbersOf(y), yShape);
      assert.deepEqual(result.shape, expected.shape);
      assert.equal(result.storage.dtype, dtype);
      assertClose(numbersOf(result), expected.data, dtype === 'float32' ? 1e-5 : 1e-12);
    }
  });
}

test('int64 sums are exact beyond 2^53, int8 wraps, bool asks for any pair', () => {
  const big = 2n ** 62n - 1n;
  const [wide] = evaluate(
    [operand('int64', [1, 2], [big, 1n]), operand('int64', [2, 1], [1n, 2n])],
    (x, y) => matmul(x, y),
  );
  assert.deepEqual(elementsOf(wide), [big + 2n]);
  const [narrow] = evaluate(
    [operand('int8', [1, 2], [100, 100]), operand('int8', [2, 1], [1, 1])],
    (x, y) => matmul(x, y),
  );
  assert.deepEqual(elementsOf(narrow), [200 - 256]);
  const [any] = evaluate(
    [
      operand('bool', [2, 2], [true, false, false, false]),
      operand('bool', [2, 2], [true, true, true, false]),
    ],
    (x, y) => matmul(x, y),
  );
  assert.deepEqual(elementsOf(any), [true, true, false, false]);
});

test('16-bit floats are summed in float32 and rounded once', () => {
  for (const dtype of ['float16', 'bfloat16'] as const) {
    const count = 512;
    const tiny = 2 ** -9; // added to 1 one by one in 16 bits, some or all of these would be lost
    const row = [1, ...Array.from({ length: count }, () => tiny)];
    const [result] = evaluate(
      [
        operand(dtype, [1, count + 1], row),
        operand(
          dtype,
          [count + 1, 1],
          row.map(() => 1),
        ),
      ],
      (x, y) => matmul(x, y),
    );
    assert.deepEqual(elementsOf(result), [1 + count * tiny]);
    assert.equal(result.storage.dtype, dtype);
  }
});

test('mixed dtypes promote', () => {
  const [result] = evaluate(
    [operand('int32', [1, 1], [3]), operand('float32', [1, 1], [0.5])],
    (x, y) => matmul(x, y),
  );
  assert.equal(result.storage.dtype, 'float32');
  assert.deepEqual(elementsOf(result), [1.5]);
});

test('operands that do not fit are refused with both shapes', () => {
  const random = generator(3);
  const product = (xShape: readonly number[], yShape: readonly number[]): unknown =>
    evaluate([randomOperand(random, xShape), randomOperand(random, yShape)], (x, y) =>
      matmul(x, y),
    );
  assert.throws(
    () => product([2, 3], [4, 5]),
    (error: unknown) => {
      assert.ok(error instanceof ShapeError);
      assert.equal(error.op, 'matmul');
      assert.match(error.expected!, /3 rows/);
      assert.equal(error.actual, '[2, 3] and [4, 5]');
      return true;
    },
  );
  assert.throws(() => product([2, 2, 3], [3, 3, 4]), ShapeError);
  assert.throws(() => product([], [3]), { name: 'ShapeError', expected: /rank 1/ });
});

test('operands taken at 64-bit positions, and rearranged vectors, are multiplied right', () => {
  const x = operand('float32', [2, 2], [1, 2, 3, 4]);
  const positions = operand('int64', [2, 2], [1, 0, 1, 1]);
  const w = operand('float32', [3, 2], [1, 0, 0, 1, 1, 1]);
  const [taken] = evaluate([x, positions, w], (v, i, m) => matmul(m, gather(v, i, -1)));
  assert.deepEqual(elementsOf(taken), [2, 1, 4, 4, 6, 5]);
  const [dot] = evaluate([operand('float32', [3], [1, 2, 3])], (v) => {
    const turned = flip(v);
    return matmul(turned, turned);
  });
  assert.deepEqual([dot.shape, elementsOf(dot)], [[], [14]]);
});

test('what follows a product may take wider numbers than the product', () => {
  const x = operand('float32', [1, 4], [1, 2, 3, 4]);
  const w = operand(
    'float32',
    [4, 4],
    Array.from({ length: 16 }, (_, i) => (i % 5 === 0 ? 1 : 0)),
  );
  const by = operand('int64', [1, 4], [1, 0, 1, 1]);
  const results = evaluate([x, w, by], (v, m, i) => {
    const product = matmul(v, m);
    return [cos(product), cast(product, 'float64'), mul(product, cast(i, 'float32')), tan(product)];
  });
  const values = [1, 2, 3, 4];
  const expected = [
    values.map((value) => Math.cos(value)),
    values,
    [1, 0, 3, 4],
    values.map((value) => Math.tan(value)),
  ];
  results.forEach((result, k) => assertClose(elementsOf(result).map(Number), expected[k], 1e-6));
});

test('gradients where only the data says that the inner extents are equal', () => {
  const y = [[1, 2, 0], [3, 4, 1], [5, 6, 2], [7, 8, 3]]; // prettier-ignore
  const [p, q] = [[1, 0, 1, 0], [0, 1, 1, 0]]; // prettier-ignore
  const chosen = [y[1], y[2]].flat();
  const turned = [0, 1, 2].flatMap((j) => [y[1][j], y[2][j]]);
  for (const x of [[[1, 2, 3, 4], [5, 6, 7, 8]], [1, 2, 3, 4]]) { // prettier-ignore
    const rows = x.flat().length / 4;
    // The columns of x that p chooses, as rows of two.
    const left = x.flat().filter((_, at) => p[at % 4] === 1);
    const product = naive(left, [rows, 2], chosen, [2, 3]).data;
    const head = product.map((each) => 2 * each);
    const byLeft = naive(head, [rows, 3], turned, [3, 2]).data;
    const leftTurned = [0, 1].flatMap((k) => Array.from({ length: rows }, (_, i) => left[2 * i + k]));
    const byRight = naive(leftTurned, [2, rows], head, [rows, 3]).data;
    const expected = {
      sum: product.reduce((sum, each) => sum + each * each, 0),
      x: Array.from({ length: 4 * rows }, (_, at) => (at % 2 === 0 ? byLeft[at / 2] : 0)),
      y: [0, 0, 0, ...byRight, 0, 0, 0],
    };
    const loss = (a: kn.NDArray, b: kn.NDArray, left: kn.NDArray, right: kn.NDArray): kn.NDArray => {
      const r = kn.matmul(kn.moveaxis(kn.booleanMask(kn.moveaxis(a, -1, 0), left), 0, -1), kn.booleanMask(b, right));
      return r.mul(r).sum();
    };
    for (const f of [loss, kn.hybridize(loss)]) {
      const [a, b] = [kn.array(x), kn.array(y)];
      a.attachGrad();
      b.attachGrad();
      const sum = kn.autograd.record(() => f(a, b, kn.array(p).greater(0), kn.array(q).greater(0)));
      sum.backward();
      assert.deepEqual(
        { sum: sum.item(), x: [...a.grad!.dataSync()], y: [...b.grad!.dataSync()] },
        expected,
      );
    }
  }
}); // prettier-ignore
