import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DTypeError, ShapeError } from '../../../src/base/errors.js';
import type { Value } from '../../../src/ir/program.js';
import { attention } from '../../../src/ops/index.js';
import type { Operand } from '../../../src/runtime/executable.js';
import { numbersOf, randomOperand } from '../../support/arrays.js';
import { assertClose } from '../../support/close.js';
import { evaluate } from '../../support/evaluate.js';
import { operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

interface Seen {
  readonly scale: number;
  /** What is added to the score of query `i` and key `j`; -Infinity hides the key. */
  bias(i: number, j: number): number;
}

/** One head by loops: `q` is `[rows, size]`, `k` `[keys, size]`, `v` `[keys, channels]`. */
function naive(q: Operand, k: Operand, v: Operand, { scale, bias }: Seen): number[] {
  const [queries, keys, values] = [q, k, v].map(numbersOf);
  const [rows, size] = q.shape;
  const [count, channels] = v.shape;
  return Array.from({ length: rows }, (_, i) => {
    const weights = Array.from({ length: count }, (_unused, j) => {
      let score = 0;
      for (let d = 0; d < size; d++) score += queries[i * size + d] * keys[j * size + d];
      return Math.exp(score * scale + bias(i, j));
    });
    const total = weights.reduce((a, b) => a + b, 0);
    return Array.from({ length: channels }, (_unused, c) =>
      weights.reduce(
        (sum, weight, j) => sum + (total === 0 ? 0 : weight / total) * values[j * channels + c],
        0,
      ),
    );
  }).flat();
}

function operands(seed: number): [Operand, Operand, Operand] {
  const random = generator(seed);
  return [
    randomOperand(random, [4, 6]),
    randomOperand(random, [5, 6]),
    randomOperand(random, [5, 3]),
  ];
}

const open = (): number => 0;

test('attention is the weighted mean of values that its formula says', () => {
  const [q, k, v] = operands(1);
  const [plain, scaled] = evaluate([q, k, v], (a, b, c) => [
    attention(a, b, c),
    attention(a, b, c, { scale: 2 }),
  ]);
  assert.deepEqual(plain.shape, [4, 3]);
  assertClose(numbersOf(plain), naive(q, k, v, { scale: 1 / Math.sqrt(6), bias: open }), 1e-12);
  assertClose(numbersOf(scaled), naive(q, k, v, { scale: 2, bias: open }), 1e-12);
});

test('a causal query sees itself and what came before', () => {
  const [q, k, v] = operands(2);
  const [result] = evaluate([q, k, v], (a, b, c) => attention(a, b, c, { causal: true }));
  const bias = (i: number, j: number): number => (j <= i ? 0 : -Infinity);
  assertClose(numbersOf(result), naive(q, k, v, { scale: 1 / Math.sqrt(6), bias }), 1e-12);
});

test('masks hide keys or are added; a query that sees nothing gives zeros', () => {
  const [q, k, v] = operands(3);
  const sees = Array.from({ length: 20 }, (_, at) => at >= 5 && at % 3 !== 0);
  const added = randomOperand(generator(4), [4, 5]);
  const [hidden, shifted] = evaluate(
    [q, k, v, operand('bool', [4, 5], sees), added],
    (a, b, c, mask, bias) => [
      attention(a, b, c, { mask }),
      attention<Value>(a, b, c, { mask: bias }),
    ],
  );
  const scale = 1 / Math.sqrt(6);
  const byMask = naive(q, k, v, { scale, bias: (i, j) => (sees[i * 5 + j] ? 0 : -Infinity) });
  assertClose(numbersOf(hidden), byMask, 1e-12);
  assert.deepEqual(numbersOf(hidden).slice(0, 3), [0, 0, 0]);
  const biases = numbersOf(added);
  const byBias = naive(q, k, v, { scale, bias: (i, j) => biases[i * 5 + j] });
  assertClose(numbersOf(shifted), byBias, 1e-12);
});

test('leading axes broadcast, and no keys or queries are fine', () => {
  const random = generator(5);
  const [q, k, v] = [
    randomOperand(random, [2, 3, 4, 6]),
    randomOperand(random, [3, 5, 6]),
    randomOperand(random, [2, 1, 5, 2]),
  ];
  const [result] = evaluate([q, k, v], (a, b, c) => attention(a, b, c));
  assert.deepEqual(result.shape, [2, 3, 4, 2]);
  const part = (from: Operand, at: number, size: readonly number[]): Operand => {
    const length = size[0] * size[1];
    return operand('float64', size, numbersOf(from).slice(at * length, (at + 1) * length));
  };
  const expected = [0, 1].flatMap((b) =>
    [0, 1, 2].flatMap((h) =>
      naive(part(q, b * 3 + h, [4, 6]), part(k, h, [5, 6]), part(v, b, [5, 2]), {
        scale: 1 / Math.sqrt(6),
        bias: open,
      }),
    ),
  );
  assertClose(numbersOf(result), expected, 1e-12);
  const [nothing] = evaluate(
    [randomOperand(random, [2, 6]), randomOperand(random, [0, 6]), randomOperand(random, [0, 3])],
    (a, b, c) => attention(a, b, c),
  );
  assert.deepEqual(numbersOf(nothing), [0, 0, 0, 0, 0, 0]);
});

test('operands that do not fit are refused', () => {
  const random = generator(6);
  const run =
    (mask: Operand, ...shapes: readonly (readonly number[])[]) =>
    (): unknown =>
      evaluate([...shapes.map((shape) => randomOperand(random, shape)), mask], (a, b, c, given) =>
        attention(a, b, c, { mask: given }),
      );
  const all = operand('bool', [1, 1], [true]);
  assert.throws(run(all, [4, 6], [5, 7], [5, 3]), ShapeError);
  assert.throws(run(all, [4, 6], [5, 6], [4, 3]), ShapeError);
  assert.throws(run(all, [6], [5, 6], [5, 3]), ShapeError);
  assert.throws(
    run(
      operand(
        'bool',
        [3, 5],
        Array.from({ length: 15 }, () => true),
      ),
      [4, 6],
      [5, 6],
      [5, 3],
    ),
    {
      name: 'ShapeError',
      expected: /broadcasts to \[4, 5\]/,
    },
  );
  assert.throws(run(operand('int32', [1, 1], [1]), [4, 6], [5, 6], [5, 3]), DTypeError);
});
