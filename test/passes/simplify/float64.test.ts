import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Program, Value } from '../../../src/ir/program.js';
import { verify } from '../../../src/ir/verify.js';
import {
  add,
  argmax,
  cast,
  cond,
  div,
  foreach,
  matmul,
  mul,
  randomUniform,
  reshape,
  softmax,
  sub,
  sum,
} from '../../../src/ops/index.js';
import { inFloat64 } from '../../../src/passes/simplify/float64.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { numbersOf } from '../../support/arrays.js';
import { floats, operand, programOf } from '../../support/programs.js';

const vector = { dtype: 'float32', shape: [6] } as const;
const elements = [0.1, -2.7, 1e-3, 33, 0.7, -0.3].map(Math.fround);
const x = floats([6], elements);

/** The outputs of a program, computed in float64. */
function run(
  program: Program,
  operands: readonly Operand[],
  seed: number | null,
): readonly Operand[] {
  const wide = inFloat64(program, seed);
  verify(wide);
  return compile(wide).run(operands);
}

const one = (build: (x: Value) => Value): Program =>
  programOf({ x: vector }, ({ x }) => ({ y: build(x) }));

function assertNear(found: Operand, expected: readonly number[], relative: number): void {
  const list = numbersOf(found);
  assert.equal(list.length, expected.length);
  list.forEach((y, k) =>
    assert.ok(
      Math.abs(y - expected[k]) <= relative * Math.abs(expected[k]),
      `[${k}]: ${y}, not ${expected[k]}`,
    ),
  );
}

describe('a program in float64', () => {
  const formulas: readonly (readonly [
    string,
    (x: Value) => Value,
    (x: readonly number[]) => readonly number[],
  ])[] = [
    ['quotients', (x) => div(1, x), (x) => x.map((each) => 1 / each)],
    [
      'differences',
      (x) => sub(mul(x, x), div(x, 3)),
      (x) => x.map((each) => each * each - each / 3),
    ],
    ['sums', (x) => sum(div(x, 7)), (x) => [x.reduce((a, b) => a + b / 7, 0)]],
    [
      'products',
      (x) => matmul(reshape(x, [2, 3]), reshape(x, [3, 2])),
      (x) =>
        [0, 1].flatMap((i) =>
          [0, 1].map((j) => [0, 1, 2].reduce((a, k) => a + x[3 * i + k] * x[2 * k + j], 0)),
        ),
    ],
    [
      'narrower floats',
      (x) => cast(cast(div(x, 3), 'float16'), 'float32'),
      (x) => x.map((each) => each / 3),
    ],
    [
      'branches',
      (x) =>
        cond<Value>(
          cast(sum(x), 'bool'),
          programOf({ x: vector }, ({ x }) => ({ y: div(x, 3) })),
          programOf({ x: vector }, ({ x }) => ({ y: x })),
          [x],
        )[0],
      (x) => x.map((each) => each / 3),
    ],
    [
      'loops',
      (x) =>
        foreach<Value>(
          programOf(
            { x: { dtype: 'float32', shape: [] }, s: { dtype: 'float32', shape: [] } },
            ({ x, s }) => ({ s: add(mul(s, 0.5), div(x, 3)) }),
          ),
          { data: [x], states: [sum(x)], captures: [] },
        )[0],
      (x) => [
        x.reduce(
          (s, each) => s * 0.5 + each / 3,
          x.reduce((a, b) => a + b, 0),
        ),
      ],
    ],
  ];
  for (const [name, build, expected] of formulas) {
    it(`has ${name} that are not rounded to float32`, () => {
      const [y] = run(one(build), [x], null);
      assert.equal(y.storage.dtype, 'float64');
      assertNear(y, expected(elements), 1e-14);
    });

    it(`has ${name} with random errors of some roundings, of a seed`, () => {
      const exact = expected(elements);
      const results = [1, 2, 1].map((seed) => numbersOf(run(one(build), [x], seed)[0]));
      assert.deepEqual(results[0], results[2]);
      assert.notDeepEqual(results[0], results[1]);
      for (const list of results) {
        assert.notDeepEqual(list, exact);
        // At most 16 roundings of float32, or 2 of float16, for each of few operations, of terms of about this size.
        const size = Math.max(...exact.map(Math.abs), ...elements.map(Math.abs));
        const most = name === 'narrower floats' ? 2 ** -8 : 2 ** -15;
        list.forEach((y, k) =>
          assert.ok(
            Math.abs(y - exact[k]) <= most * Math.max(size, 33 * 33),
            `[${k}]: ${y}, not ${exact[k]}`,
          ),
        );
      }
    });
  }

  it('has whole numbers, choices and random numbers as they were', () => {
    const program = programOf(
      { x: vector, n: { dtype: 'int32', shape: [3] }, s: { dtype: 'int64', shape: [2] } },
      ({ x, n, s }) => ({
        place: argmax(x),
        sum: sum(n),
        product: mul(cast(n, 'float32'), 3),
        drawn: randomUniform<Value>(s, [4], { dtype: 'float32' }),
      }),
    );
    const operands = [x, operand('int32', [3], [5, -7, 100]), operand('int64', [2], [3n, 4n])];
    const plain = compile(program).run(operands);
    for (const seed of [null, 1, 2]) {
      const [place, total, product, drawn] = run(program, operands, seed);
      assert.deepEqual(numbersOf(place), [3]);
      assert.deepEqual(numbersOf(total), [98]);
      assert.equal(total.storage.dtype, plain[1].storage.dtype);
      // Whole numbers are exact as far as float32 has them.
      assert.deepEqual(numbersOf(product), [15, -21, 300]);
      assert.deepEqual(numbersOf(drawn), numbersOf(plain[3]));
    }
  });

  it('has errors in what normalizations compute on their way', () => {
    const program = one((x) => softmax(x, 0));
    const total = elements.reduce((sum, each) => sum + Math.exp(each), 0);
    const exact = elements.map((each) => Math.exp(each) / total);
    assertNear(run(program, [x], null)[0], exact, 1e-12);
    const perturbed = numbersOf(run(program, [x], 1)[0]);
    assert.notDeepEqual(perturbed, exact);
    perturbed.forEach((y, k) =>
      assert.ok(Math.abs(y - exact[k]) <= 2 ** -12 * exact[k], `[${k}]: ${y}`),
    );
  });
});
