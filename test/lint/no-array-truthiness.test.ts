import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { binaryOperators, equalities, messages, type Message } from '../../src/lint/messages.js';
import { lint } from './support.js';

const head = `
import * as kn from 'kaon';
import { add, type NDArray, random as dice } from 'kaon';
declare const other: number;
declare function unknown(...args: unknown[]): any;
`;

const inFunction = (code: string): string =>
  `${head}function f(x: NDArray, y: kn.NDArray, maybe: NDArray | undefined, perhaps?: NDArray) { ${code} }`;

/** All sources of this file are linted by one process, when the first test asks. */
const sources: string[] = [];
let found: ReadonlyMap<string, readonly string[]> | undefined;

function reports(source: string): readonly string[] {
  if (found === undefined) {
    const results = lint(sources);
    found = new Map(sources.map((each, i) => [each, results[i]]));
  }
  return found.get(source)!;
}

function valid(name: string, ...codes: readonly string[]): void {
  const wrapped = codes.map((code) => (code.startsWith('import') ? code : inFunction(code)));
  sources.push(...wrapped);
  test(`${name} are not reported`, () => {
    for (const source of wrapped) assert.deepEqual(reports(source), [], source);
  });
}

type Data = Readonly<Record<string, string>>;

/** Cases: a line of code, then what each report on it fills into the message; one report unless said. */
function invalid(
  name: string,
  message: Message,
  cases: readonly (readonly [code: string, ...data: Data[]])[],
): void {
  sources.push(...cases.map(([code]) => inFunction(code)));
  test(`${name} are reported`, () => {
    for (const [code, ...data] of cases) {
      const expected = (data.length === 0 ? [{}] : data).map((each: Data) =>
        messages[message].replaceAll(/\{\{(\w+)\}\}/g, (_, key: string) => each[key]),
      );
      assert.deepEqual(reports(inFunction(code)), expected, code);
    }
  });
}

valid(
  "conditions on arrays in functions with the directive 'use graph'",
  `const g = () => { 'use graph'; if (x) unknown(); while (x.less(1) && other) unknown(); return x ? 1 : 2; };`,
  `function g() { 'use strict'; 'use graph'; for (; x; ) unknown(); do unknown(); while (!x); return x && y || x; }`,
  `class C { m() { 'use graph'; const h = () => (x ? 1 : 2); return h; } }`,
  // Nothing an array decides about.
  `function g() { 'use graph'; try { unknown(); } catch { unknown(); } delete unknown().a; if (other) { try { unknown(); } finally { unknown(); } } if (x) unknown(); return x; }`,
  `function g() { 'use graph'; if (x) { const later = () => { try { unknown(); } catch { unknown(); } }; unknown(later); } }`,
  `async function g() { 'use graph'; if (await unknown()) unknown(); }`,
  `async function g() { 'use graph'; if (x) unknown(); await unknown(); }`,
  `function* g() { 'use graph'; while (x) unknown(); yield 1; }`,
  `function g() { 'use graph'; return async () => (x ? 1 : 2); }`,
);

invalid('conditions on arrays where the directive is none', 'branch', [
  [`function g() { unknown(); 'use graph'; if (x) unknown(); }`],
  [`function g() { 'use graph'; } if (x) g();`],
  [`function g() { const text = 'use graph'; if (x) unknown(text); }`],
]);

invalid('conversions to booleans, converted or not', 'convert', [
  [`function g() { 'use graph'; return Boolean(x); }`],
]);

invalid('operators on arrays, converted or not', 'binary', [
  [`function g() { 'use graph'; return x + 1; }`, { operator: '+', method: 'add' }],
]);

invalid('suspensions that an array decides about', 'refused', [
  [`async function g() { 'use graph'; if (x) await unknown(); }`, { construct: 'await' }],
  [`function* g() { 'use graph'; while (x) yield unknown(); }`, { construct: 'yield' }],
  [`function g() { 'use graph'; return async () => (x ? await 1 : 2); }`, { construct: 'await' }],
]);

