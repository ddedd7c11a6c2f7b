import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allocate, bytesOf, type DType, type HostArray } from '../../../src/base/dtype.js';
import { slabCopy } from '../../../src/runtime/memory/slab.js';

const dtypes: readonly DType[] = ['bool', 'int8', 'uint8', 'float16', 'int32', 'float32', 'int64', 'float64']; // prettier-ignore

function counted(dtype: DType, length: number, from: number): HostArray {
  const elements = allocate(dtype, length);
  for (let i = 0; i < length; i++) {
    if (elements instanceof BigInt64Array) elements[i] = BigInt((from + i) % 100);
    else elements[i] = (from + i) % 100;
  }
  return elements;
}

test('copies of all sizes and dtypes keep what they were made of, whatever is copied after them', () => {
  const made: { readonly copy: HostArray; readonly dtype: DType; readonly from: number }[] = [];
  for (let round = 0; round < 400; round++) {
    const dtype = dtypes[round % dtypes.length];
    const length = (round * 37) % Math.ceil(5000 / bytesOf(dtype));
    const original = counted(dtype, length, round);
    made.push({ copy: slabCopy(dtype, original), dtype, from: round });
    original.reverse();
  }
  for (const { copy, dtype, from } of made) {
    const expected = counted(dtype, copy.length, from);
    assert.equal(copy.constructor, expected.constructor);
    assert.deepEqual(copy, expected);
  }
});

test('what is written to one copy reaches no other', () => {
  const original = counted('float32', 100, 1);
  const copies = Array.from({ length: 50 }, () => slabCopy('float32', original) as Float32Array);
  copies.forEach((copy, i) => i % 2 === 0 && copy.fill(-1));
  copies.forEach((copy, i) => assert.deepEqual(copy, i % 2 === 0 ? new Float32Array(100).fill(-1) : original)); // prettier-ignore
});
