import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DTypeError, ShapeError } from '../../../src/base/errors.js';
import { symbol } from '../../../src/base/dim/index.js';
import { Program, type Value } from '../../../src/ir/program.js';
import { add, attention, attentionGradient, matmul, mul, onesLike, softmax, swapaxes, transpose, tril, where } from '../../../src/ops/index.js'; // prettier-ignore
import { compile } from '../../../src/runtime/compile/compile.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { numbersOf, randomOperand } from '../../support/arrays.js';
import { assertClose } from '../../support/close.js';
import { evaluate, gradientsOf } from '../../support/evaluate.js';
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

/** What `attention` is by its formula, in operators that hold all scores at once. */
function byFormula(q: Value, k: Value, v: Value, mask: Value | null, causal: boolean): Value {
  let scores = mul(matmul(q, swapaxes(k, -1, -2)), 1 / Math.sqrt(q.type.shape.at(-1) as number));
  if (mask !== null) {
    scores = mask.type.dtype === 'bool' ? where(mask, scores, -Infinity) : add(scores, mask);
  }
  if (causal) scores = where(tril(onesLike(scores)), scores, -Infinity);
  return matmul(softmax(scores), v);
}

/** Sizes around those of vectors and of the blocks in which queries and keys are worked on. */
const sizes: readonly (readonly [queries: number, keys: number])[] = [
  [1, 1], [1, 70], [3, 64], [64, 64], [65, 63], [128, 129], [131, 200], [130, 1], [200, 131],
]; // prettier-ignore

for (const causal of [false, true]) {
  test(`blocks of queries give what the formula gives, and so do gradients, ${causal ? 'causal' : 'open'}`, () => {
    const random = generator(8);
    for (const [queries, keys] of sizes) {
      const arrays = [
        randomOperand(random, [2, queries, 3]),
        randomOperand(random, [2, keys, 3]),
        randomOperand(random, [2, keys, 2]),
        randomOperand(random, [keys], 'bool'),
      ];
      const weights = randomOperand(random, [2, queries, 2]);
      const [got, wanted] = evaluate(arrays, (q, k, v, mask) => [
        attention<Value>(q, k, v, { mask, causal }),
        byFormula(q, k, v, mask, causal),
      ]);
      assertClose(numbersOf(got), numbersOf(wanted), 1e-12, `${queries}, ${keys}`);
      const slopes = [
        gradientsOf(
          arrays,
          (q, k, v, mask) => attention<Value>(q, k, v, { mask, causal }),
          weights,
        ),
        gradientsOf(arrays, (q, k, v, mask) => byFormula(q, k, v, mask, causal), weights),
      ].map((grads) => grads.slice(0, 3).map((grad) => grad!));
      slopes[0].forEach((grad, i) => assertClose(grad, slopes[1][i], 1e-11, `${queries}, ${keys}`));
    }
  });
}

test('heads that were split by a transposition are read where they lie, also of float32 and float16', () => {
  const random = generator(9);
  for (const [dtype, tolerance] of [
    ['float32', 1e-5],
    ['float16', 2e-3],
  ] as const) {
    const arrays = [1, 2, 3].map(() => randomOperand(random, [2, 37, 3, 8], dtype));
    const split = (x: Value): Value => transpose(x, [0, 2, 1, 3]);
    const [got, wanted] = evaluate(arrays, (q, k, v) => [
      attention<Value>(split(q), split(k), split(v), { causal: true }),
      byFormula(split(q), split(k), split(v), null, true),
    ]);
    assertClose(numbersOf(got), numbersOf(wanted), tolerance);
  }
});

test('extreme scores: large ones, equal ones, infinite ones and NaN', () => {
  const q = operand('float64', [4, 1], [1e4, 0, 1, 1]);
  const k = operand('float64', [3, 1], [1e4, -1e4, 1]);
  const v = operand('float64', [3, 1], [1, 2, 4]);
  const shift = operand('float64', [4, 3], [
    0, 0, 0, 0, 0, 0, -Infinity, -Infinity, -Infinity, NaN, 0, 0,
  ]); // prettier-ignore
  const [got, wanted] = evaluate([q, k, v, shift], (a, b, c, mask) => [
    attention<Value>(a, b, c, { mask }),
    byFormula(a, b, c, mask, false),
  ]);
  assertClose(numbersOf(got), [1, 7 / 3, 0, NaN], 1e-14);
  assertClose(numbersOf(got), numbersOf(wanted), 1e-14);
});

