import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { converted } from '../../../source/convert.js';
import { assertAsEager, fn, outcome, table } from '../programs.js';

/* Members of objects that no variable of a branch or loop holds: results and gradients are those of eager code. */

/** Programs that give an array of `a`, a number, and `rows`, of two columns. */
const programs: Readonly<Record<string, string>> = {
  'a parameter of a function inside':
    'const s = { n: 0, h: a }; const f = (t, x) => { t.n++; t.h = t.h.add(x); }; for (const r of rows) if (r.sum().greater(3)) f(s, r.sum()); return s.h.mul(s.n + 1);',
  'a parameter in one branch only':
    'const s = { n: 0 }; const f = (t) => { t.n = 1; }; if (a.greater(5)) f(s); return a.mul(s.n + 1);',
  'a closure': 'const s = { h: a }; const f = () => { s.h = s.h.mul(2); }; if (a.greater(5)) f(); f(); return s.h;',
  'another name for the object':
    'const s = { h: a, t: { n: 1 } }; while (s.h.greater(1)) { const t = s.t, u = s; u.h = u.h.div(2); t.n += 2; } return s.h.mul(s.t.n);',
  'a row of a table':
    'const t = [[a, a.mul(2)], [a.mul(3), a]]; for (const r of rows) { for (const row of t) { row[0] = row[0].add(r.sum()).mul(0.5); row[1] = row[0].mul(row[1]).mul(0.1); } } return kn.stack([...t[0], ...t[1]]);',
  'an instance of a class':
    'class Mean { sum = kn.zeros([]); count = 0; add(x) { this.sum = this.sum.add(x); this.count++; } get value() { return this.sum.div(this.count + 1); } } const m = new Mean(); for (const r of rows) { if (r.sum().less(8)) m.add(r.sum().mul(a)); } return m.value;',
  'an instance that holds another one':
    'class Inner { n = 1; } class Outer { inner = new Inner(); grow() { this.inner.n *= 2; } } const o = new Outer(); while (a.greater(1)) { a = a.div(3); o.grow(); } return a.mul(o.inner.n);',
  'a setter': 'class C { k = 1; set double(x) { this.k = x * 2; } get double() { return this.k; } } const c = new C(); if (a.greater(5)) c.double = 3; return a.mul(c.k).add(c.double);',
  'objects that the path makes':
    'class P { constructor(x) { this.x = x; this.y = x.mul(2); } } const pair = (x) => { const o = {}; o.p = new P(x); o.q = [x]; o.q[0] = o.p.y; return o; }; for (const r of rows) { if (r.sum().less(4)) { const { p, q } = pair(r.sum()); a = a.add(p.x.mul(q[0]).mul(0.01)); } } return a;',
  'objects that code makes that is not converted':
    'const make = () => JSON.parse(\'{"n": 1}\'); const s = make(); for (const r of rows) { const t = make(); t.n = 3; if (r.sum().greater(3)) { const u = make(); u.n += t.n; s.n += u.n; } } return a.mul(s.n);',
  'one statement that changes an object from outside and one from inside':
    'const s = { n: 1 }; if (a.greater(5)) { for (const t of [{ n: 5 }, s, { n: 7 }]) { t.n += 1; a = a.add(t.n); } } return a.mul(s.n);',
  'two objects by one statement':
    'const [s, t] = [{ n: 1 }, { n: 2 }]; while (a.greater(1)) { a = a.div(2); for (const each of [s, t]) each.n *= 2; } return a.mul(s.n).add(t.n);',
  'branches in loops in branches':
    'const s = { n: 0, h: a }; const f = (t, x) => { if (x.greater(0)) { t.h = t.h.add(x); t.n++; } else t.h = t.h.mul(0.5); }; if (a.greater(1)) { for (const r of rows) { f(s, r.sum()); if (s.h.greater(30)) break; } } else f(s, a); return s.h.mul(s.n + 1);',
  'a path that throws': "const s = { n: 0 }; const f = (t) => { t.n++; }; if (a.less(-50)) { f(s); throw new Error('low'); } f(s); if (a.greater(5)) f(s); return a.mul(s.n);",
  'a path that returns': 'const s = { n: 0 }; const f = (t) => { t.n++; }; for (const r of rows) { f(s); if (r.sum().greater(8)) return a.mul(s.n); } return a.sub(s.n);',
  'destructuring': 'const s = { p: a, q: a.mul(2) }; const swap = (t) => { [t.p, t.q] = [t.q, t.p]; }; while (s.p.greater(1)) { swap(s); s.p = s.p.div(3); } return s.p.add(s.q.mul(2));',
  'a key that is computed': 'const s = { p: a, q: a.mul(2) }; const f = (t, k) => { t[k] = t[k].add(1); t[k] = t[k].mul(2); }; for (const k of ["p", "q"]) if (a.greater(k === "p" ? 5 : 1)) f(s, k); return s.p.add(s.q);',
  'private members': 'class Mean { #sum = kn.zeros([]); #n = 0; add(x) { this.#sum = this.#sum.add(x); this.#n++; ++this.#n; this.#n *= 1.5; } get value() { return this.#sum.div(this.#n + 1); } } const m = new Mean(); for (const r of rows) { if (r.sum().less(8)) m.add(r.sum().mul(a)); } return m.value.add(m.value);',
  'private members of one name, of two classes': 'class B { #n = 1; grow() { this.#n += 2; return this.#n; } } class C extends B { #n = 5; grow() { this.#n *= 2; return this.#n + super.grow(); } } const c = new C(); if (a.greater(1)) { a = a.add(c.grow()); } return a.mul(c.grow());',
  'objects with private members that the path makes': 'class P { #x; constructor(x) { this.#x = x; this.#x = this.#x.mul(2); } get x() { return this.#x; } } for (const r of rows) { if (r.sum().less(4)) a = a.add(new P(r.sum()).x.mul(0.1)); } return a;',
  'members of super': "class B { set k(v) { this.h = v; } get k() { return this.h; } } class C extends B { n = 1; grow(x) { super.n = 2; super.k = x; super['m'] = x.mul(this.n); super.n += 3; super.n++; } } const c = new C(); c.h = c.m = a; for (const r of rows) { if (r.sum().greater(3)) c.grow(r.sum()); } return c.h.add(c.m).mul(c.n);",
  'a member that is assigned where it is false': 'const s = { t: { n: 0, m: 1 } }; const f = (o) => { o.t.n ||= 3; o.t.m &&= 2; }; if (a.greater(5)) f(s); return a.mul(s.t.n + s.t.m);',
  'Object.assign': 'const s = { n: 0, h: a }; const own = Object.assign({}, { n: 4 }); for (const r of rows) { if (r.sum().greater(3)) Object.assign(s, { n: 2, h: s.h.add(r.sum()) }, null, own); } return s.h.mul(s.n + 1);',
  'a number as a test': 'let n = 0, k = 0.5; for (const r of rows) { if (r.sum().greater(3)) n++; if (!n) k -= 0.5; if (n) a = a.mul(2); } while (n) { n--; a = a.add(1); } return k ? a : a.neg();',
  'variables that only closures know': 'const make = () => { let n = 0; const o = { h: a }; return { step() { n++; o.h = o.h.mul(0.5); return o.h; }, get n() { return n; } }; }; const m = make(), k = make(); while (m.step().greater(1)) { if (m.n > 2) k.step(); } return a.mul(m.n).add(k.n).add(k.step());',
  'variables of two calls, and patterns': 'const pair = (x, y = 1) => ({ swap() { [x, y] = [y, x]; }, get x() { return x; }, get y() { return y; } }); const p = pair(2), q = pair(5, 7); for (const r of rows) { if (r.sum().greater(3)) p.swap(); else if (r.sum().less(0)) q.swap(); } return a.mul(p.x).add(p.y).add(q.x);',
  'variables of iterations': 'const fs = []; for (const v of [a, a.mul(2)]) { let k = 0; fs.push(() => { k++; return v.mul(k); }); } for (const r of rows) { if (r.sum().greater(3)) a = a.add(fs[0]()); else a = a.sub(fs[1]()); } return a.add(fs[0]());',
  'a parameter of an async arrow that is an expression': 'const maybe = (g) => { if (a.greater(5)) g(); }; let last = a; const run = async (x) => (maybe(() => { x = x.mul(2); }), (last = x), await 0, x); run(a.add(1)); const other = async x => await (maybe(() => { x = x.add(3); }), (last = last.add(x)), x); other(a); return last;',
  'a parameter of an arrow that is an expression': 'const maybe = (g) => { if (a.greater(5)) g(); }; const run = (x) => (maybe(() => { x = x.mul(2); }), { x }).x; const plain = x => [maybe(() => { x = x.add(3); }), x][1]; return run(a).add(plain(a));',
  'a closure over a variable of the function': 'let n = 0; const bump = (x) => { n += 1; return x.mul(n); }; for (const r of rows) { if (r.sum().greater(3)) a = bump(a).mul(0.1); } return bump(a);',
  'instances and maps in an object that is state': 'class M { k = 2; } const s = { net: new M(), h: a, m: new Map([[1, a]]), t: { f: "x" } }; while (s.h.greater(1)) s.h = s.h.div(s.net.k).mul(s.t.f.length); return s.h.add(s.m.get(1));',
  'accessors of an object that is state': 'const o = { base: a, get twice() { return this.base.greater(2) ? this.base.mul(2) : this.base; }, set twice(v) { this.base = v.mul(0.5); } }; while (o.twice.less(100)) o.twice = o.twice.mul(3).add(1); return o.base;',
  'an object with accessors in an object that is state': 'const o = { h: a, in: { b: a, get c() { return this.b.mul(2); } } }; while (o.h.less(100)) { o.h = o.h.mul(3).add(1); o.in.b = o.in.c.add(1); } return o.h.add(o.in.c);',
  'a member that is a number on one path and an array on the other': 'const o = { v: 0, w: a }; if (a.greater(5)) o.v = a; else o.w = 3; for (const r of rows) { if (r.sum().less(4)) o.v = r.sum(); } return a.add(o.v).mul(o.w);',
  'a list in an object, by a helper': 'const s = { l: [a], h: a }; const keep = (t, x) => { t.l.push(x); t.h = x; }; for (const r of rows) { if (r.sum().less(4)) keep(s, s.h.add(r.sum())); } return kn.stack(s.l).mul(s.h);',
  'a member that is new on both paths':
    "const s = { h: a }; const f = (t, k) => { t.h = t.h.mul('n' in t ? 3 : 2); t.n = k; }; if (a.greater(5)) f(s, 4); else f(s, 5); return s.h.mul(s.n);",
  'an object with a symbol among its keys, the same one on both paths':
    "const k = Symbol('k'); const o = { [k]: 2, n: 3 }; let s; if (a.greater(5)) s = o; else { s = o; a = a.add(1); } return a.mul(s[k]).add(s.n);",
}; // prettier-ignore

