import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';

/*
 * Branches and loops on a device: what they compute is computed once more in plain arithmetic, and answers that the
 * host waits for are counted.
 */

/** A device. */
export interface ControlDevice {
  readonly name: string;
  /** True if it decides for itself which kernels run; else the host reads each condition. */
  readonly decides: boolean;
  /** Reason for not testing it; false where it is tested. */
  readonly skip?: string | false;
  /** Makes it the device with its name. */
  use(): void;
  /** Answers that it has given so far. */
  reads(): number;
}

interface Answers {
  readonly results: readonly (readonly number[])[];
  /** Answers of the device before its results were read. */
  readonly reads: number;
}

/** Runs a function, captured, on a device. */
async function run(
  device: ControlDevice,
  fn: (...given: kn.NDArray[]) => kn.NDArray[],
  ...given: kn.NDArray[]
): Promise<Answers> {
  device.use();
  const captured = kn.hybridize((args: kn.NDArray[]) => fn(...args));
  const before = device.reads();
  const made = captured(given.map((each) => each.to(device.name)));
  const results: number[][] = [];
  for (const each of made) results.push([...(await each.data())].map(Number));
  return { results, reads: device.reads() - before - results.length };
}

function assertClose(actual: readonly number[], expected: readonly number[]): void {
  assert.equal(actual.length, expected.length);
  actual.forEach((x, k) => {
    const margin = 1e-5 * (1 + Math.abs(expected[k]));
    assert.ok(Math.abs(x - expected[k]) <= margin, `${actual.join()}, not ${expected.join()}`);
  });
}

const padded = (rows: readonly number[], length: number): readonly number[] =>
  Array.from({ length }, (_, k) => rows[k] ?? 0);

/** Halves a value until it is at most 1; the rows are three times what it was, and all of it is added up. */
function halved(start: number, limit: number): { rows: number[]; value: number; sum: number } {
  const rows: number[] = [];
  let [value, sum] = [start, 0];
  while (value > 1 && rows.length < limit) {
    rows.push(value * 3);
    [value, sum] = [value / 2, sum + value];
  }
  return { rows, value, sum };
}

const halving =
  (maxIterations: number) =>
  (x: kn.NDArray): kn.NDArray[] => {
    const [rows, [value, sum], count] = kn.whileLoop(
      (v) => v.greater(1),
      (v, s) => [v.mul(3), [v.div(2), s.add(v)]],
      [x, x.mul(0)],
      { maxIterations, padded: true },
    ) as [kn.NDArray, kn.NDArray[], kn.NDArray];
    return [rows, value, sum, count];
  };

/** The numbers below n, added up. */
const counting = (n: kn.NDArray): kn.NDArray[] =>
  (
    kn.whileLoop(
      (k) => k.less(n),
      (k, s) => [[], [k.add(1), s.add(k)]],
      [n.mul(0), n.mul(0)],
    )[1] as kn.NDArray[]
  ).slice();

/** Collatz's sequence to 1: its length. A branch in a loop. */
const collatz = (n: kn.NDArray): kn.NDArray[] => [
  (
    kn.whileLoop(
      (v) => v.greater(1),
      (v, k) => [
        [],
        [
          kn.cond(
            v.mod(2).equal(0),
            () => v.div(2),
            () => v.mul(3).add(1),
          ) as kn.NDArray,
          k.add(1),
        ],
      ],
      [n, n.mul(0)],
      { maxIterations: 120 },
    )[1] as kn.NDArray[]
  )[1],
];

function collatzLength(n: number): number {
  let count = 0;
  for (let v = n; v > 1; v = v % 2 === 0 ? v / 2 : 3 * v + 1) count++;
  return count;
}

/** For each row, doubles it while its sum is below a limit: a loop that the data ends, in one over rows. */
const doubling = (rows: kn.NDArray, limit: kn.NDArray): kn.NDArray[] => {
  const [made, total] = kn.foreach(
    (row, sum) => {
      const [, [value, count]] = kn.whileLoop(
        (v) => v.sum().less(limit),
        (v, k) => [[], [v.mul(2), k.add(1)]],
        [row, kn.zeros([])],
        { maxIterations: 9 },
      );
      return [value, sum.add(count)];
    },
    rows,
    kn.zeros([]),
  ) as [kn.NDArray, kn.NDArray];
  return [made, total];
};

