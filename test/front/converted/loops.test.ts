import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { converted } from '../../source/convert.js';
import { fn, table } from './programs.js';

/** Loops over collections of three elements, which a captured array ends early. */
const collections = {
  'a list': '[1, 2, 3]',
  'a typed array': 'Float32Array.of(1, 2, 3)',
  'a text': "'123'",
  'a map': 'new Map([[1, 1], [2, 2], [3, 3]])',
  'a set': 'new Set([1, 2, 3])',
};

for (const [name, text] of Object.entries(collections)) {
  test(`${name} is a loop that ends, wherever an array leaves it`, () => {
    const f = fn(`for (const each of ${text}) { a = a.add(Number(Array.isArray(each) ? each[0] : each)); if (a.greater(5)) break; } return a.mul(2);`); // prettier-ignore
    const captured = kn.hybridize(f);
    // 0 + 1 + 2 + 3 = 6, 3 + 1 + 2 = 6 ends before the third element, 5 + 1 = 6 before the second.
    for (const value of [-9, 0, 3, 5]) {
      const expected = value < 0 ? -6 : 12;
      assert.equal(f(kn.array(value), table).item(), expected);
      assert.equal(captured(kn.array(value), table).item(), expected);
    }
  });
}

test('a loop inside of another one returns numbers that are known in its first trace only', () => {
  const code = (body: string): string => `function main(x, limit) { 'use graph';
    for (let i = 0; i < 3; i++) { let j = 0;
      while (x.slice(j).less(limit)) { j++; if (j === 3) return ${body}; } }
    return ${body.replaceAll(/\b[ij]\b(?!:)/g, '-1')}; }`;
  for (const body of ['[i, j]', '[i, i]', '({ a: i, b: [j, i] })', 'i', '[2, i]', '[x.sum(), i]']) {
    const f = converted(code(body)) as unknown as (x: kn.NDArray, limit: kn.NDArray) => unknown;
    const hybrid = kn.hybridize(f);
    for (const limit of [11, 0, 2]) {
      const given = [kn.array([1, 5, 3, 8]), kn.array(limit)] as const;
      const texts = [f(...given), hybrid(...given)].map((each) => JSON.stringify(each));
      assert.equal(texts[1], texts[0], `${body}, ${limit}`);
    }
  }
});
