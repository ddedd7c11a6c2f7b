import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DeviceError } from '../../../src/base/errors.js';
import { memoryOf } from '../../../src/loop/interpret/frame.js';
import { interpretApart } from '../../../src/loop/interpret/interpret.js';
import { parseKernel } from '../../../src/loop/language/parse.js';
import { verifyKernel } from '../../../src/loop/language/verify.js';

/** What a kernel `k(out, x, n)` leaves in `out`. */
function run(
  text: string,
  x: readonly number[],
  length: number,
  n: number,
  seed = 0,
): Float32Array {
  const kernel = parseKernel(`kernel k(out: f32[], x: f32[], n: i32) { ${text} }`);
  const out = new Float32Array(length);
  const given = Float32Array.from(x);
  const args = [out, given].map(({ buffer }) => ({ memory: memoryOf(buffer), address: 0 }));
  interpretApart(kernel, [...args, n], { index: 0, count: 1, seed });
  return out;
}

const lacks = (element: RegExp) => (error: Error) =>
  error instanceof DeviceError && /lacks a workgroup barrier/.test(error.message) && element.test(error.actual ?? ''); // prettier-ignore

const numbers = Array.from({ length: 32 }, (_, k) => k + 1);

/** Sums 8 elements for each group by halves. */
const tree = (barrier: string): string => `
  workgroups g, l in n of 8(part: f32[8]) {
    part[l] = x[g * 8 + l]
    workgroup_barrier
    for level in 0..3 {
      let half = 4 >> level
      if (l < half) { part[l] = part[l] + part[l + half] }
      ${barrier}
    }
    if (l == 0) { out[g] = part[0] }
  }`;

describe('workgroups', () => {
  it('add up by halves, in every order', () => {
    verifyKernel(parseKernel(`kernel k(out: f32[], x: f32[], n: i32) { ${tree('workgroup_barrier')} }`)); // prettier-ignore
    for (const seed of [0, 1, 2, 77]) {
      const sums = run(tree('workgroup_barrier'), numbers, 4, 4, seed);
      assert.deepEqual([...sums], [36, 100, 164, 228]);
    }
  });

  it('are groups for members of a team to divide', () => {
    const kernel = parseKernel(
      `kernel k(out: f32[], x: f32[], n: i32) { ${tree('workgroup_barrier')} }`,
    );
    const out = new Float32Array(4);
    const args = [out, Float32Array.from(numbers)].map(({ buffer }) => ({
      memory: memoryOf(buffer),
      address: 0,
    }));
    interpretApart(kernel, [...args, 4], { index: 1, count: 2 });
    assert.deepEqual([...out], [0, 0, 164, 228]);
  });

  it('tell of a barrier that is missing, whatever the order', () => {
    for (const seed of [0, 1, 2, 3, 4]) {
      assert.throws(() => run(tree(''), numbers, 4, 4, seed), lacks(/of part is (stored|read) by/));
    }
    const reversed = (barrier: string): string => `
      workgroups g, l in n of 8(part: f32[8]) {
        part[l] = x[g * 8 + l]
        ${barrier}
        out[g * 8 + l] = part[7 - l]
      }`;
    const expected = [...numbers.slice(0, 8).reverse(), ...numbers.slice(8, 16).reverse()];
    assert.deepEqual([...run(reversed('workgroup_barrier'), numbers, 16, 2, 5)], expected);
    for (const seed of [0, 5]) {
      assert.throws(() => run(reversed(''), numbers, 16, 2, seed), lacks(/of part is/));
    }
  });

  it('tell of two invocations that store to one place, and of places where nothing is', () => {
    assert.throws(
      () => run('workgroups g, l in n of 8(part: f32[8]) { part[l / 2] = x[l] }', numbers, 1, 1),
      lacks(/element 0 of part is stored by 0 and 1/),
    );
    assert.throws(
      () => run('workgroups g, l in n of 2(part: f32[4]) { part[l] = x[l] workgroup_barrier out[l] = part[l + 2] }', numbers, 2, 1), // prettier-ignore
      lacks(/element 2 of part is read, but nobody/),
    );
    // What the group before has left is not there.
    assert.throws(
      () => run('workgroups g, l in n of 2(part: f32[2]) { if (g == 0) { part[l] = x[l] } workgroup_barrier out[g * 2 + l] = part[l] }', numbers, 4, 2), // prettier-ignore
      lacks(/nobody has stored/),
    );
    assert.throws(
      () => run('workgroups g, l in n of 2(part: f32[2]) { part[l + 1] = x[l] }', numbers, 1, 1),
      /out of the bounds of buffer part/,
    );
  });

  it('refuse barriers at which not all invocations arrive', () => {
    assert.throws(
      () => run('workgroups g, l in n of 2() { if (l == 0) { workgroup_barrier } }', numbers, 1, 1),
      /not all invocations arrive/,
    );
    assert.throws(
      () => run('workgroups g, l in n of 2() { for i in 0..l { workgroup_barrier } }', numbers, 1, 1), // prettier-ignore
      /not all invocations arrive/,
    );
  });

  it('give each invocation locals and private memory of its own', () => {
    const kernel = parseKernel(`kernel k(out: f32[], own: private f32[], n: i32) {
      workgroups g, l in n of 4(part: f32[4]) {
        let sum = 0.0
        own[0] = f32(l)
        workgroup_barrier
        for i in 0..3 { sum = sum + own[0] workgroup_barrier }
        out[g * 4 + l] = sum
      }
    }`);
    const out = new Float32Array(8);
    const args = [out, new Float32Array(1)].map(({ buffer }) => ({
      memory: memoryOf(buffer),
      address: 0,
    }));
    interpretApart(kernel, [...args, 2], { index: 0, count: 1, seed: 9 });
    assert.deepEqual([...out], [0, 3, 6, 9, 0, 3, 6, 9]);
  });
});
