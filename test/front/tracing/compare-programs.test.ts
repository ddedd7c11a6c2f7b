import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProgramComparison } from '../../../src/front/tracing/compare-programs.js';
import { parse } from '../../support/program-texts.js';

/** Two selections, the sum of one of them with itself, and the names of the sizes that they decide. */
const selections = (first: string, second: string, added: string): string => `program {
  dim 0 <= ${first} <= 4
  dim 0 <= ${second} <= 4
  input x: float32[4]
  input m: bool[4]
  input n: bool[4]
  %0 = booleanMask(x, m): float32[${first}] decides [${first} <= 4]
  %1 = booleanMask(x, n): float32[${second}] decides [${second} <= 4]
  %2 = add(${added}, ${added}): float32[${added === '%0' ? first : second}]
  output y = %2
}`;

function problem(first: string, second: string): string | null {
  const comparison = new ProgramComparison(new Map());
  return comparison.compare(parse(first), parse(second), { mayRename: false })?.problem ?? null;
}

test('sizes that calls decide may have other names in another capture', () => {
  const first = selections('count_0', 'count_1', '%0');
  assert.equal(problem(first, selections('count_1', 'count_0__0', '%0')), null);
  assert.equal(problem(first, selections('count_1', 'count_0', '%0')), null);
});

test('other operands and other results are a change under any names', () => {
  const first = selections('count_0', 'count_1', '%0');
  assert.equal(problem(first, selections('a', 'b', '%1')), 'an operator with other operands');
  const fixed = first.replaceAll('bool[4]', 'bool[3]').replaceAll('float32[4]', 'float32[3]').replaceAll('<= 4', '<= 3'); // prettier-ignore
  assert.equal(problem(first, fixed), 'another input');
});
