import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toModule } from '../../src/artifact/index.js';
import { StaticGraph } from '../../src/front/graphs/static-graph.js';
import * as kn from '../../src/index.js';
import type { Value } from '../../src/ir/program.js';
import * as ops from '../../src/ops/index.js';
import { programOf } from '../support/programs.js';

/*
 * Loops of graphs that run here and as modules of their own, several times in the same memory: what a long run
 * has left there must not show in a short one. Expected values are plain arithmetic.
 */

interface Result {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

interface Made {
  run(feeds: Readonly<Record<string, unknown>>): Readonly<Record<string, Result>>;
}

let count = 0;

/** The module of a graph; each text once more, since modules keep their memory. */
async function load(graph: kn.StaticGraph, train: boolean = false): Promise<Made> {
  const text = `${toModule(graph, { train })}\n//${count++}`;
  return (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as Made;
}

/** Runs a graph on a number of iterations and a vector: here, and as a module. */
async function runners(
  graph: kn.StaticGraph,
): Promise<readonly ((n: number, x: readonly number[]) => Readonly<Record<string, number[]>>)[]> {
  const made = await load(graph);
  const [first, second] = graph.inputNames;
  return [
    (n, x) => {
      const results = graph.run({ [first]: kn.array(n, { dtype: 'int32' }), [second]: kn.array(x) });
      return Object.fromEntries(
        Object.entries(results).map(([name, array]) => [name, (array.flatten().tolist() as number[])]),
      ); // prettier-ignore
    },
    (n, x) => {
      const results = made.run({ [first]: Int32Array.of(n), [second]: Float32Array.from(x) });
      return Object.fromEntries(Object.entries(results).map(([name, { data }]) => [name, [...data]]));
    },
  ]; // prettier-ignore
}

/** The selection of a size that data decides: loops around it are run by the host. */
const positive = (x: kn.NDArray): kn.NDArray => kn.booleanMask(x, x.greater(0));

/** The same number; what selects it in two ways fits only when the program runs. */
const selected = (s: kn.NDArray): kn.NDArray =>
  positive(s).add(positive(s.mul(2))).sum().div(3); // prettier-ignore

const start = (): kn.NDArray => kn.array(0, { dtype: 'int32' });
const limit = 6;
/** Long runs before short ones, with numbers that are nowhere zero. */
const runs: readonly (readonly [number, readonly number[]])[] = [
  [6, [1, 3]],
  [2, [5, 7]],
  [9, [2, 4]],
  [0, [1, 1]],
  [5, [1, 2]],
  [1, [9, 8]],
];

describe('rows that a loop does not come to are zero', () => {
  const bodies: Readonly<Record<string, (s: kn.NDArray) => kn.NDArray>> = {
    'compiled as one': (s) => s.sum(),
    'run by the host': selected,
  };
  for (const [name, sumOf] of Object.entries(bodies)) {
    it(`in a whileLoop that is ${name}`, async () => {
      const f = kn.hybridize((n: kn.NDArray, x: kn.NDArray) => {
        const [{ sums, rows }, [, last], iterations] = kn.whileLoop(
          (k: kn.NDArray) => k.less(n),
          (k: kn.NDArray, s: kn.NDArray) => [{ sums: sumOf(s), rows: s }, [k.add(1), s.mul(2)]],
          [start(), x],
          { maxIterations: limit, padded: true },
        );
        return { sums, rows, last, iterations };
      });
      const graph = f.graphFor(kn.array(1, { dtype: 'int32' }), kn.ones([2]));
      for (const run of await runners(graph)) {
        for (const [n, x] of runs) {
          const trips = Math.min(n, limit);
          const row = (k: number): number[] => (k < trips ? x.map((v) => v * 2 ** k) : [0, 0]);
          const all = Array.from({ length: limit }, (_, k) => row(k));
          assert.deepEqual(run(n, x), {
            sums: all.map(([a, b]) => a + b),
            rows: all.flat(),
            last: x.map((v) => v * 2 ** trips),
            iterations: [trips],
          });
        }
      }
    });

    it(`in the gradient of a whileLoop that is ${name}`, async () => {
      const f = kn.hybridize((n: kn.NDArray, x: kn.NDArray) => {
        const w = kn.full([2], 2);
        const loss = (): kn.NDArray => {
          const [sums] = kn.whileLoop(
            (k: kn.NDArray) => k.less(n),
            (k: kn.NDArray, s: kn.NDArray) => [sumOf(s), [k.add(1), s.mul(w)]],
            [start(), x],
            { maxIterations: limit, padded: true },
          );
          return (sums as kn.NDArray).sum();
        };
        const [dw, dx] = kn.autograd.grad(kn.autograd.record(loss), [w, x]);
        return { dw, dx };
      });
      const graph = f.graphFor(kn.array(1, { dtype: 'int32' }), kn.ones([2]));
      for (const run of await runners(graph)) {
        for (const [n, x] of runs) {
          const powers = Array.from({ length: Math.min(n, limit) }, (_, k) => k);
          // The loss is the sum of x w^k over k.
          const slope = powers.reduce((sum, k) => sum + k * 2 ** (k - 1), 0);
          const total = powers.reduce((sum, k) => sum + 2 ** k, 0);
          assert.deepEqual(run(n, x), { dw: x.map((v) => v * slope), dx: x.map(() => total) });
        }
      }
    });
  }

  for (const reverse of [false, true]) {
    it(`in a foreach over counted rows${reverse ? ', the last first' : ''}, run by the host`, async () => {
      const row = { dtype: 'float32', shape: [2] } as const;
      const body = programOf({ x: row, s: { dtype: 'float32', shape: [] } }, ({ x, s }) => {
        // Once each, as only the data tells: no size bounds how many there are.
        const times = ops.cast<Value>(ops.greater<Value>(x, 0), 'int32');
        const sum = ops.sum<Value>(ops.repeatEach<Value>(x, times, 0));
        const next = ops.add<Value>(s, sum);
        return { sum: ops.mul<Value>(x, next), next };
      });
      const program = programOf(
        { n: { dtype: 'int32', shape: [] }, x: { dtype: 'float32', shape: [12] } },
        ({ n, x }) => {
          const rows = ops.reshape<Value>(x, [limit, 2]);
          const start = ops.mul<Value>(ops.sum<Value>(x), 0);
          const [products, total] = ops.foreach<Value>(body, { data: [rows], states: [start], captures: [], count: n, reverse }); // prettier-ignore
          return { products, total };
        },
      );
      for (const run of await runners(new StaticGraph({ program, reads: [], writes: [] }))) {
        for (const n of [6, 2, 5, 0, 1]) {
          const x = Array.from({ length: 12 }, (_, i) => i + n + 1);
          const products = x.map(() => 0);
          let total = 0;
          for (let i = 0; i < n; i++) {
            const k = reverse ? n - 1 - i : i;
            total += x[2 * k] + x[2 * k + 1];
            for (const j of [2 * k, 2 * k + 1]) products[j] = x[j] * total;
          }
          assert.deepEqual(run(n, x), { products, total: [total] });
        }
      }
    });
  }
});
