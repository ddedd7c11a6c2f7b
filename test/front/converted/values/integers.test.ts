import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { isNumberArray, math, op, unary } from '../../../../src/front/converted/values/numbers.js';
import { asNumber } from '../../../../src/front/converted/values/numbers.js';
import { converted, original } from '../../../source/convert.js';

/* Integers of captured code: what is computed by bits is exact, as in JavaScript. */

const integers = [0, 1, -1, 2, 7, -13, 255, 65537, 16777619, 2 ** 24 + 1, -(2 ** 27) - 3, 2 ** 31 - 1, -(2 ** 31) + 1, 0x45d9f3b]; // prettier-ignore

const number = (value: number): kn.NDArray => asNumber(kn.array(value, { dtype: 'int32' }));

const read = (value: unknown): unknown => (isNumberArray(value) ? value.item() : value);

/** Expressions of two integers, as JavaScript has them and as converted code computes them. */
const expressions: Readonly<
  Record<string, readonly [plain: (a: number, b: number) => number, captured: (a: unknown, b: unknown) => unknown]>
> = {
  '(a * b) | 0, below 2 ** 53': [(a, b) => (a * (b >> 9)) | 0, (a, b) => op('|', op('*', a, op('>>', b, 9)), 0)],
  '(a * 31 + b) | 0': [(a, b) => (a * 31 + b) | 0, (a, b) => op('|', op('+', op('*', a, 31), b), 0)],
  'a >>> 0, as bits': [(a, b) => (a >>> 0) ^ b, (a, b) => op('^', op('>>>', a, 0), b)],
  'a >>> 5': [(a) => a >>> 5, (a) => op('>>>', a, 5)],
  'a >>> b, as bits': [(a, b) => (a >>> b) | 0, (a, b) => op('|', op('>>>', a, b), 0)],
  '(a >>> 0) + b, as bits': [(a, b) => ((a >>> 0) + b) | 0, (a, b) => op('|', op('+', op('>>>', a, 0), b), 0)],
  '(a >>> 0) % 1000003': [(a) => (a >>> 0) % 1000003, (a) => op('%', op('>>>', a, 0), 1000003)],
  'a ^ a number beyond 31 bits': [(a) => a ^ 0x811c9dc5, (a) => op('^', a, 0x811c9dc5)],
  'Math.imul': [(a, b) => Math.imul(a, b), (a, b) => math('imul', '1:1', a, b)],
  'Math.imul by a number beyond 31 bits': [(a) => Math.imul(a, 0x9e3779b9), (a) => math('imul', '1:1', a, 0x9e3779b9)],
  'Math.clz32': [(a) => Math.clz32(a), (a) => math('clz32', '1:1', a)],
  '(a / b) | 0': [(a, b) => (a / b) | 0, (a, b) => op('|', op('/', a, b), 0)],
  '~~(a / 10)': [(a) => ~~(a / 10), (a) => unary('~', unary('~', op('/', a, 10)))],
  'Math.floor(a / 10)': [(a) => Math.floor(a / 10), (a) => math('floor', '1:1', op('/', a, 10))],
  'Math.trunc(a / -7)': [(a) => Math.trunc(a / -7) + 0, (a) => math('trunc', '1:1', op('/', a, -7))],
  'a << b': [(a, b) => a << b, (a, b) => op('<<', a, b)],
}; // prettier-ignore

for (const [name, [plain, captured]] of Object.entries(expressions)) {
  test(`${name} is exact`, () => {
    for (const a of integers) {
      for (const b of integers) {
        assert.equal(read(captured(number(a), number(b))), plain(a, b), `${a}, ${b}`);
      }
    }
  });
}

test('a quotient by zero is 0 as bits, and infinite as a number', () => {
  assert.equal(read(op('|', op('/', number(7), number(0)), 0)), 0);
  assert.equal(read(math('floor', '1:1', op('/', number(7), number(0)))), Infinity);
});

