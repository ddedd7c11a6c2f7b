import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '../../../src/ir/program.js';
import { greatestNumber } from '../../../src/ops/reduction/lowered.js';
import { numbersOf } from '../../support/arrays.js';
import { evaluate } from '../../support/evaluate.js';
import { operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const none = -Infinity;

function found(dtype: 'float32' | 'float64', shape: number[], list: readonly number[]): number[] {
  const x = operand(dtype, shape, list);
  const [wasm, interpreter] = (['wasm', 'interpreter'] as const).map((target) =>
    numbersOf(evaluate([x], (value: Value) => greatestNumber(value, -1), target)[0]),
  );
  assert.deepEqual(wasm, interpreter);
  return wasm;
}

test('NaN is no number, wherever it is in a row, and a row without numbers has the least', () => {
  const random = generator(3);
  for (const dtype of ['float32', 'float64'] as const) {
    assert.deepEqual(found(dtype, [4, 2], [NaN, 1, 1, NaN, NaN, NaN, none, NaN]), [1, 1, none, none]); // prettier-ignore
    assert.deepEqual(found(dtype, [2, 3], [Infinity, NaN, 0, none, -3, none]), [Infinity, -3]);
    assert.deepEqual(found(dtype, [2, 0], []), [none, none]);
    // In vectors, their copies, and what is left over.
    for (const width of [3, 16, 17, 70]) {
      for (let at = 0; at < width; at++) {
        const row = Array.from({ length: width }, () => Math.fround(random() - 2));
        const numbers = row.filter((_, k) => k !== at);
        row[at] = NaN;
        assert.deepEqual(
          found(dtype, [1, width], row),
          [Math.max(...numbers)],
          `${at} of ${width}`,
        );
      }
    }
  }
});
