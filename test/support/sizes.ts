import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as kn from '../../src/index.js';
import type { ControlDevice } from './control.js';

/*
 * Sizes that the data decides, in captured code on a device: what it computes is computed once more in plain arithmetic,
 * and answers that the host waits for are counted.
 */

/** A device, with what it has. */
export interface SizedDevice extends ControlDevice {
  readonly hasInt64: boolean;
}

type Captured = (...given: kn.NDArray[]) => kn.NDArray[];

interface Case {
  readonly title: string;
  readonly fn: Captured;
  readonly given: readonly (number | readonly number[] | readonly (readonly number[])[])[];
  readonly expected: readonly (readonly number[])[];
  /** Answers before the results are read. Default 0. */
  readonly reads?: number;
  /** True where they are more on a device that is asked. Default false. */
  readonly asks?: boolean;
  /** True where they are more on a device without int64. Default false. */
  readonly hasWide?: boolean;
}

const positive = (values: readonly number[]): readonly number[] => values.filter((v) => v > 0);
const total = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

const mixed = [1, -2, 3, -4, 5, 6, -7, 8];
const negative = [-1, -2, -3];

const masked = (x: kn.NDArray): kn.NDArray => x.booleanMask(x.greater(0));

/** The numbers from 1 to 700, of which every third is negative: more than one workgroup. */
const many = Array.from({ length: 700 }, (_, k) => (k % 3 === 2 ? -1 - k : 1 + k));