/** Programs of a list of integers, `count` of which a captured array takes. */
const programs: Readonly<Record<string, string>> = {
  'a hash': 'let h = 17; for (let i = 0; i < 40; i++) { if (!go(i)) break; h = (h * 31 + i) | 0; } return h;',
  'a hash by imul': 'let h = 0x811c9dc5 | 0; for (let i = 0; i < 40; i++) { if (!go(i)) break; h ^= i; h = Math.imul(h, 16777619); } return h;',
  'a generator of random numbers': 'let s = 12345; for (let i = 0; i < 40; i++) { if (!go(i)) break; s ^= s << 13; s ^= s >>> 17; s ^= s << 5; } return s;',
  'a copy of an integer': 'let h = 1, before = 0; for (let i = 0; i < 40; i++) { if (!go(i)) break; before = h; h = (h * 1103515 + 12345) | 0; } return h ^ before;',
  'a search': 'let lo = 0, hi = 1 << 30; for (let i = 0; i < 40; i++) { if (!go(i)) break; const mid = (lo + hi) >> 1; if (mid > 123456789) hi = mid; else lo = mid + 1; } return lo;',
  'digits': 'let n = 1234567890, s = 0; for (let i = 0; i < 12; i++) { if (!go(i)) break; s = (s * 7 + n % 10) | 0; n = (n / 10) | 0; } return s;',
}; // prettier-ignore

for (const [name, text] of Object.entries(programs)) {
  test(`${name} in a captured loop is JavaScript's`, () => {
    const code = `function main(go) { 'use graph'; ${text} }`;
    const plain = original(code) as unknown as (go: (i: number) => boolean) => number;
    const f = converted(code) as unknown as (go: (i: unknown) => unknown) => kn.NDArray;
    const captured = kn.hybridize((most: kn.NDArray) =>
      kn.add(
        f((i) => most.greater(i as number)),
        most.mul(0),
      ),
    );
    for (const most of [0, 1, 7, 40]) {
      const given = captured(kn.array(most, { dtype: 'int32' }));
      assert.equal(
        given.item(),
        plain((i) => i < most),
        `${most}`,
      );
    }
  });
}

test('an integer that neither int32 nor float32 holds is refused where a path keeps it', () => {
  const refused = {
    'let h = 0x811c9dc5; while (a.greater(h | 0)) h = Math.imul(h, 3); return a.add(h);': /\bh is an integer beyond 32 bits/,
    'let h = 1, k = 0.5; while (a.greater(k)) { h = Math.imul(h, 3); k = h >>> 0; } return a.add(k);': /\bk is an integer beyond 32 bits/,
  }; // prettier-ignore
  for (const [text, problem] of Object.entries(refused)) {
    const f = converted(`function main(a) { 'use graph'; ${text} }`) as unknown as (a: kn.NDArray) => kn.NDArray; // prettier-ignore
    assert.throws(() => kn.hybridize(f)(kn.array(5)), { name: 'TraceError', message: problem });
  }
});

test('numbers are float32, but for counters and what bits are computed of', () => {
  const dtypes = {
    'let i = 0; while (a.greater(i)) i++; return i;': 'int32',
    'let i = 0; while (a.greater(i)) i = a.greater(2) ? 7 : 9; return i;': 'int32',
    'let i = 0; while (a.greater(i)) i = i + 1; return i;': 'float32',
    'let i = 0, j = 0; while (a.greater(i)) { j = i; i++; } return j;': 'float32',
    'let i = 1; while (a.greater(i)) i *= 2; return i;': 'float32',
    'let i = 1; while (a.greater(i)) i <<= 1; return i;': 'int32',
    'let i = 1, j = 0; while (a.greater(i)) { j = i + 1; i = (i * 3) | 0; } return j;': 'int32',
  };
  for (const [text, dtype] of Object.entries(dtypes)) {
    const f = converted(`function main(a) { 'use graph'; ${text} }`) as unknown as (a: kn.NDArray) => kn.NDArray; // prettier-ignore
    assert.equal(kn.hybridize(f)(kn.array(5)).dtype, dtype, text);
  }
});
