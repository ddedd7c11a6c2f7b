import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportModule } from '../../../../src/formats/stablehlo/export.js';
import { parse } from '../../../support/program-texts.js';

test('numbers of two axes of one size are two values, since the axes may be divided differently', () => {
  const text = exportModule(
    parse(`program {
      %0 = eye() {rows: 4, columns: 4, k: 1, dtype: "float32"}: float32[4, 4]
      output y = %0
    }`),
  );
  const numbers = [...text.matchAll(/(%\d+) = "stablehlo.iota"\(\)/g)].map(([, name]) => name);
  assert.equal(numbers.length, 2);
  assert.equal(new Set(numbers).size, 2);
});
