import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { converted, convertedCode } from '../convert.js';

/* The host form: which tests are left alone. `!` before a test says that it must ask for a value. */

const tables: readonly (readonly [string, string])[] = [
  ['comparisons and literals', 'if (a < 1 || a === 2 || true) f();'],
  ['parameters', 'if (!a) f();'],
  ['calls and members', 'if (!f() && !a.b) f();'],
  ['variables that hold numbers only', 'let i = 3, j = i; while (i) { i--; j += a; if (j) f(); }'],
  ['variables of flags', 'let done = false; while (!!done) done = a > 1 && i < 2; var i = 0;'],
  ['variables that may hold anything', 'let x = 1; if (!x) f(); x = a;'],
  ['variables that follow others', 'let x = 1, y = x; if (!y) f(); x = y; y = f();'],
  ['variables of patterns', 'let { x } = a, [y] = [1]; if (!x || !y) f();'],
  ['variables that inner functions write', 'let x = 1; const g = () => { x = 2; }; if (!x) g();'],
  ['variables of loops over values', 'for (const x of a) if (!x) f();'],
  ['variables of loops over keys', 'for (const x in a) if (x) f();'],
];

for (const [what, marked] of tables) {
  test(`host form: ${what}`, () => {
    // `!!` is JavaScript's own `!`.
    const code = marked.replaceAll('!!', '\u0001').replaceAll(/!(\w+(?:\(\)|\.\w+)?)/g, '$1').replaceAll('\u0001', '!'); // prettier-ignore
    const expected = [...marked.replaceAll('!!', '').matchAll(/!(\w+(?:\(\)|\.\w+)?)/g)].map(([, test_]) => test_); // prettier-ignore
    const lines = convertedCode(`function main(a) { 'use graph';\n${code}\n}`).split('\n');
    // The second line is the host form; inner functions have their captured form on it.
    const host = lines[1].replaceAll(/if \(\$kn\.mode[^;]*;.*?\}\)\(\);/g, '');
    const asked = [...host.matchAll(/\$kn\.test\(([^,]+), /g)].map(([, test_]) => test_);
    assert.deepEqual(asked, expected, lines[1]);
  });
}

test('values that may be absent decide as tests by their elements', () => {
  Object.assign(globalThis, { kn });
  const f = converted(`function main(a) {
    'use graph';
    const limits = { low: a.less(0) };
    if (limits.low ?? limits.high) a = a.mul(-1);
    if (!(limits.high ?? a.less(2))) a = a.add(1);
    while ((limits.high ?? a.less(5)) && a.greater(-9)) a = a.add(3);
    return (limits.low ?? limits.high) ? a.mul(2) : a;
  }`) as unknown as (a: kn.NDArray) => kn.NDArray;
  const captured = kn.hybridize(f);
  for (const [given, expected] of [
    [-3, 14],
    [0.5, 6.5],
    [4, 5],
    [9, 10],
  ]) {
    for (const run of [f, captured]) assert.equal(run(kn.array(given)).item(), expected);
  }
});
