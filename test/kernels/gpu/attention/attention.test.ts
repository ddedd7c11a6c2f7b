import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../../src/base/dim/index.js';
import { Program, type Value } from '../../../../src/ir/program.js';
import { workgroupsIn } from '../../../../src/loop/language/verify-workgroups.js';
import { attention } from '../../../../src/ops/index.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { numbersOf } from '../../../support/arrays.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../../support/gpu-programs.js';
import { floats } from '../../../support/programs.js';
import { type AttentionCase, operandsOf, weightsOf } from './cases.js';

/* Attention by tiles against the formula in double precision. */

/** `isOpen`: widths are not known. */
function programOf(given: AttentionCase, operands: readonly Operand[], isOpen: boolean = false): Program {
  const program = new Program();
  const [size, channels] = ['size', 'channels'].map((name) => symbol(name));
  const widths = [size, size, channels];
  const [q, k, v, mask]: readonly Value[] = operands.map(({ storage: { dtype }, shape }, i) => program.variable(`x${i}`, { dtype, shape: isOpen && i < 3 ? [...shape.slice(0, -1), widths[i]] : shape }));
  const options = { causal: given.causal ?? false, ...(mask !== undefined && { mask }) };
  program.setOutputs([{ name: 'y', value: attention(q, k, v, options) }]);
  return program;
} // prettier-ignore

for (const given of [
  { heads: 2, queries: 20, keys: 37, size: 8, channels: 5 },
  { heads: 1, queries: 35, keys: 35, size: 16, channels: 16, causal: true },
  { heads: 2, queries: 17, keys: 16, size: 4, channels: 20, mask: 'bool' },
  { heads: 1, queries: 9, keys: 33, size: 3, channels: 64, mask: 'float32', causal: true },
  { heads: 1, queries: 5, keys: 20, size: 128, channels: 128 },
  { heads: 1, queries: 2, keys: 1100, size: 4, channels: 3 },
  { heads: 3, queries: 1, keys: 1, size: 1, channels: 1 },
  { heads: 2, queries: 9, keys: 17, size: 256, channels: 256, causal: true },
  { heads: 1, queries: 6, keys: 9, size: 40, channels: 192, mask: 'bool' },
] satisfies readonly AttentionCase[] as readonly AttentionCase[]) {
  test(`attention of ${JSON.stringify(given)}`, async () => {
    const operands = operandsOf(given);
    const program = programOf(given, operands);
    const { queries, channels } = given;
    // Heads that are too wide for the memory of a workgroup: two products and a softmax between them.
    const groups = gpuKernelsOf(program).map(({ body }) => workgroupsIn(body).length);
    if (channels <= 768) assert.deepEqual(groups, [1]);
    else assert.deepEqual([groups.length, groups[0], groups[2]], [3, 1, 1]);
    const numbers = operands.map(numbersOf);
    const [y] = await new ProgramsOnGrid(queries).run(program, operands);
    assertAttention(given, numbers, numbersOf(y));
  });
}

test('attention of heads whose widths are not known is two products, and a softmax between them', async () => {
  for (const given of [
    { heads: 2, queries: 17, keys: 16, size: 4, channels: 20, mask: 'bool' },
    { heads: 1, queries: 9, keys: 33, size: 3, channels: 1, causal: true },
  ] satisfies readonly AttentionCase[] as readonly AttentionCase[]) {
    const operands = operandsOf(given);
    const program = programOf(given, operands, true);
    const groups = gpuKernelsOf(program).map(({ body }) => workgroupsIn(body).length);
    assert.equal(groups.reduce((a, b) => a + b), 2);
    const [y] = await new ProgramsOnGrid(3).run(program, operands);
    assertAttention(given, operands.map(numbersOf), numbersOf(y));
  }
}); // prettier-ignore

/** Compares attention with the formula. */
function assertAttention(given: AttentionCase, numbers: readonly (readonly number[])[], found: readonly number[]): void {
  const { heads, queries, keys, channels } = given;
    for (let head = 0; head < heads; head++) {
    for (let query = 0; query < queries; query++) {
      const weights = weightsOf(given, numbers, head, query);
      for (let channel = 0; channel < channels; channel++) {
        const terms = weights.map((weight, key) => weight * numbers[2][(head * keys + key) * channels + channel]); // prettier-ignore
        const exact = terms.reduce((a, b) => a + b, 0);
        // Scores are rounded a few times, relative to their greatest terms; sums some 40 times.
        const margin = terms.reduce((total, term) => total + Math.abs(term), 0) * 200 * 2 ** -24;
        const at = (head * queries + query) * channels + channel;
        assert.ok(Math.abs(found[at] - exact) <= margin, `${found[at]}, not ${exact}`);
      }
    }
  }
} // prettier-ignore

test('attention to what is not a number is not a number, and beside no keys nothing', async () => {
  const given = { heads: 1, queries: 3, keys: 18, size: 2, channels: 2 };
  const [q, k, v] = operandsOf(given);
  const [, ...rest] = numbersOf(q);
  const spoiled = floats(q.shape, [NaN, ...rest]);
  const [y] = await new ProgramsOnGrid().run(programOf(given, [q, k, v]), [spoiled, k, v]);
  assert.deepEqual(numbersOf(y).map(Number.isNaN), [true, true, false, false, false, false]);
  const none = { ...given, keys: 0 };
  const operands = operandsOf(none);
  const [zeros] = await new ProgramsOnGrid().run(programOf(none, operands), operands);
  assert.deepEqual(numbersOf(zeros), Array(6).fill(0));
});