invalid('constructs that an array decides about and no graph has', 'refused', [
  [
    `function g() { 'use graph'; if (x) { try { unknown(); } catch { unknown(); } } }`,
    { construct: 'try' },
  ],
  [
    `function g() { 'use graph'; while (other && x.less(1)) delete unknown().a; }`,
    { construct: 'delete' },
  ],
  [`function g() { 'use graph'; return !x ? delete unknown().a : 1; }`, { construct: 'delete' }],
]);

invalid('conditions on arrays', 'branch', [
  ['if (x) unknown();'],
  ['if (y) unknown();'],
  ['const z = x ? 1 : 2;'],
  ['if (other > 0 && x) unknown();'],
  ['if (other > 0 ? x : y) unknown();', {}, {}],
  ['if (unknown() ?? x) unknown();'],
]);

invalid('loops on arrays', 'loop', [
  ['while (x) unknown();'],
  ['do unknown(); while (x);'],
  ['for (; x.less(1); ) unknown();'],
]);

invalid('negations', 'not', [
  ['const z = !x;'],
  ['const z = !(other > 0 && x);'],
  ['const z = !!x;'],
]);

invalid('conjunctions', 'and', [
  ['const z = x && y;'],
  ['const z = x && y && other;', {}, {}],
  ['let z = kn.zeros([2]); z &&= y;'],
]);

invalid('disjunctions', 'or', [['const z = x || y;'], ['let z = kn.zeros([2]); z ||= y;']]);

invalid('conversions to boolean', 'convert', [['const z = Boolean(x);']]);

invalid('operators that throw', 'binary', [
  ['x + y;', { operator: '+', method: 'add' }],
  ['x - 1;', { operator: '-', method: 'sub' }],
  ['2 * x;', { operator: '*', method: 'mul' }],
  ['x / other;', { operator: '/', method: 'div' }],
  ['x % 2;', { operator: '%', method: 'mod' }],
  ['x ** 2;', { operator: '**', method: 'pow' }],
  ['x & y;', { operator: '&', method: 'bitwiseAnd' }],
  ['x | y;', { operator: '|', method: 'bitwiseOr' }],
  ['x ^ y;', { operator: '^', method: 'bitwiseXor' }],
  ['x << 1;', { operator: '<<', method: 'leftShift' }],
  ['x >> 1;', { operator: '>>', method: 'rightShift' }],
  ['x >>> 1;', { operator: '>>>', method: 'rightShift' }],
  ['x < y;', { operator: '<', method: 'less' }],
  ['x <= 1;', { operator: '<=', method: 'lessEqual' }],
  ['0 > x;', { operator: '>', method: 'greater' }],
  ['x >= y;', { operator: '>=', method: 'greaterEqual' }],
  ['let z = kn.ones([2]); z += y;', { operator: '+=', method: 'add' }],
]);

invalid('arrays beside text', 'concatenation', [
  ["'loss ' + x;", { operator: '+' }],
  ['x + `${other}`;', { operator: '+' }],
]);

invalid('counting arrays', 'update', [
  ['let z = x.sum(); z++;', { operator: '++', method: 'add' }],
  ['x++;', { operator: '++', method: 'add' }],
  ['--x;', { operator: '--', method: 'sub' }],
]);

invalid('unary operators that throw', 'unary', [
  ['-x;', { operator: '-', instead: 'x.neg()' }],
  ['~x;', { operator: '~', instead: 'x.bitwiseNot()' }],
  ['+x;', { operator: '+', instead: 'x.item() for its one element as a number' }],
]);

invalid('comparisons of identity', 'equality', [
  ['x == y;', { operator: '==', method: 'equal' }],
  ['x === y;', { operator: '===', method: 'equal' }],
  ['x !== 0;', { operator: '!==', method: 'notEqual' }],
  ['-1 != x;', { operator: '!=', method: 'notEqual' }],
]);