const cases: readonly Case[] = [
  ...[mixed, negative, many, [2, 4]].map((x): Case => ({
    title: `a mask in the middle, ${positive(x).length} of ${x.length}`,
    fn: (a) => [kn.sum(masked(a).mul(2)), kn.sum(masked(a).pow(2).add(1))],
    given: [x],
    expected: [[2 * total(positive(x))], [total(positive(x).map((v) => v * v + 1))]],
  })),
  {
    title: 'nothing is selected',
    fn: (a) => [kn.sum(masked(a)), kn.sum(masked(a).mul(a.max()), 0, { keepdims: true })],
    given: [negative],
    expected: [[0], [0]],
  },
  {
    title: 'the size as a number',
    fn: (a) => {
      const chosen = masked(a);
      return [kn.sum(chosen).div(kn.sizeOf(chosen, 0)), chosen.mean()];
    },
    given: [mixed],
    expected: [[23 / 5], [23 / 5]],
  },
  {
    title: 'arithmetic of sizes: twice as many, and three at most',
    fn: (a) => {
      const chosen = masked(a);
      const twice = kn.concat([chosen, chosen.mul(10)]);
      return [kn.sum(twice), kn.sum(chosen.slice([0, 3])), kn.sum(kn.flip(twice, 0).slice([0, 2]))];
    },
    given: [mixed],
    expected: [[253], [9], [140]],
  },
  {
    title: 'something is required of the size',
    fn: (a) => [masked(a).max(), masked(a.neg()).min()],
    given: [mixed],
    expected: [[8], [2]],
    // Both sizes at once, when everything has run.
    reads: 1,
  },
  {
    title: 'two masks meet',
    fn: (a, b) => [kn.sum(masked(a).mul(masked(b)))],
    given: [mixed, mixed.map((v, k) => (v > 0 ? k + 1 : -1))],
    expected: [[total(mixed.map((v, k) => (v > 0 ? v * (k + 1) : 0)))]],
    reads: 1,
  },
  {
    title: 'a mask of what a mask has selected',
    fn: (a) => [kn.sum(masked(masked(a).sub(4)))],
    given: [mixed],
    expected: [[1 + 2 + 4]],
  },
  {
    title: 'a result of whose size another size that nobody asks for is the bound',
    fn: (a) => [masked(masked(a).sub(4))],
    given: [mixed],
    expected: [[1, 2, 4]],
    reads: 1,
  },
  {
    title: 'all pairs of what two masks select: room for all would be too much',
    fn: (a) => [kn.sum(masked(a).reshape([-1, 1]).sub(masked(a.neg())))],
    given: [mixed],
    expected: [[3 * 23 - 5 * 13]],
    reads: 2,
  },
  {
    title: 'results whose size the data decides',
    fn: (a) => [masked(a).mul(3), masked(a.neg())],
    given: [mixed],
    expected: [
      [3, 9, 15, 18, 24],
      [2, 4, 7],
    ],
    reads: 1,
  },
  {
    title: 'gradients',
    fn: (a) => [kn.grad((x: kn.NDArray) => kn.sum(masked(x).pow(3)))(a) as kn.NDArray],
    given: [mixed],
    expected: [mixed.map((v) => (v > 0 ? 3 * v * v : 0))],
  },
  {
    title: 'gradients of many',
    fn: (a) => [kn.grad((x: kn.NDArray) => kn.sum(masked(x).pow(2)))(a) as kn.NDArray],
    given: [many],
    expected: [many.map((v) => (v > 0 ? 2 * v : 0))],
  },
  {
    title: 'a pipeline of rows: selected, scaled to the sum of the selected, and added up',
    fn: (rows) => {
      const chosen = rows.booleanMask(kn.sum(rows, 1).greater(0));
      const scaled = chosen.div(kn.sum(kn.abs(chosen), 0, { keepdims: true }));
      return [kn.sum(scaled, 0), kn.grad((x: kn.NDArray) => kn.sum(x.booleanMask(kn.sum(x, 1).greater(0)).pow(2)))(rows) as kn.NDArray]; // prettier-ignore
    },
    given: [[[1, 2], [-3, 1], [3, 6], [-1, -1]]], // prettier-ignore
    expected: [
      [1, 1],
      [2, 4, 0, 0, 6, 12, 0, 0],
    ],
  },
  {
    title: 'distinct values',
    fn: (a) => [kn.sum(kn.unique(a)), kn.grad((x: kn.NDArray) => kn.sum(kn.unique(x).pow(2)))(a) as kn.NDArray], // prettier-ignore
    given: [[3, 1, 3, 7, 1, 3]],
    hasWide: true,
    expected: [[11], [6, 2, 0, 14, 0, 0]],
  },
  {
    title: 'a branch on what is selected',
    fn: (a) => {
      const chosen = masked(a);
      return [
        kn.cond(kn.sum(chosen).greater(20), () => kn.sum(chosen.mul(2)), () => kn.sum(chosen.mul(3))) as kn.NDArray, // prettier-ignore
        kn.cond(kn.sum(a).less(0), () => kn.sum(masked(a)), () => kn.sum(masked(a.neg()).mul(masked(a.neg())))) as kn.NDArray, // prettier-ignore
      ];
    },
    given: [mixed],
    expected: [[46], [4 + 16 + 49]],
    asks: true,
  },
  {
    title: 'a loop over what is selected',
    fn: (a) => {
      const [rows, last] = kn.foreach((x, s) => [s.mul(x), s.mul(2).add(x)], masked(a), kn.array(1)) as [kn.NDArray, kn.NDArray]; // prettier-ignore
      return [kn.sum(rows), last];
    },
    given: [[1, -2, 3, -4, 2]],
    // 1 * 1, 3 * 3, 9 * 2; 2 + 1, 6 + 3, 18 + 2
    expected: [[1 + 9 + 18], [20]],
    asks: true,
  },
  {
    title: 'as many rows as a loop has iterations, backwards too',
    fn: (a) => {
      const rows = (x: kn.NDArray): kn.NDArray =>
        kn.whileLoop((v) => v.greater(1), (v) => [v.mul(3), [v.div(2)]], [x], { maxIterations: 10 })[0] as kn.NDArray; // prettier-ignore
      return [kn.sum(rows(a)), kn.sum(rows(a)).div(kn.sizeOf(rows(a), 0)), kn.grad((x: kn.NDArray) => kn.sum(rows(x).pow(2)))(a) as kn.NDArray]; // prettier-ignore
    },
    given: [12],
    // Rows of 36, 18, 9 and 4.5: three times a, and so on.
    expected: [[67.5], [67.5 / 4], [2 * 12 * (9 + 9 / 4 + 9 / 16 + 9 / 64)]],
    asks: true,
  },
  {
    title: 'a loop without iterations has no rows',
    fn: (a) => [kn.whileLoop((v) => v.greater(1), (v) => [v.mul(3), [v.div(2)]], [a], { maxIterations: 10 })[0] as kn.NDArray], // prettier-ignore
    given: [0.5],
    expected: [[]],
    reads: 1,
    asks: true,
  },
  {
    title: 'a mask in each iteration of a loop, backwards too',
    fn: (a) => {
      const through = (x: kn.NDArray): kn.NDArray =>
        kn.whileLoop(
          (v) => kn.sum(v.booleanMask(v.greater(4))).greater(0),
          (v) => [[], [v.mul(0.5).add(kn.sum(v.booleanMask(v.greater(4))).mul(0))]],
          [x],
          { maxIterations: 4, padded: true },
        )[1][0] as kn.NDArray; // prettier-ignore
      return [through(a), kn.grad((x: kn.NDArray) => kn.sum(through(x)))(a) as kn.NDArray];
    },
    given: [[1, 12, 6]],
    expected: [
      [0.25, 3, 1.5],
      [0.25, 0.25, 0.25],
    ],
    asks: true,
  },
];