test('NaN in a value or in what enters reaches no gradient of scores that it has no part in', () => {
  const random = generator(10);
  const shapes = [[5, 3], [5, 3], [5, 2]]; // prettier-ignore
  const [q, k, v] = shapes.map((shape) => randomOperand(random, shape, 'float32'));
  const weights = randomOperand(random, [5, 2], 'float32');
  const slopes = (values: Operand, entering: Operand): readonly number[][] =>
    gradientsOf([q, k, values], (a, b, c) => attention<Value>(a, b, c, { causal: true }), entering)
      .map((grad) => [...grad!]); // prettier-ignore
  const broken = ({ shape, storage }: Operand, row: number): Operand => {
    const elements = Array.from(storage.host as Float32Array);
    elements.fill(NaN, row * 2, row * 2 + 2);
    return operand('float32', shape, elements);
  };
  const [whole] = slopes(v, weights);
  const [ofQueries] = slopes(broken(v, 2), weights);
  assert.deepEqual(ofQueries.slice(0, 6), whole.slice(0, 6));
  assert.deepEqual(ofQueries.slice(6), Array(9).fill(NaN));
  const [, ofKeys] = slopes(v, broken(weights, 1));
  assert.deepEqual(ofKeys.slice(0, 6), Array(6).fill(NaN));
  assert.deepEqual(ofKeys.slice(6), slopes(v, weights)[1].slice(6));
});

test('gradients of 16 bits are rounded once, and so are gradients of a mask and of those gradients', () => {
  const random = generator(11);
  const shapes = [[3, 4, 4], [1, 5, 4], [5, 3], [4, 5]]; // prettier-ignore
  const wide = shapes.map((shape) => randomOperand(random, shape, 'float16'));
  const arrays = (dtype: 'float16' | 'float64'): Operand[] =>
    wide.map((array) => operand(dtype, array.shape, numbersOf(array)));
  const weights = randomOperand(random, [3, 4, 3], 'float16');
  const inner = [[3, 4, 4], [3, 5, 4], [3, 5, 3]].map((shape) => randomOperand(random, shape, 'float16')); // prettier-ignore
  const first = (dtype: 'float16' | 'float64'): (number[] | null)[] =>
    gradientsOf(
      arrays(dtype),
      (q, k, v, mask) => attention<Value>(q, k, v, { mask }),
      operand(dtype, weights.shape, numbersOf(weights)),
    ).map((grad) => grad && [...grad]);
  const second = (dtype: 'float16' | 'float64'): (number[] | null)[] =>
    inner
      .flatMap((entering, at) =>
        gradientsOf(
          [...arrays(dtype), operand(dtype, weights.shape, numbersOf(weights))],
          (q, k, v, mask, g) => {
            const grads = attentionGradient<Value>(q, k, v, g, mask, {
              causal: false,
              scale: null,
            });
            return [grads.q, grads.k, grads.v][at];
          },
          operand(dtype, entering.shape, numbersOf(entering)),
        ),
      )
      .map((grad) => grad && [...grad]);
  for (const slopes of [first, second]) {
    const exact = slopes('float64');
    slopes('float16').forEach((grad, i) => {
      grad?.forEach((element, at) => {
        const wanted = exact[i]![at];
        // Half a unit in the last place of float16, and what float32 has lost before.
        const bound = Math.max(2 ** -11 * Math.abs(wanted), 2 ** -25) + 1e-6;
        assert.ok(Math.abs(element - wanted) <= bound, `${i}, ${at}: ${element}, not ${wanted}`);
      });
    });
  }
});

test('where one key has all the weight, gradients of gradients are zero, however large their terms', () => {
  const q = operand('float32', [1, 2], [1e6, 1]);
  const k = operand('float32', [2, 2], [1e6, 0, -1e6, 0]);
  const v = operand('float32', [2, 1], [1e15, -1e15]);
  const g = operand('float32', [1, 1], [1e12]);
  const entering = operand('float32', [1, 2], [1e6, 1]);
  const slopes = gradientsOf(
    [q, k, v, g],
    (a, b, c, d) => attentionGradient<Value>(a, b, c, d, null, { causal: false, scale: 1 }).q,
    entering,
  );
  for (const grad of slopes) assertClose(grad!, Array(grad!.length).fill(0), 0);
});

test('any size of an axis that only a run decides', () => {
  const random = generator(10);
  const program = new Program();
  const [n, m] = [symbol('n'), symbol('m')];
  const types = [
    [2, n, 4],
    [2, m, 4],
    [2, m, 3],
  ];
  const [q, k, v] = types.map((shape, i) => program.variable(`x${i}`, { dtype: 'float64', shape }));
  program.setOutputs([{ name: 'y', value: attention<Value>(q, k, v, { causal: true }) }]);
  const executable = compile(program);
  for (const [queries, keys] of [
    [0, 3],
    [3, 0],
    [1, 1],
    [70, 130],
    [129, 65],
  ] as const) {
    const arrays = [[2, queries, 4], [2, keys, 4], [2, keys, 3]].map((shape) =>
      randomOperand(random, shape),
    ); // prettier-ignore
    const [wanted] = evaluate(arrays, (a, b, c) => [byFormula(a, b, c, null, true)]);
    assertClose(numbersOf(executable.run(arrays)[0]), numbersOf(wanted), 1e-12);
  }
});