invalid('texts of arrays as numbers', 'text', [
  ['`${x}` * 2;', { operator: '*' }],
  ['-`${x}`;', { operator: '-' }],
]);

invalid('negations of what is known to be an array', 'not', [
  ['!kn.add(other, 1);'],
  ['!add(other, 1);'],
  ['!kn.array([1]);'],
  ['!kn.random.normal([2]);'],
  ['!dice.uniform([2]);'],
  ['!x.add(1).mul(2).sum();'],
  ['!x.astype("int32").detach();'],
  ['const z = x.matmul(y); !z;'],
  ['let z = x.exp(); z = z.add(1); !z;'],
  ['let z: NDArray; z = unknown(); !z;'],
  ['!(unknown() as NDArray);'],
  ['!(x.add(1)!);'],
  ['!(other > 0 ? x : y);', {}, {}],
  ['!(unknown(), x);'],
  ['const g = (w: NDArray = unknown()) => !w;'],
  ['class Layer { forward(w: NDArray) { return !w; } }'],
]);

valid(
  'tests of presence',
  'if (maybe) unknown();',
  'if (perhaps) unknown();',
  'const z = maybe ?? x;',
  'const z = maybe && maybe.add(1);',
  'if (maybe?.add(1)) unknown();',
  'if (x === undefined || y == null || x !== void 0) unknown();',
  'let best; for (const each of unknown()) best = x.add(each); if (best) unknown();',
  'let best = x; best = unknown(); if (best) unknown();',
  'let best = x; best ??= unknown(); if (best) unknown();',
  'let best = x; [best] = unknown(); if (best) unknown();',
  'let best = x; for (best of unknown()) if (best) unknown();',
  'if (x.grad) unknown();',
);

valid(
  'values that may be something else',
  'if (unknown(x)) unknown();',
  'const net = unknown(); if (net.call(x)) unknown();',
  'const { z } = unknown(); if (z) unknown();',
  'const [z] = kn.split(x, 2); if (z) unknown();',
  'for (const z of unknown()) if (z) unknown();',
  'if (unknown().add(x)) unknown();',
  'if (x[unknown()](y)) unknown();',
  'if (x === unknown()) unknown();',
  'const identical = Object.is(x, y);',
  '{ const x = 1; if (x) unknown(); }',
  '{ const kn = unknown(); if (kn.add(1, 2)) unknown(); }',
);

valid(
  'values read from an array',
  'if (x.item()) unknown();',
  'if (x.shape[0] > 1 && x.ndim - 1 && !x.size) unknown();',
  'const z = x.dataSync()[0] + 1;',
  'if (x.dtype === y.dtype) unknown();',
  'const z = kn.where(x.less(y), x, y);',
  'const z = `the loss is ${x}` + "!";',
  'const z = typeof x; void x; x instanceof kn.NDArray;',
);

valid(
  'names that do not come from Kaon',
  "import { add } from 'lodash'; if (add(1, 2)) run();",
  "import * as kn from './kaon'; if (kn.add(1, 2)) run();",
  "import { NDArray } from 'numjs'; function f(x: NDArray) { if (x) run(); }",
  'import run from "kaon"; function add(a, b) { return a + b; } if (add(1, 2)) run();',
);

test('modules of the configuration are taken for Kaon', () => {
  const source = "import { add } from '../../ops/index.js'; if (add(1, 2)) run();";
  assert.deepEqual(lint([source], ['/ops/index.js']), [[messages.branch]]);
  assert.deepEqual(lint([source]), [[]]);
});

test('the messages name methods that arrays have', () => {
  const named = Object.values(messages).flatMap((text) =>
    [...text.matchAll(/x\.(\w+)\(/g)].map(([, method]) => method),
  );
  assert.ok(named.length >= 5);
  const x = kn.array([1]);
  for (const method of [...named, ...Object.values({ ...binaryOperators, ...equalities })]) {
    assert.equal(typeof Reflect.get(x, method), 'function', method);
  }
});