export function testSizes(name: string, device: SizedDevice): void {
  suite(`sizes that the data decides: ${name}`, { skip: device.skip ?? false }, () => {
    for (const { title, fn, given, expected, reads = 0, asks = false, hasWide = false } of cases) {
      test(title, async () => {
        device.use();
        const captured = kn.hybridize((args: kn.NDArray[]) => fn(...args));
        const operands = given.map((each) => kn.array(each as number[]).to(device.name));
        const before = device.reads();
        const made = captured(operands);
        const results: number[][] = [];
        for (const each of made) results.push([...(await each.data())].map(Number));
        const asked = device.reads() - before - results.length;
        assert.equal(results.length, expected.length);
        results.forEach((result, k) => assertClose(result, expected[k]));
        const isLeast = (device.decides || !asks) && (device.hasInt64 || !hasWide);
        if (isLeast) assert.equal(asked, reads, 'answers');
        else assert.ok(asked > reads, 'more answers than the least');
      });
    }
    test('operands of changing sizes', async () => {
      device.use();
      const captured = kn.hybridize((x: kn.NDArray) => [
        kn.sum(masked(x).mul(2)),
        kn.grad((y: kn.NDArray) => kn.sum(masked(y).pow(2)))(x) as kn.NDArray,
      ]);
      for (const length of [5, 300, 8, 1, 700]) {
        const x = many.slice(0, length);
        const given = kn.array(x).to(device.name);
        const before = device.reads();
        const made = captured(given);
        assert.equal(device.reads(), before, 'answers');
        assertClose([...(await made[0].data())].map(Number), [2 * total(positive(x))]);
        const expected = x.map((v) => (v > 0 ? 2 * v : 0));
        assertClose([...(await made[1].data())].map(Number), expected);
      }
    });

    test('what is required of sizes is refused as on the CPU, by whoever reads the result', async () => {
      device.use();
      const refused: readonly [Captured, readonly number[]][] = [
        [(a) => [masked(a).max()], negative],
        [(a) => [masked(a).add(masked(a.neg()))], mixed],
      ];
      for (const [fn, given] of refused) {
        const captured = kn.hybridize((x: kn.NDArray) => fn(x)[0]);
        let expected: unknown;
        try {
          captured(kn.array(given as number[]));
        } catch (error) {
          expected = error;
        }
        assert.ok(expected instanceof kn.KaonError);
        const { name, message } = expected;
        await assert.rejects(
          async () => captured(kn.array(given as number[]).to(device.name)).data(),
          { name, message },
        );
      }
    });
  });
}

function assertClose(actual: readonly number[], expected: readonly number[]): void {
  assert.equal(actual.length, expected.length);
  actual.forEach((x, k) => {
    const margin = 1e-5 * (1 + Math.abs(expected[k]));
    assert.ok(Math.abs(x - expected[k]) <= margin, `${actual.join()}, not ${expected.join()}`);
  });
}
