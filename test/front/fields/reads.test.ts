import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as runtime from '../../../src/front/converted/index.js';
import { transform } from '../../../src/source/index.js';
import * as kn from '../../../src/index.js';

/* Converted functions know what they read from outside: other values are other traces, and nothing goes stale. */

/** The exports of a module of converted code. */
function moduleOf(code: string): Record<string, (...args: never[]) => unknown> {
  const converted = transform(code, { filename: 'module.js' })!.code;
  const body = converted.replace(/\nimport \* as \$kn from "kaon\/converted";\n$/, '\n');
  // The tests are about code that is put together while they run.
  // oxlint-disable-next-line typescript/no-implied-eval, no-new-func
  const make = new Function('$kn', 'kn', `'use strict';${body}`) as (
    ...given: unknown[]
  ) => Record<string, (...args: never[]) => unknown>;
  return make(runtime, kn);
}

type Unary = (x: kn.NDArray) => kn.NDArray;

const module = `
let rate = 1;
let flag = false;
let mode = 'add';
let activation = (x) => x;
let weight = kn.array(1);
let later;
const settings = { scale: 1, deep: { offset: 0 }, unread: 0, calls: [] };
let count = 0;
function set(values) {
  if ('rate' in values) rate = values.rate;
  if ('flag' in values) flag = values.flag;
  if ('mode' in values) mode = values.mode;
  if ('activation' in values) activation = values.activation;
  if ('weight' in values) weight = values.weight;
  if ('later' in values) later = values.later;
  Object.assign(settings, values.settings);
}
function main(x) {
  'use graph';
  let y = x.mul(rate).mul(settings.scale).add(settings.deep.offset);
  if (flag) y = y.neg();
  if (mode === 'add') y = y.add(1);
  while (y.less(later ?? 5)) y = y.mul(2).add(weight);
  return activation(y);
}
const inner = (x) => { 'use graph'; const f = (v) => { if (v.less(0)) return v.mul(rate); return v; }; return f(x); };
function make(power) { return (x) => { 'use graph'; if (x.less(0)) return x; return x.pow(power); }; }
function counting(x) { 'use graph'; count++; settings.unread = count; if (x.less(0)) return x.neg(); return x; }
const arrow = (x) => { 'use graph'; return x.less(0) ? x.mul(rate) : x };
return { main, set, inner, make, counting, arrow };`;

const changes: Readonly<Record<string, object>> = {
  'a number': { rate: 3 },
  'a flag': { flag: true },
  'a text': { mode: 'other' },
  'a function': { activation: (x: kn.NDArray) => x.square() },
  'an array': { weight: kn.array(2) },
  'a field of a settings object': { settings: { scale: 0.5 } },
  'an object in a settings object': { settings: { deep: { offset: 2 } } },
  'a variable that had no value': { later: 9 },
};

for (const [name, change] of Object.entries(changes)) {
  test(`${name} that changes is seen at once`, () => {
    const { main, set } = moduleOf(module) as unknown as { main: Unary; set(values: object): void };
    // Verification would find it too, later.
    const f = kn.hybridize(main, { verify: 'off' });
    const x = kn.array(1.5);
    for (let i = 0; i < 3; i++) assert.equal(f(x).item(), main(x).item());
    const before = main(x).item();
    set(change);
    assert.notEqual(main(x).item(), before);
    for (let i = 0; i < 3; i++) assert.equal(f(x).item(), main(x).item());
    const { traces, misses } = f.explain();
    assert.equal(traces.length, 2);
    assert.match(JSON.stringify(misses.at(-1)!.guard), /outside of main/);
  });
}

test('a value that returns is served by its trace', () => {
  const { main, set } = moduleOf(module) as unknown as { main: Unary; set(values: object): void };
  const f = kn.hybridize(main, { verify: 'off' });
  const x = kn.array(1.5);
  for (const rate of [1, 2, 1, 2, 1, 2]) {
    set({ rate });
    assert.equal(f(x).item(), main(x).item());
  }
  assert.equal(f.explain().traces.length, 2);
});

test('what is not read is not guarded', () => {
  const { main, set } = moduleOf(module) as unknown as { main: Unary; set(values: object): void };
  const f = kn.hybridize(main, { verify: 'off' });
  const x = kn.array(1.5);
  f(x);
  set({ settings: { unread: 5, calls: [1] } });
  f(x);
  assert.equal(f.explain().hits, 1);
});

test('inner functions, closures and arrows know what they read', () => {
  const { inner, make, arrow, set } = moduleOf(module) as unknown as {
    inner: Unary;
    make(power: number): Unary;
    arrow: Unary;
    set(values: object): void;
  };
  const x = kn.array(-2);
  for (const fn of [inner, arrow]) {
    set({ rate: 1 });
    const f = kn.hybridize(fn, { verify: 'off' });
    assert.equal(f(x).item(), -2);
    set({ rate: 4 });
    assert.equal(f(x).item(), -8);
  }
  const [square, cube] = [make(2), make(3)];
  const both = kn.hybridize((v: kn.NDArray) => square(v).add(cube(v)), { verify: 'off' });
  for (let i = 0; i < 3; i++) assert.equal(both(kn.array(2)).item(), 12);
  assert.equal(both.explain().hits, 2);
});

test('what the function assigns itself does not keep its trace from serving', () => {
  const { counting } = moduleOf(module) as unknown as { counting: Unary };
  const f = kn.hybridize(counting, { verify: 'off' });
  for (let i = 0; i < 4; i++) assert.equal(f(kn.array(-1)).item(), 1);
  assert.equal(f.explain().hits, 3);
});

test('members that accessors give are not guarded, and not read by guards', () => {
  const made = moduleOf(`
    let reads = 0;
    const settings = { get scale() { return { value: ++reads }; } };
    function main(x) { 'use graph'; if (x.less(0)) return x; return x.mul(settings.scale.value > 0 ? 2 : 3); }
    return { main, reads: () => reads };`) as unknown as { main: Unary; reads(): number };
  const f = kn.hybridize(made.main, { verify: 'off' });
  for (let i = 0; i < 3; i++) assert.equal(f(kn.array(1)).item(), 2);
  assert.equal(made.reads(), 1);
});