for (const [name, text] of Object.entries(programs)) {
  test(`${name}: results and gradients are those of eager code`, () => {
    assertAsEager(text);
  });
}

test('a choice between integer literals is an index', () => {
  const f = fn('const k = a.greater(4) ? 0 : a.greater(1) ? 2 : -1; let j; if (a.greater(4)) j = a.less(5) ? 1 : 3; else j = 4; return rows.take(k).add(rows.take(j)).mul(k + 1).sum();'); // prettier-ignore
  const captured = kn.hybridize(f);
  for (const value of [9, 3, 0.5]) assert.deepEqual(outcome(captured, value, table), outcome(f, value, table)); // prettier-ignore
});

test('what an object from outside of the captured function holds is as eager code leaves it', () => {
  const make = (): ((a: kn.NDArray) => kn.NDArray) =>
    converted(`const seen = { last: kn.array(0) };
      function main(a) { 'use graph'; const f = (t) => { t.last = a; }; if (a.greater(5)) f(seen); return seen.last.add(a); }`) as never; // prettier-ignore
  const eager = make();
  const captured = kn.hybridize(make());
  const run = (f: typeof eager): unknown[] =>
    [9, 3, 7].map((value) => {
      try {
        return f(kn.array(value)).item();
      } catch (error) {
        return error;
      }
    });
  assert.deepEqual(run(eager), [18, 12, 14]);
  for (const [i, given] of run(captured).entries()) {
    // It may be refused, but never wrong.
    if (!(given instanceof kn.KaonError)) assert.equal(given, [18, 12, 14][i]);
  }
});
