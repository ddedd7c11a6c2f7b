import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DType } from '../../../src/base/dtype.js';
import { dtypes } from '../../../src/base/dtype.js';
import * as kn from '../../../src/index.js';
import { canCompile, reached, withTier } from './support.js';

type Arrays = readonly kn.NDArray[];
type Code = (...arrays: kn.NDArray[]) => kn.NDArray | Arrays;

/** Distinct from element to element, of both signs, and the same every time. */
function wave(shape: readonly number[], dtype: DType = 'float32'): kn.NDArray {
  const length = shape.reduce((product, extent) => product * extent, 1);
  const elements = Array.from({ length }, (_, i) => Math.sin(i * 0.7 + length) * 3);
  return kn
    .array(elements)
    .reshape([...shape])
    .astype(dtype);
}

const mask = (shape: readonly number[]): kn.NDArray => wave(shape).greater(0.5);

interface Case {
  readonly name: string;
  readonly code: Code;
  readonly on: () => Arrays;
}

const cases: readonly Case[] = [
  {
    name: 'a chain of products, transposed and batched',
    code: (a, b, c) => [a.matmul(b).matmul(b.transpose()), c.matmul(c.transpose([0, 2, 1]))],
    on: () => [wave([33, 17]), wave([17, 50]), wave([3, 5, 70])],
  },
  {
    name: 'reductions along every axis, of every kind',
    // The sum of all is one of squares: about as many terms of either sign would leave no digits to compare.
    code: (x) => [x.sum(0), x.mean(1), x.max(), x.prod(0), x.argmax(1), x.square().sum([0, 1])],
    on: () => [wave([19, 67])],
  },
  {
    name: 'softmax and normalization',
    code: (x) => [kn.softmax(x), kn.logSoftmax(x, 0), x.sub(x.mean(1, { keepdims: true }))],
    on: () => [wave([9, 131])],
  },
  {
    name: 'elementwise functions of every hardness',
    code: (x) => [x.exp(), x.tanh(), x.sin(), x.abs().log(), kn.gelu(x), x.pow(3), x.floor(), kn.erf(x)],
    on: () => [wave([257])],
  },
  {
    name: 'gathers, scatters and cuts',
    code: (x, at) => [
      x.take(at), x.flip(0), kn.concat([x, x], 1), x.slice([1, 9, 2], [null, null, -1]), kn.sort(x),
    ],
    on: () => [wave([11, 21]), kn.array([0, 10, 3, 3], { dtype: 'int32' })],
  },
  {
    name: 'a loop that carries a state',
    code: (xs, w) => {
      const step = (x: kn.NDArray, h: kn.NDArray): [kn.NDArray, kn.NDArray] => {
        const next = x.matmul(w).add(h).tanh();
        return [next, next];
      };
      const [rows, last] = kn.foreach(step, xs, kn.zeros([4, 18]));
      return [rows as kn.NDArray, last as kn.NDArray];
    },
    on: () => [wave([7, 4, 18]), wave([18, 18]).mul(0.1)],
  },
  {
    name: 'a loop that ends by its data, and a branch',
    code: (x) => {
      const [, [y, n]] = kn.whileLoop(
        (v: kn.NDArray) => v.sum().less(1000),
        (v: kn.NDArray, n: kn.NDArray) => [[], [v.mul(1.5), n.add(1)]],
        [x.abs(), kn.array(0, { dtype: 'int32' })],
      ) as unknown as [unknown, [kn.NDArray, kn.NDArray]];
      return [y, n, kn.cond(n.greater(3), () => y.neg(), () => y.mul(2)) as kn.NDArray];
    },
    on: () => [wave([23])],
  },
  {
    name: 'sizes that the data decides, and loops that the host runs',
    code: (x, keep) => {
      const chosen = kn.booleanMask(x, keep);
      return [chosen.mul(2), chosen.sum(0), kn.nonzero(keep), kn.unique(x.floor()) as kn.NDArray];
    },
    on: () => [wave([29, 3]), mask([29])],
  },
  ...dtypes.map((dtype): Case => ({
    name: `${dtype}: arithmetic, sums and comparisons`,
    code: (x, y) => {
      const [a, b] = dtype === 'bool' ? [x.astype('int32'), y.astype('int32')] : [x, y];
      return [x, a.add(b), a.mul(b), a.sum(0), kn.maximum(a, b), x.equal(y), a.sub(b).astype('float32')];
    },
    on: () => [wave([6, 43], dtype), wave([6, 43], dtype).flip(1)],
  })),
]; // prettier-ignore

const list = (made: kn.NDArray | Arrays): Arrays => (made instanceof kn.NDArray ? [made] : made);

function expectClose(actual: kn.NDArray, wanted: kn.NDArray, what: string): void {
  assert.deepEqual(actual.shape, wanted.shape, what);
  assert.equal(actual.dtype, wanted.dtype, what);
  const isExact = !wanted.dtype.includes('float');
  const [have, want] = [actual, wanted].map((array) => array.astype('float64').dataSync());
  let scale = 0;
  for (const value of want)
    if (Number.isFinite(value)) scale = Math.max(scale, Math.abs(Number(value)));
  const coarse = wanted.dtype === 'float16' || wanted.dtype === 'bfloat16' ? 2 ** -7 : 2 ** -17;
  for (let i = 0; i < want.length; i++) {
    if (Object.is(have[i], want[i]) || have[i] === want[i]) continue;
    const distance = Math.abs(Number(have[i]) - Number(want[i]));
    const isClose = !isExact && distance <= coarse * scale;
    assert.ok(isClose, `${what}, element ${i}: ${have[i]} instead of ${want[i]}`);
  }
}

// Each of these sees to it that what is compared has been compiled.
for (const { name, code, on } of cases) {
  test(`${reached}: ${name}`, () => {
    withTier({}, () => {
      const arrays = on();
      const [native, wasm] = (['native', 'wasm'] as const).map((tier) => {
        return kn.hybridize((...given: kn.NDArray[]) => list(code(...given)), {
          tier,
          verify: 'off',
        });
      });
      for (let run = 0; run < 2; run++) {
        const wanted = list(wasm(...arrays));
        list(native(...arrays)).forEach((array, k) => {
          expectClose(array, wanted[k], `result ${k} of run ${run}`);
        });
      }
      const reports = native.explain().traces.flatMap(({ tiers }) => tiers);
      assert.ok(reports.length > 0);
      for (const { tier, reason, since } of reports) {
        assert.equal(tier, reached, String(reason));
        assert.equal(reason === null, canCompile);
        assert.equal(since, canCompile ? 1 : null);
      }
      for (const { tier, reason } of wasm.explain().traces.flatMap(({ tiers }) => tiers)) {
        assert.deepEqual([tier, reason], ['wasm', 'asked for']);
      }
    });
  });
}
