import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allocate, type DType, dtypes, isFloat, kindOf } from '../../src/base/dtype.js';
import { readElement, writeElement } from '../../src/base/element.js';
import { exactBits, greatestFinite, integerRange, isSigned } from '../../src/base/numbers.js';

/** What becomes of a number at rest. */
function kept(dtype: DType, value: number | bigint): number | bigint {
  const home = allocate(dtype, 1);
  writeElement(dtype, home, 0, value);
  const element = readElement(dtype, home, 0);
  return typeof element === 'boolean' ? Number(element) : element;
}

test('whole numbers of so many bits stay as they are, and one more bit is too many', () => {
  for (const dtype of dtypes) {
    const end = 2n ** BigInt(exactBits(dtype));
    assert.equal(BigInt(kept(dtype, end - 1n)), end - 1n, dtype);
    assert.notEqual(BigInt(kept(dtype, isFloat(dtype) ? end + 1n : end)), end + 1n, dtype);
    const isKept = BigInt(kept(dtype, -1n)) === -1n;
    assert.equal(isKept, isSigned(dtype), dtype);
  }
});

test('the ends of a range are elements, and what lies behind them wraps', () => {
  for (const dtype of dtypes) {
    const range = integerRange(dtype);
    assert.equal(range !== null, kindOf(dtype) === 'int', dtype);
    if (range === null) continue;
    const [least, greatest] = range;
    for (const end of range) assert.equal(BigInt(kept(dtype, end)), end, dtype);
    assert.equal(BigInt(kept(dtype, greatest + 1n)), least, dtype);
    assert.equal(BigInt(kept(dtype, least - 1n)), greatest, dtype);
  }
});

test('the greatest finite number is one, and half a step more rounds to infinity', () => {
  for (const dtype of dtypes) {
    const greatest = greatestFinite(dtype);
    assert.equal(greatest !== null, isFloat(dtype), dtype);
    if (greatest === null) continue;
    assert.equal(kept(dtype, greatest), greatest, dtype);
    // All bits of its significand are set.
    const step = greatest / (2 ** exactBits(dtype) - 1);
    assert.equal(kept(dtype, greatest + step / 2), Infinity, dtype);
  }
});
