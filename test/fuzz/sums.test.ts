import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as kn from '../../src/index.js';
import type { FuzzProgram, Step } from './program.js';
import { differenceIn } from './oracles.js';
import { isSum, sumsIn } from './sums.js';

const ref = (id: number): { readonly ref: number } => ({ ref: id });

/** `foreach` over the values 0 of what `body` computes of the slices 10 and the states 11; gives rows and the states 20. */
function loop(body: readonly Step[], next: number, rows: readonly number[] = []): Step {
  return {
    op: 'foreach',
    args: [[ref(0)], [ref(1)], {}],
    results: [...rows.map((_, k) => 30 + k), 20],
    regions: [{ params: [10, 11], steps: body, outputs: rows, states: [next] }],
  };
}

function call(op: string, args: readonly number[], result: number): Step {
  return { op, args: args.map(ref), results: [result] };
}

function program(steps: readonly Step[], outputs: readonly number[]): FuzzProgram {
  const shared = { role: 'argument', dtype: 'float32', low: -2, high: 2 } as const;
  return {
    seed: 3,
    sizes: [{ n: 1, m: 1 }],
    variants: [0, 1, 2, 3],
    inputs: [{ ...shared, id: 0, shape: [7, 5] }, { ...shared, id: 1, shape: [5] }], // prettier-ignore
    steps,
    outputs,
    wrt: [],
    training: false,
    nested: false,
  };
}

const sum = call('add', [11, 10], 12);

suite('states that a loop only adds to', () => {
  const cases: readonly [string, Step, boolean][] = [
    ['a sum', loop([sum], 12), true],
    ['a difference, and another term', loop([call('sub', [11, 10], 13), call('add', [10, 13], 12)], 12), true], // prettier-ignore
    ['a sum in another shape', loop([sum, call('flatten', [12], 13)], 13), true],
    ['what is given again', loop([], 11), false],
    ['a sum of other values', loop([call('add', [10, 10], 12)], 12), false],
    ['what goes through a function', loop([sum, call('tanh', [12], 13)], 13), false],
  ];
  for (const [name, step, expected] of cases) {
    test(`${name}: ${expected ? 'a sum' : 'none'}`, () => {
      assert.equal(isSum(step, 0), expected);
      assert.equal(sumsIn(program([step], [20])).size > 0, expected);
    });
  }

  test('a sum of which rows are read is added up in its order, unless nobody wants the rows', () => {
    const step = loop([sum, call('floor', [12], 13)], 12, [13]);
    assert.deepEqual([...sumsIn(program([step], [20]))], [sum]);
    assert.deepEqual([...sumsIn(program([step], [20, 30]))], []);
    assert.equal(isSum(step, 0), true);
  });

  test('the type of a state may be read', () => {
    const step = loop([sum, call('zerosLike', [11], 13), call('add', [12, 13], 14)], 14);
    assert.equal(sumsIn(program([step], [20])).size, 2);
  });

  test('a loop in a loop adds to the state of the outer one', () => {
    const inner: Step = {
      op: 'foreach',
      args: [[ref(0)], [ref(11)], {}],
      results: [50],
      regions: [{ params: [40, 41], steps: [call('add', [41, 40], 42)], outputs: [], states: [42] }], // prettier-ignore
    };
    const outer = loop([inner], 50);
    assert.equal(isSum(inner, 0) && isSum(outer, 0), true);
    // The outer state is read, the inner one is not.
    const read = loop([inner, call('floor', [11], 13)], 50, [13]);
    assert.equal(sumsIn(program([read], [20, 30])).size, 1);
  });

  test('a state by which a loop ends is added up in its order', () => {
    const step: Step = {
      op: 'whileLoop',
      args: [[ref(1)], { maxIterations: 3 }],
      results: [20, 21],
      regions: [
        { params: [11], steps: [call('add', [11, 11], 12)], outputs: [], states: [12] },
        { params: [15], steps: [call('any', [15], 16)], outputs: [16], states: [] },
      ],
    };
    assert.equal(isSum(step, 0), false);
  });
});

test('a captured sum of a loop may be rounded in another order, and not be another one', () => {
  const given = program([loop([sum], 12)], [20]);
  assert.equal(differenceIn('called', given), null);
  const found = differenceIn('called', given, {
    callOf: (op) => op === 'add' ? (a, b) => kn.add(a as kn.NDArray, (b as kn.NDArray).mul(1.001)) : undefined, // prettier-ignore
  });
  assert.match(found ?? '', /result 0/);
});
