import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { interpret } from '../../../src/loop/interpret/interpret.js';
import { parseModule } from '../../../src/loop/language/parse.js';
import { indexRules } from '../../../src/loop/simplify/indices.js';
import { simplifyKernel } from '../../../src/loop/optimize/simplify.js';
import { kernelText } from '../../../src/loop/language/text.js';

/** Before and after, inside loops `i < m`, `j < n`, `q < 16`, `t < 4 * m`, with `z` from memory. */
const cases: readonly (readonly [rule: string, before: string, after: string])[] = [
  ['collect-terms', 'i * 3 + j - i', 'i * 2 + j'],
  ['collect-terms', '(i + 2) * (n + 1)', 'n * 2 + i + n * i + 2'],
  ['collect-terms', '(q << 3) - q * 8 + 5', '5'],
  ['collect-terms', '4 - q', '4 - q'],
  ['collect-terms', 't / 5 * 5 + t % 5', 't'],
  ['collect-terms', '(t - 7) / n * n * 3 + (t - 7) % n * 3 + 1', 't * 3 + -20'],
  ['divide-polynomial', '(i * n + j) / n', 'i'],
  ['divide-polynomial', '(i * n + j) % n', 'j'],
  ['divide-polynomial', '((i * n + j) * 16 + q) / (16 * n)', 'i'],
  ['divide-polynomial', '(i * (n + 1) + j) / (n + 1)', 'i'],
  ['divide-polynomial', '(i * (n + 1) + j) % (n + 1)', 'j'],
  ['divide-polynomial', '(i - 5) * n / n', 'i + -5'],
  ['divide-polynomial', '(q * 16 + t) / 4', 'q * 4 + t / 4'],
  ['divide-polynomial', '(q * 16 + t) % 4', 't % 4'],
  ['divide-polynomial', '(q * 16 - t) / 4', '(q * 16 - t) / 4'],
  ['divide-polynomial', '(i * n - j) / n', '(n * i - j) / n'],
  ['divide-polynomial', 'z * 4 / 4', 'z * 4 / 4'],
  ['divide-common-factor', '(q * 4 + 3) / 8', 'q / 2'],
  ['divide-common-factor', '(q * 4 - 8) / 6', '(q * 2 + -4) / 3'],
  ['divide-common-factor', '(q * 4 - 7) / 8', '(q * 4 + -7) / 8'],
  ['divide-twice', 't / 4 / 8', 't / 32'],
  ['divide-twice', 'z / 4 / 8', 'z / 32'],
  ['remainder-twice', 'z % 12 % 4', 'z % 4'],
  ['remainder-twice', 'z % 12 % 5', 'z % 12 % 5'],
  ['decide-comparison', 'i32(i * n + j < m * n)', '1'],
  ['decide-comparison', 'i32(q == q + 1) + i32(q != 16)', '1'],
  ['decide-comparison', 'i32(j + 1 > n)', '0'],
  ['decide-comparison', 'i32(i <= 0)', 'i32(i <= 0)'],
  ['decide-comparison', 'i32(z < z + 1)', 'i32(z < z + 1)'],
  ['decide-comparison', 'i32(b[0] < 256) + i32(b[0] >= 0)', '2'],
  ['decide-comparison', 'i32(z == -2147483648)', 'i32(z == -2147483648)'],
  ['decide-comparison', 'i32(z != -2147483648)', 'i32(z != -2147483648)'],
  ['decide-comparison', 'i32(z < -2147483648) + i32(z > 2147483647)', '0'],
  ['decide-comparison', 'i32(z <= -2147483648)', 'i32(z <= -2147483648)'],
  ['decide-extremum', 'min(z, 2147483647) + max(z, -2147483648)', 'z + z'],
  ['decide-extremum', 'min(q, 20) + max(j, n)', 'n + q'],
  ['decide-extremum', 'min(max(i, -1), m)', 'i'],
  ['decide-extremum', 'min(i, 3)', 'min(i, 3)'],
];

function kernelOf(expr: string): string {
  return `kernel k(o: i32[], x: i32[], b: u8[], n: i32, m: i32) {
  for i in 0..m {
    for j in 0..n {
      for q in 0..16 {
        for t in 0..m * 4 {
          let z = x[t]
          o[((i * n + j) * 16 + q) * (m * 4) + t] = ${expr}
        }
      }
    }
  }
}
`;
}

function run(text: string, n: number, m: number): readonly number[] {
  const memory = new ArrayBuffer(4 * 4096);
  new Int32Array(memory, 8, 8).set([-(2 ** 31), 2 ** 31 - 1, -1, 0, 29, -35, 2 ** 29, 12]);
  interpret(parseModule(text), memory, 'k', [64, 8, 0, n, m]);
  return [...new Int32Array(memory)];
}

describe('index rules', () => {
  for (const [rule, before, after] of cases) {
    it(`${rule}: ${before} becomes ${after}`, () => {
      const simplified = kernelText(simplifyKernel(parseModule(kernelOf(before)).kernels[0]));
      const stored = /\] = (.*)\n/.exec(simplified.slice(simplified.indexOf('o[')))?.[1];
      assert.equal(stored, after);
      for (const [n, m] of [[0, 2], [1, 1], [3, 2], [5, 2]]) {
        assert.deepEqual(run(simplified, n, m), run(kernelOf(before), n, m));
      } // prettier-ignore
    });
  }

  it('has a case for every rule', () => {
    const covered = new Set(cases.map(([rule]) => rule));
    assert.deepEqual([...covered].sort(), indexRules.map(({ name }) => name).sort());
  });
});
