import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { interpret } from '../../../src/loop/interpret/interpret.js';
import { parseModule } from '../../../src/loop/language/parse.js';
import { laneRules } from '../../../src/loop/simplify/lanes.js';
import { simplifyKernel } from '../../../src/loop/optimize/simplify.js';
import { kernelText } from '../../../src/loop/language/text.js';

const cases: readonly (readonly [rule: string, before: string, after: string])[] = [
  ['uniform-lanes', 'x4(i) * x4(i) + x4(1)', 'x4(i * i + 1)'],
  ['uniform-lanes', 'k[x4(i)]', 'x4(k[i])'],
  ['uniform-lanes', 'select(x4(i) < x4(3), x4(i), x4(3))', 'x4(select(i < 3, i, 3))'],
  ['spaced-lanes', 'ramp(i, 1, 4) + x4(n)', 'ramp(n + i, 1, 4)'],
  ['spaced-lanes', 'ramp(i, 1, 4) + ramp(2, 3, 4)', 'ramp(i + 2, 4, 4)'],
  ['spaced-lanes', 'x4(9) - ramp(i, 1, 4)', 'ramp(9 - i, -1, 4)'],
  ['scaled-lanes', 'ramp(i, 1, 4) * x4(n)', 'ramp(n * i, n, 4)'],
  ['scaled-lanes', 'x4(n) * ramp(i, 2, 4)', 'ramp(n * i, n * 2, 4)'],
  ['scaled-lanes', 'neg(ramp(i, 1, 4))', 'ramp(neg(i), -1, 4)'],
  ['scaled-lanes', 'ramp(i, 1, 4) << x4(2)', 'ramp(i * 4, 4, 4)'],
  ['still-ramp', 'ramp(i, 1, 4) - ramp(0, 1, 4)', 'x4(i)'],
  ['constant-broadcast', 'x4(i - i)', 'x4(0)'],
  ['extract-known', 'x4(lane(ramp(i, n, 4), 2))', 'x4(n * 2 + i)'],
  ['extract-known', 'x4(lane(x4(i), 3))', 'x4(i)'],
];

const kernelOf = (expr: string): string => `kernel k(o: i32[], k: i32[], n: i32) {
  for i in 0..4 {
    o[ramp(i * 4, 1, 4)] = ${expr}
  }
}
`;

function run(text: string): readonly number[] {
  const memory = new ArrayBuffer(128);
  new Int32Array(memory, 64).set([5, 6, 7, 8]);
  interpret(parseModule(text), memory, 'k', [0, 64, 3]);
  return [...new Int32Array(memory)];
}

describe('lane rules', () => {
  for (const [rule, before, after] of cases) {
    it(`${rule}: ${before} becomes ${after}`, () => {
      const simplified = kernelText(simplifyKernel(parseModule(kernelOf(before)).kernels[0]));
      assert.equal(/\] = (.*)\n/.exec(simplified)?.[1], after);
      assert.deepEqual(run(simplified), run(kernelOf(before)));
    });
  }

  it('has a case for every rule', () => {
    const covered = new Set(cases.map(([rule]) => rule));
    assert.deepEqual([...covered].sort(), laneRules.map(({ name }) => name).sort());
  });
});
