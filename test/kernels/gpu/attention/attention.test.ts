import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, symbol } from '../../../../src/base/dim/index.js';
import { Program, type Value } from '../../../../src/ir/program.js';
import type { Buffer, Const, Stmt } from '../../../../src/loop/language/nodes.js';
import { workgroupsIn } from '../../../../src/loop/language/verify-workgroups.js';
import { ownExprs, ownStmts, visitExprs, visitStmts } from '../../../../src/loop/language/visit.js';
import { attention } from '../../../../src/ops/index.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { numbersOf } from '../../../support/arrays.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../../support/gpu-programs.js';
import { floats } from '../../../support/programs.js';
import { type AttentionCase, operandsOf, weightsOf } from './cases.js';

/* Attention by tiles against the formula in double precision. */

/** `isOpen`: widths, or lengths, are not known. */
function programOf(given: AttentionCase, operands: readonly Operand[], isOpen: 'widths' | 'lengths' | null = null): Program {
  const program = new Program();
  const [size, channels, queries, keys] = ['size', 'channels', 'queries', 'keys'].map((name) => symbol(name));
  const [widths, lengths] = [[size, size, channels], [queries, keys, keys]];
  const typeOf = (shape: readonly number[], i: number): readonly Dim[] => {
    if (isOpen === null) return shape;
    if (i === 3) return isOpen === 'lengths' ? [queries, keys] : shape;
    return isOpen === 'widths' ? [...shape.slice(0, -1), widths[i]] : [...shape.slice(0, -2), lengths[i], shape.at(-1)!];
  };
  const [q, k, v, mask]: readonly Value[] = operands.map(({ storage: { dtype }, shape }, i) => program.variable(`x${i}`, { dtype, shape: typeOf(shape, i) }));
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
  { heads: 1, queries: 3, keys: 1100, size: 4, channels: 3 },
  { heads: 3, queries: 1, keys: 1, size: 1, channels: 1 },
  { heads: 2, queries: 9, keys: 17, size: 256, channels: 256, causal: true },
  { heads: 1, queries: 6, keys: 9, size: 40, channels: 192, mask: 'bool' },
  { heads: 1, queries: 2, keys: 3, size: 300, channels: 768 },
  { heads: 1, queries: 6, keys: 9, size: 40, channels: 772 },
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
    const program = programOf(given, operands, 'widths');
    const groups = gpuKernelsOf(program).map(({ body }) => workgroupsIn(body).length);
    assert.equal(groups.reduce((a, b) => a + b), 2);
    const [y] = await new ProgramsOnGrid(3).run(program, operands);
    assertAttention(given, operands.map(numbersOf), numbersOf(y));
  }
}); // prettier-ignore

test('a few queries that see many keys are products of few rows, and a softmax between them', async () => {
  for (const given of [
    { heads: 3, queries: 1, keys: 1100, size: 32, channels: 20 },
    { heads: 2, queries: 2, keys: 513, size: 36, channels: 3, mask: 'bool' },
    { heads: 1, queries: 1, keys: 512, size: 33, channels: 8, mask: 'float32' },
  ] satisfies readonly AttentionCase[] as readonly AttentionCase[]) {
    const operands = operandsOf(given);
    const program = programOf(given, operands);
    // Many invocations share a result of a product, where a tile would have a row of results for some of them.
    assert.deepEqual(gpuKernelsOf(program).map(({ body }) => workgroupsIn(body).length), [1, 1, 1]);
    const [y] = await new ProgramsOnGrid(4).run(program, operands);
    assertAttention(given, operands.map(numbersOf), numbersOf(y));
  }
  // One that sees no more keys than there are queries, or few of them, has a tile.
  for (const given of [
    { heads: 1, queries: 2, keys: 1100, size: 4, channels: 3, causal: true },
    { heads: 1, queries: 1, keys: 511, size: 4, channels: 3 },
  ]) {
    const program = programOf(given, operandsOf(given));
    assert.equal(gpuKernelsOf(program).length, 1);
  }
}); // prettier-ignore

test('attention of lengths that are known at run time only is one kernel', async () => {
  for (const given of [
    { heads: 2, queries: 35, keys: 20, size: 8, channels: 12, mask: 'float32' },
    { heads: 1, queries: 40, keys: 40, size: 5, channels: 3, causal: true },
    { heads: 1, queries: 1, keys: 1100, size: 4, channels: 4 },
  ] satisfies readonly AttentionCase[] as readonly AttentionCase[]) {
    const operands = operandsOf(given);
    const program = programOf(given, operands, 'lengths');
    assert.deepEqual(gpuKernelsOf(program).map(({ body }) => workgroupsIn(body).length), [1]);
    const [y] = await new ProgramsOnGrid(3).run(program, operands);
    assertAttention(given, operands.map(numbersOf), numbersOf(y));
  }
}); // prettier-ignore

