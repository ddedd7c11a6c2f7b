import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { converted, original } from '../convert.js';

/* Defaults of parameters are code as any other: in captured code they give what eager code gives. */

Object.assign(globalThis, { kn });

type Fn = (a: kn.NDArray) => kn.NDArray;

/** Functions of an array `a` of rank 0. */
const programs: Readonly<Record<string, string>> = {
  'a choice': `function main(a, y = a.greater(5) ? a.mul(2) : a.add(1)) { 'use graph'; if (y.greater(3)) return y.mul(2); return y; }`,
  'earlier parameters': `function main(a, y = a.greater(5) ? a.mul(2) : a.add(1), z = y.greater(8) || a.less(1) ? y : a) { 'use graph'; return y.mul(z); }`,
  'an assignment to an earlier one': `function main(a, y = a.greater(5) ? (a = a.add(7)) : a.add(1)) { 'use graph'; if (y.greater(3)) a = a.mul(2); return y.add(a); }`,
  patterns: `function main(a, { x = a.greater(5) ? a : a.neg(), y: [z = x.greater(0) ? x.mul(2) : x] = [] } = {}) { 'use graph'; return x.add(z); }`,
  'computed keys': `function main(a, { [a.ndim > 0 ? 'p' : 'q']: x = a.greater(5) ? a : a.neg(), ...rest } = {}) { 'use graph'; return x.add(Object.keys(rest).length); }`,
  'a loop': `const main = (a, y = (() => { let s = a; while (s.greater(1)) s = s.div(2); return s.mul(3); })()) => { 'use graph'; return a.add(y); };`,
  'an inner arrow': `function main(a) { 'use graph'; const f = (x, y = x.greater(5) && x.less(20)) => (y ? x : x.neg()); return f(a); }`,
  'arguments and this': `function main(a) { 'use graph'; const o = { k: 2, f(x, y = arguments[0].greater(5) ? x.mul(this.k) : x) { if (x.greater(3)) x = x.add(1); return x.add(y).add(arguments.length); } }; return o.f(a); }`,
  constructors: `function main(a) { 'use graph'; class B { constructor(x) { this.x = x; } } class A extends B { constructor(x, y = x.greater(5) ? x.mul(2) : x) { super(y); this.y = y; } } const o = new A(a); return o.x.add(o.y); }`,
  'a closure that writes a parameter': `function main(a, inc = () => { a = a.add(1); }) { 'use graph'; inc(); if (a.greater(5)) inc(); inc(); return a; }`,
  'a closure that reads a parameter': `function main(a, get = () => a) { 'use graph'; a = a.mul(3); if (get().greater(5)) a = a.add(1); return get().add(a); }`,
  'a closure that decides and writes': `function main(a, inc = () => { if (a.greater(5)) a = a.mul(2); else a = a.sub(1); }) { 'use graph'; inc(); if (a.greater(5)) inc(); inc(); return a; }`,
  'a closure that is called on a path of a function around': `function main(a) { 'use graph'; const g = (f) => { if (a.greater(5)) f(); return a; }; const h = (x, inc = () => { x = x.add(1); }) => { g(inc); return x; }; return h(a); }`,
  'a closure that is called by a default': `function main(a, y = a.greater(5) ? a.mul(2) : ((s) => { a = a.add(s); return a; })(2)) { 'use graph'; if (a.greater(4)) a = a.add(y); return y.add(a); }`,
  'closures in an inner function': `function main(a) { 'use graph'; const f = (x, inc = () => { x = x.add(1); return x; }) => { if (x.greater(5)) inc(); inc(); return x; }; return f(a).add(f(a.mul(2))); }`,
  'a parameter that the body declares again': `function main(a, get = () => a) { 'use graph'; var a = a.add(1); if (a.greater(5)) a = a.mul(2); return get().mul(100).add(a); }`,
  'a parameter of an inner function that its body declares again': `function main(a) { 'use graph'; function g(x, get = () => x) { var x = x.add(1); if (x.greater(5)) x = x.mul(2); return get().mul(100).add(x); } return g(a); }`,
  'variables of the body': `function main(a) { 'use graph'; const bump = (x) => x.add(2); const g = function (x, y = x.greater(5) ? bump(x) : x) { var n = 0; const inc = () => { n++; }; inc(); if (y.greater(3)) inc(); return y.add(n); }; return g(a); }`,
  'a list that collects rows': `function main(a, l = [a], s = { l: [] }) { 'use graph'; while (a.greater(1)) { a = a.div(2); l.push(a); s.l.push(a.mul(2)); } return kn.stack(l).sum().add(s.l.length); }`,
};

for (const [name, code] of Object.entries(programs)) {
  test(`${name}: as in eager code`, () => {
    const f = converted(code) as unknown as Fn;
    const captured = kn.hybridize(f);
    for (const value of [9, 3, 0.5, 40]) {
      assert.equal(captured(kn.array(value)).item(), f(kn.array(value)).item(), String(value));
    }
    assert.equal(captured.explain().traces.length, 1);
  });
}

test('what defaults decide is a branch like others', () => {
  const { constructs } = kn.explainSource(converted(programs['a choice']));
  assert.deepEqual(constructs.map(({ kind }) => kind), ['?:', 'if']); // prettier-ignore
});

test('names, lengths and dead zones of parameters stay', () => {
  const code = `function main(p) {
    'use graph';
    const f = (a, b = (a ? () => 0 : null) || 1, c = () => { a = 2; }, d = class { static x = a && 1; }) => [c.name, d.name];
    const early = (a = b ? 1 : 2, b = 3) => a;
    const late = (a = (() => { a = p; return a; })) => a;
    const result = [f.length, ...f(1), early.length];
    try { early(); } catch (error) { result.push(error.name); }
    return [...result, late().name];
  }`;
  const expected = original(code)();
  assert.deepEqual(converted(code)(), expected);
  assert.deepEqual(
    kn.deferredCompute(() => converted(code)()),
    expected,
  );
});
