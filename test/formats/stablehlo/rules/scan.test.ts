import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '../../../../src/ir/program.js';
import { evaluateModule } from '../../../../src/formats/stablehlo/evaluate/evaluate.js';
import { exportModule } from '../../../../src/formats/stablehlo/export.js';
import { lowered } from '../../../../src/front/graphs/lowered.js';
import { add, cumprod, cumsum, fullLike } from '../../../../src/ops/index.js';
import { programOf } from '../../../support/programs.js';

/** What the text of a scan along a vector of one number gives. */
function scanOf(
  op: typeof cumsum | typeof cumprod,
  each: number,
  options: { readonly exclusive?: boolean; readonly reverse?: boolean },
): readonly number[] {
  const program = programOf({ x: { dtype: 'int64', shape: [4] } }, ({ x }) => ({
    y: add<Value>(op<Value>(fullLike<Value>(x, each), 0, options), x),
  }));
  const zeros = { dtype: 'int64', shape: [4], data: new BigInt64Array(4) } as const;
  const [y] = evaluateModule(exportModule(lowered(program)), [zeros]);
  return Array.from(y.data, Number);
}

test('sums and products of equal whole numbers are those of the numbers one by one', () => {
  for (const [op, neutral, join] of [
    [cumsum, 0, (a: number, b: number) => a + b],
    [cumprod, 1, (a: number, b: number) => a * b],
  ] as const) {
    for (const each of [1, 0, 3]) {
      for (const exclusive of [false, true]) {
        for (const reverse of [false, true]) {
          let total: number = neutral;
          const expected = [0, 1, 2, 3].map(() => {
            const before = total;
            total = join(total, each);
            return exclusive ? before : total;
          });
          if (reverse) expected.reverse();
          assert.deepEqual(scanOf(op, each, { exclusive, reverse }), expected);
        }
      }
    }
  }
});