test('queries share keys and values in groups', async () => {
  const given = { heads: 2, queries: 9, keys: 11, size: 6, channels: 8 };
  const [groups, grouped] = [3, { ...given, heads: 6 }];
  const [q] = operandsOf(grouped);
  const [, k, v] = operandsOf(given);
  const apart = ({ shape: [heads, ...rest] }: Operand, beside: number): readonly number[] => [heads / beside, beside, ...rest];
  const operands = [q, k, v].map((operand, i) => floats(apart(operand, i === 0 ? groups : 1), numbersOf(operand)));
  const [y] = await new ProgramsOnGrid(5).run(programOf(given, operands), operands);
  const repeated = (operand: Operand): readonly number[] => {
    const numbers = numbersOf(operand);
    const each = numbers.length / given.heads;
    return Array.from({ length: given.heads * groups }, (_, at) => Math.floor(at / groups) * each).flatMap((from) => numbers.slice(from, from + each));
  };
  assertAttention(grouped, [numbersOf(q), repeated(k), repeated(v)], numbersOf(y));
}); // prettier-ignore

test('an invocation has a block of scores and one of results in registers', () => {
  const program = new Program();
  const [q, k, v] = ['q', 'k', 'v'].map((name) => program.variable(name, { dtype: 'float32', shape: [8, 640, 64] }));
  program.setOutputs([{ name: 'y', value: attention(q, k, v) }]);
  const [{ body }] = gpuKernelsOf(program);
  const [{ size, memory: [{ buffer, length }] }] = workgroupsIn(body);
  assert.deepEqual([size, length], [128, 4096]);
  const loops: Stmt[] = [];
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'for' && stmt.variable.name.startsWith('from')) loops.push(stmt.body);
  });
  const [tile] = loops;
  // Of 64 queries and 32 keys: 4 by 4 scores along 64 steps, and 4 by 8 results along 32 keys, in vectors of four.
  assert.equal(counted(tile, products), 4 * 64 + 4 * 2 * 32);
  // For four steps a vector of each row and of each of the four columns; for four keys of each row, and two for each key.
  assert.equal(counted(tile, (stmt) => readsOf(stmt, buffer)), 16 * (4 + 4) + 8 * (4 + 8) + 8);
  assert.equal(counted(tile, ({ kind }) => Number(kind === 'workgroup barrier')), 8);
}); // prettier-ignore

/** The sum of a number of every statement, as often as it runs. */
function counted(stmt: Stmt, of: (stmt: Stmt) => number): number {
  const inside = ownStmts(stmt).reduce((total, inner) => total + counted(inner, of), 0);
  if (stmt.kind !== 'for') return of(stmt) + inside;
  const [begin, end] = [stmt.begin, stmt.end].map((bound) => Number((bound as Const).value));
  return Math.ceil((end - begin) / stmt.step) * inside;
}

/** Vectors that are multiplied and added to a sum. */
function products(stmt: Stmt): number {
  if (stmt.kind !== 'assign' || stmt.value.kind !== 'binary' || stmt.value.op !== 'add') return 0;
  const { a, b } = stmt.value;
  return Number(a === stmt.variable && b.kind === 'binary' && b.op === 'mul');
}

function readsOf(stmt: Stmt, buffer: Buffer): number {
  let reads = 0;
  visitExprs(ownExprs(stmt), (expr) => (reads += Number(expr.kind === 'load' && expr.buffer === buffer)));
  return reads;
} // prettier-ignore

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
  // Nothing is multiplied with values that are not there: an infinite last one is infinite in every result.
  const [first, ...others] = numbersOf(v).toReversed();
  const infinite = floats(v.shape, [...others.toReversed(), first * Infinity]);
  const [z] = await new ProgramsOnGrid().run(programOf(given, [q, k, v]), [q, k, infinite]);
  assert.deepEqual(
    numbersOf(z).map((x) => Math.abs(x) === Infinity),
    [false, true, false, true, false, true],
  );
  const none = { ...given, keys: 0 };
  const operands = operandsOf(none);
  const [zeros] = await new ProgramsOnGrid().run(programOf(none, operands), operands);
  assert.deepEqual(numbersOf(zeros), Array(6).fill(0));
});
