import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import type { DType } from '../../../src/base/dtype.js';
import type { Element } from '../../../src/base/element.js';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import {
  all, any, argmax, argmin, cast, countNonzero, logsumexp, max, mean, min, norm, prod, std, sum,
  var as variance,
} from '../../../src/ops/index.js'; // prettier-ignore
import type { Value } from '../../../src/ir/program.js';
import type { Axes, ReductionOptions } from '../../../src/ops/signatures.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { indicesOf, numbersOf, randomOperand } from '../../support/arrays.js';
import {
  elementAt,
  evaluate,
  expectElements,
  gradientsOf,
  inferred,
} from '../../support/evaluate.js';
import { elementsOf, floats, operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

type Fold = (x: Value, axis?: Axes, options?: ReductionOptions) => Value;

const operators: Readonly<Record<Reducer | 'norm' | 'std', Fold>> = {
  all, any, countNonzero, logsumexp, max, mean, min, norm, prod, std, sum, var: variance,
}; // prettier-ignore

const choosers: Readonly<Record<string, (x: Value, axis: number) => Value>> = {
  argmax, argmin, max, min,
}; // prettier-ignore

const random = generator(10);

/** The elements that fall into one result, in row-major order; `index` is that of the kept axes. */
function group(x: Operand, axes: readonly number[], index: readonly number[]): Element[] {
  return indicesOf(x.shape)
    .filter((at) => at.filter((_, axis) => !axes.includes(axis)).every((i, k) => i === index[k]))
    .map((at) => elementAt(x, at));
}

type Reducer = keyof typeof rules;

/** What each reduction means, on a plain list. */
const rules = {
  sum: (list: readonly number[]) => list.reduce((a, b) => a + b, 0),
  prod: (list: readonly number[]) => list.reduce((a, b) => a * b, 1),
  mean: (list: readonly number[]) => list.reduce((a, b) => a + b, 0) / list.length,
  max: (list: readonly number[]) => list.reduce((a, b) => (b > a ? b : a)),
  min: (list: readonly number[]) => list.reduce((a, b) => (b < a ? b : a)),
  any: (list: readonly number[]) => list.some((x) => x !== 0),
  all: (list: readonly number[]) => list.every((x) => x !== 0),
  countNonzero: (list: readonly number[]) => list.filter((x) => x !== 0).length,
  logsumexp: (list: readonly number[]) => Math.log(list.map(Math.exp).reduce((a, b) => a + b, 0)),
  var: (list: readonly number[]) => {
    const mean = list.reduce((a, b) => a + b, 0) / list.length;
    return list.map((x) => (x - mean) ** 2).reduce((a, b) => a + b, 0) / list.length;
  },
} satisfies Readonly<Record<string, (list: readonly number[]) => number | boolean>>;

const needElements: readonly Reducer[] = ['max', 'min'];

const shapes = [[2, 3, 2], [1, 1], [4, 0], [0, 2], [17, 5]]; // prettier-ignore

for (const name of Object.keys(rules) as Reducer[]) {
  test(`${name} folds any axes of any dtype`, () => {
    for (const dtype of ['float32', 'float64', 'int32', 'uint8', 'bool'] as const) {
      for (const shape of dtype === 'float32' ? shapes : [[3, 9]]) {
        const x = randomOperand(random, shape, dtype);
        for (const axes of [[0], [1], [0, 1]]) {
          const kept = shape.filter((_, axis) => !axes.includes(axis));
          const isUndefined = axes.some((axis) => shape[axis] === 0) && !kept.includes(0);
          if (isUndefined && needElements.includes(name)) continue;
          expectElements(
            [x],
            (v) => cast(operators[name](v, axes), 'float64'),
            kept,
            (index) => Number(rules[name](group(x, axes, index).map(Number))),
            dtype === 'float64' ? 1e-12 : 2e-5,
          );
        }
      }
    }
  });

  test(`${name} keeps reduced axes with size 1 on request, and reduces none for an empty list`, () => {
    const x = randomOperand(random, [2, 3, 4], 'float32');
    const [dropped] = evaluate([x], (v) => operators[name](v, [0, -1]));
    const [kept] = evaluate([x], (v) => operators[name](v, [0, -1], { keepdims: true }));
    assert.deepEqual(dropped.shape, [3]);
    assert.deepEqual(kept.shape, [1, 3, 1]);
    assert.deepEqual(elementsOf(kept), elementsOf(dropped));
    assert.deepEqual(evaluate([x], (v) => operators[name](v, []))[0].shape, [2, 3, 4]);
  });
}

test('dtypes follow PyTorch: integers add up as int64, means are floats, questions are bool', () => {
  const dtypeOf = (name: Reducer | 'std' | 'norm', dtype: DType): string =>
    inferred([{ dtype, shape: [2] }], (v) => operators[name](v)).replace('[]', '');
  for (const dtype of ['bool', 'uint8', 'int8', 'int32', 'int64'] as const) {
    assert.equal(dtypeOf('sum', dtype), 'int64');
    assert.equal(dtypeOf('prod', dtype), 'int64');
    assert.equal(dtypeOf('max', dtype), dtype);
    assert.equal(dtypeOf('mean', dtype), 'float32');
    assert.equal(dtypeOf('std', dtype), 'float32');
    assert.equal(dtypeOf('any', dtype), 'bool');
  }
  for (const dtype of ['bfloat16', 'float16', 'float32', 'float64'] as const) {
    for (const name of ['sum', 'prod', 'mean', 'var', 'std', 'norm', 'logsumexp', 'min'] as const)
      assert.equal(dtypeOf(name, dtype), dtype);
    assert.equal(dtypeOf('countNonzero', dtype), 'int64');
  }
});

test('int64 is exact beyond 2 ** 53', () => {
  const big = 2n ** 60n + 1n;
  const x = operand('int64', [3], [big, 2n, -5n]);
  const one = (build: Parameters<typeof evaluate>[1]): unknown => elementsOf(evaluate([x], build)[0])[0]; // prettier-ignore
  assert.equal(
    one((v) => sum(v)),
    big - 3n,
  );
  assert.equal(
    one((v) => max(v)),
    big,
  );
  assert.equal(
    one((v) => min(v)),
    -5n,
  );
  const y = operand('int64', [2], [3n ** 20n, 3n ** 19n]);
  assert.equal(elementsOf(evaluate([y], (v) => prod(v))[0])[0], 3n ** 39n);
  const z = operand(
    'int8',
    [300],
    Array.from({ length: 300 }, () => 127),
  );
  assert.equal(elementsOf(evaluate([z], (v) => sum(v))[0])[0], 38100n);
});

test('of nothing: the neutral element, NaN, or an error', () => {
  const x = operand('float32', [0, 2], []);
  const over = (name: Reducer | 'norm' | 'std'): number[] =>
    numbersOf(evaluate([x], (v) => operators[name](v, 0))[0]);
  assert.deepEqual(over('sum'), [0, 0]);
  assert.deepEqual(over('prod'), [1, 1]);
  assert.deepEqual(over('any'), [0, 0]);
  assert.deepEqual(over('all'), [1, 1]);
  assert.deepEqual(over('norm'), [0, 0]);
  assert.deepEqual(over('mean'), [NaN, NaN]);
  assert.deepEqual(over('std'), [NaN, NaN]);
  assert.deepEqual(over('logsumexp'), [-Infinity, -Infinity]);
  for (const [name, choose] of Object.entries(choosers)) {
    assert.throws(() => evaluate([x], (v) => choose(v, 0)), (error: Error) => {
      assert.ok(error instanceof ShapeError);
      assert.match(error.message, new RegExp(`${name}: .*\\n.*at least one element\\n.*\\[0, 2\\]`)); // prettier-ignore
      return true;
    }); // prettier-ignore
    // No results, so nothing is missing.
    assert.deepEqual(evaluate([x], (v) => choose(v, 1))[0].shape, [0]);
  }
});

test('axes are checked', () => {
  const type = { dtype: 'float32' as const, shape: [symbol('n'), 3] };
  const infer = (axis: number | number[]): string => inferred([type], (v) => sum(v, axis));
  assert.equal(infer(-1), 'float32[n]');
  assert.equal(infer([]), 'float32[n, 3]');
  assert.throws(() => infer(2), /sum: axis 2 does not exist\n.*from -2 to 1/);
  assert.throws(() => infer([0, -2]), ArgumentError);
  assert.throws(() => infer(0.5), ArgumentError);
});

test('half precision accumulates in single precision', () => {
  // 3000 * 30 exceeds the greatest half, 65504, and 2048 + 1 is not a half.
  const x = operand(
    'float16',
    [3000],
    Array.from({ length: 3000 }, () => 30),
  );
  assert.deepEqual(numbersOf(evaluate([x], (v) => mean(v))[0]), [30]);
  const ones = operand(
    'float16',
    [4096],
    Array.from({ length: 4096 }, () => 1),
  );
  assert.deepEqual(numbersOf(evaluate([ones], (v) => sum(v))[0]), [4096]);
});

test('a large mean costs the variance no precision', () => {
  const x = floats([4], [10000, 10001, 10002, 10003]);
  assert.deepEqual(numbersOf(evaluate([x], (v) => variance(v))[0]), [1.25]);
  const [unbiased] = evaluate([x], (v) => variance(v, null, { correction: 1 }));
  assert.ok(Math.abs(numbersOf(unbiased)[0] - 5 / 3) < 1e-6);
  const [single] = evaluate([floats([1], [3])], (v) => std(v, 0, { correction: 1 }));
  assert.deepEqual(numbersOf(single), [NaN]);
});

test('logsumexp neither overflows nor turns infinities into NaN', () => {
  const of = (...list: number[]): number =>
    numbersOf(evaluate([floats([list.length], list)], (v) => logsumexp(v))[0])[0];
  assert.ok(Math.abs(of(1000, 1000) - (1000 + Math.LN2)) < 1e-3);
  assert.ok(Math.abs(of(-1000, -1000) - (-1000 + Math.LN2)) < 1e-3);
  assert.equal(of(-Infinity, -Infinity), -Infinity);
  assert.equal(of(Infinity, 1), Infinity);
  assert.equal(of(NaN, 1), NaN);
  const grads = gradientsOf([floats([2], [-Infinity, 0])], (v) => logsumexp(v));
  assert.deepEqual(grads, [[0, 1]]);
});

test('norms of several orders', () => {
  const x = operand('float64', [2, 2], [3, -4, 0, -1]);
  const over = (ord: number): number[] => numbersOf(evaluate([x], (v) => norm(v, 1, { ord }))[0]);
  assert.deepEqual(over(2), [5, 1]);
  assert.deepEqual(over(1), [7, 1]);
  assert.deepEqual(over(Infinity), [4, 1]);
  assert.deepEqual(over(-Infinity), [3, 0]);
  over(3).forEach((value, i) => assert.ok(Math.abs(value - [91 ** (1 / 3), 1][i]) < 1e-9));
  assert.throws(() => over(0), ArgumentError);
  assert.deepEqual(
    gradientsOf([floats([2], [0, 0])], (v) => norm(v)),
    [[0, 0]],
  );
  assert.deepEqual(gradientsOf([floats([2], [3, -4])], (v) => norm(v))[0]!.map((g) => Math.fround(g)), [0.6, -0.8].map(Math.fround)); // prettier-ignore
});

test('the gradient of a product is the product of the others, with any number of zeros', () => {
  const of = (...list: number[]): unknown => gradientsOf([floats([list.length], list)], (v) => prod(v))[0]; // prettier-ignore
  assert.deepEqual(of(2, 3, 4), [12, 8, 6]);
  assert.deepEqual(of(2, 0, 4), [0, 8, 0]);
  assert.deepEqual(of(2, 0, 0), [0, 0, 0]);
  assert.deepEqual(of(7), [1]);
  assert.deepEqual(of(), []);
  const x = floats([2, 2, 2], [1, 2, 3, 4, 5, 6, 7, 0]);
  const expected = indicesOf(x.shape).map(([i, j, k]) =>
    group(x, [0, 2], [j]).map(Number).filter((_, at) => at !== i * 2 + k).reduce((a, b) => a * b, 1),
  ); // prettier-ignore
  assert.deepEqual(
    gradientsOf([x], (v) => prod(v, [0, 2])),
    [expected],
  );
});

test('the spread of equal elements has no slope', () => {
  assert.deepEqual(
    gradientsOf([floats([3], [2, 2, 2])], (v) => std(v)),
    [[0, 0, 0]],
  );
});