/** Tests what branches and loops compute on a device, and what the host has to read for that. */
export function testControl(name: string, device: ControlDevice): void {
  test(`a loop with a bound: ${name}`, { skip: device.skip }, async () => {
    for (const limit of [1, 2, 7, 8]) {
      for (const start of [0.5, 2, 3, 100, 1000]) {
        const { rows, value, sum } = halved(start, limit);
        const { results, reads } = await run(device, halving(limit), kn.array(start));
        assertClose(results[0], padded(rows, limit));
        assertClose(results.slice(1).flat(), [value, sum, rows.length]);
        if (device.decides) assert.equal(reads, 0);
      }
    }
  });

  test(`a loop without a bound: ${name}`, { skip: device.skip }, async () => {
    for (const n of [0, 1, 2, 3, 5, 6, 7, 14, 300]) {
      const { results, reads } = await run(device, counting, kn.array(n));
      assertClose(results.flat(), [n, (n * (n - 1)) / 2]);
      // Chunks of 2, 4, ... 64 iterations; one more is on its way while an answer is.
      if (device.decides) assert.ok(reads <= Math.log2(n + 2) + n / 64 + 2, `${reads}`);
      else assert.equal(reads, n + 1);
    }
  });

  test(`a branch in a loop: ${name}`, { skip: device.skip }, async () => {
    for (const n of [1, 2, 6, 7, 27]) {
      const { results, reads } = await run(device, collatz, kn.array(n));
      assert.deepEqual(results, [[collatzLength(n)]]);
      if (device.decides) assert.equal(reads, 0);
    }
  });

  test(`a loop in a loop: ${name}`, { skip: device.skip }, async () => {
    const rows = [[1, 2], [100, 4], [0.25, 0.5], [3, -2]]; // prettier-ignore
    for (const limit of [0, 3, 10, 1000]) {
      const { results, reads } = await run(device, doubling, kn.array(rows), kn.array(limit));
      let count = 0;
      const expected = rows.flatMap(([a, b]) => {
        for (let k = 0; a + b < limit && k < 9; k++, count++) [a, b] = [2 * a, 2 * b];
        return [a, b];
      });
      assertClose(results[0], expected);
      assert.deepEqual(results[1], [count]);
      if (device.decides) assert.equal(reads, 0);
    }
  });

  test(`branches in branches: ${name}`, { skip: device.skip }, async () => {
    const sorted = (x: kn.NDArray, y: kn.NDArray): kn.NDArray[] => [
      kn.cond(
        x.greater(0),
        () =>
          kn.cond(
            y.greater(0),
            () => x.add(y),
            () => x.sub(y).mul(10),
          ),
        () => y.mul(x).sub(1),
      ) as kn.NDArray,
    ];
    for (const [x, y, expected] of [
      [2, 3, 5],
      [2, -3, 50],
      [-2, 3, -7],
      [-2, -3, 5],
    ]) {
      const { results, reads } = await run(device, sorted, kn.array(x), kn.array(y));
      assertClose(results[0], [expected]);
      if (device.decides) assert.equal(reads, 0);
    }
  });

  test(
    `the gradient of a loop takes its rows from the last one back: ${name}`,
    { skip: device.skip },
    async () => {
      // The loop multiplies by w while the product is below 20: x w^count, and the rows are squares.
      const gradients = (x: kn.NDArray, w: kn.NDArray): kn.NDArray[] => [
        ...kn.grad(
          (a: kn.NDArray, b: kn.NDArray) => {
            const [rows, [value]] = kn.whileLoop(
              (v) => v.less(20),
              (v) => [v.square(), [v.mul(b)]],
              [a],
              { maxIterations: 8, padded: true },
            );
            return rows.sum().add(value);
          },
          [0, 1],
        )(x, w),
      ];
      for (const [x, w] of [
        [1.5, 2],
        [19, 3],
        [25, 2],
        [1, 1.5],
        [1, 1.25],
        [18, 1.5],
      ]) {
        // prettier-ignore
        let count = 0;
        for (let v = x; v < 20 && count < 8; v *= w) count++;
        let [dx, dw] = [w ** count, count === 0 ? 0 : x * count * w ** (count - 1)];
        for (let k = 0; k < count; k++) {
          dx += 2 * x * w ** (2 * k);
          if (k > 0) dw += x * x * 2 * k * w ** (2 * k - 1);
        }
        const { results, reads } = await run(device, gradients, kn.array(x), kn.array(w));
        assertClose(results.flat(), [dx, dw]);
        if (device.decides) assert.equal(reads, 0);
      }
    },
  );
}
