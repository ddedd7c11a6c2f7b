import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Fn, fn, table } from './programs.js';
import * as kn from '../../../src/index.js';

/* Programs as users write them: captured code gives what eager code gives. */

/** Programs that give an array of `a`, a number, and `rows`, of two columns. */
const programs: Readonly<Record<string, string>> = {
  'functions of Math': 'let n = 0; while (a.greater(1)) { a = a.div(2); n++; } return a.mul(Math.max(n, 3)).add(Math.min(Math.sqrt(n), 2)).add(Math.round(n / 2));',
  'bits of a count': 'let n = 0; while (a.greater(1)) { a = a.div(2); n++; } n <<= 1; return a.mul((n / 2) | 0).add(~n & 7);',
  'a number and an array as a test': 'let n = 0; for (const r of rows) { if (r.sum().greater(3)) n++; if (n && r.sum().less(8)) a = a.add(1); if (!n || r.sum().less(0)) a = a.mul(2); } return a;',
  'a host number and an array as a test': 'for (const k of [0, 1, 2]) { if (k && a.less(50)) a = a.mul(2).add(k); if (!(k || a.less(10))) a = a.sub(1); while (k && a.less(20)) a = a.add(7); } return a;',
  'tests that are mixed': 'let n = 0, f = false, none = null; for (const r of rows) { if ((n && !f) || (f ? r.sum().less(0) : n)) a = a.add(1); n += r.sum().less(4) ? 1 : 0; f = f || r.sum().greater(8); if (none ?? (n && r.sum().greater(2))) a = a.mul(1.5); if (!(n && f)) a = a.add(0.25); } return a.add(n);',
  'a choice as a statement': 'let n = 0; const l = []; for (const r of rows) { r.sum().less(4) ? l.push(r.sum()) : (n += 2); n > 2 ? n-- : a = a.add(1); } return kn.stack(l).sum().add(a).mul(n);',
  'clipping of a gradient': 'let x = a; for (let step = 0; step < 4; step++) { let g = x.mul(rows.sum()); const norm = g.abs(); if (norm.greater(5)) g = g.mul(kn.div(5, norm)); x = x.sub(g.mul(0.1)); } return x;',
  'stopping early': 'let best = a.mul(0).add(1e9), patience = 0; for (let epoch = 0; epoch < 10; epoch++) { a = a.mul(0.7).sub(1); const loss = a.square(); if (loss.less(best)) { best = loss; patience = 0; } else if (++patience >= 2) break; } return best.add(patience);',
  'a tokenizer': 'const tokens = []; let start = 0, depth = 0, i = 0; for (const r of rows) { const x = r.sum(); if (x.less(0)) { if (depth > 0) tokens.push(start * 10 + depth); depth = 0; } else { if (depth === 0) start = i; depth++; } i++; } if (depth > 0) tokens.push(depth); return kn.stack(tokens).sum().mul(a);',
  'attention over a list that grows': 'const keys = [rows.slice(0).mul(a)]; for (const r of rows) { const k = kn.stack(keys); const w = k.matmul(r).softmax(0); keys.push(w.expandDims(0).matmul(k).reshape([2]).add(r).mul(0.5)); } return kn.stack(keys).sum();',
  'functions inside': 'const clamp = (x, lo = 0, hi = a) => { if (x.less(lo)) return kn.zeros([]).add(lo); if (x.greater(hi)) return hi; return x; }; let s = a.mul(0); for (const r of rows) s = s.add(clamp(r.sum())).add(clamp(r.prod(), -2, kn.array(4))); return s;',
  'a recursion of known depth': 'const pow = (x, n) => n === 0 ? kn.ones([]) : n % 2 ? pow(x, n - 1).mul(x) : pow(x.mul(x), n / 2); if (a.greater(5)) a = pow(a, 3); return pow(a.mul(0.1), 5);',
  'methods of a class': 'class Cell { #h; constructor(h) { this.#h = h; this.steps = 0; } step(x) { if (x.greater(this.#h)) { this.#h = x; this.steps++; } return this; } get value() { return this.#h.mul(this.steps + 1); } } const c = new Cell(a); for (const r of rows) c.step(r.sum()).step(r.prod()); return c.value;',
  'static members and inheritance': 'class B { static k = 2; f(x) { return x.less(3) ? x.mul(B.k) : x; } } class C extends B { f(x) { const y = super.f(x); return y.greater(3) ? y.sub(1) : y; } } const c = new C(); let s = a; for (const r of rows) s = s.add(c.f(r.sum())); return s;',
  destructuring: 'let { p, q: [u, v] = [a, a.mul(2)] } = { p: a.add(1) }; for (const r of rows) { if (r.sum().greater(3)) [u, v] = [v, u.add(p)]; else ({ p } = { p: p.mul(0.5) }); } return u.add(v.mul(3)).add(p);',
  'rest and spread': 'const sum = (...xs) => xs.reduce((x, y) => x.greater(y) ? x : y.add(1)); let t = a; for (const r of rows) t = sum(...[t, r.sum()], r.prod()); return t;',
  'methods of lists with tests': 'const parts = [a, a.mul(2), a.sub(3)].map((x) => x.greater(4) ? x : x.neg()); const total = parts.reduce((s, x) => s.add(x)); return total.greater(0) ? total : parts[1];',
  'a switch on a captured number': 'let n = 0; for (const r of rows) { switch (n) { case 0: a = a.add(1); if (r.sum().greater(2)) n = 1; break; case 1: a = a.mul(2); n = r.sum().less(0) ? 2 : 1; break; default: a = a.sub(5); } } return a.add(n);',
  'a label': 'let s = a; outer: for (const r of rows) { for (const q of rows) { if (q.sum().greater(r.sum())) continue outer; if (s.greater(40)) break outer; s = s.add(q.sum()); } s = s.mul(0.5); } return s;',
  'a flag that ends a loop': 'let done = false, n = 0; while (!done) { a = a.mul(0.5).sub(1); n++; done = a.less(0); } return a.add(n);',
  'do while': 'let n = 0; do { a = a.sub(3); n++; if (n > 5) break; } while (a.greater(0)); return a.mul(n);',
  'a generator': 'function* steps(x) { for (let i = 0; i < 3; i++) { x = x.greater(4) ? x.div(2) : x.add(1); yield x; } } let s = a; for (const x of steps(a)) s = s.add(x); return s;',
  'default parameters': 'const f = (x, scale = 2, shift = x.add(scale)) => x.mul(scale).add(shift); return f(a).add(f(a, 3)).add(f(a, 1, 0));',
  'optional members': 'const o = { h: null, net: { f: (x) => x.mul(2) } }; if (a.greater(4)) a = o.net?.f?.(a) ?? a; const b = o.h?.x ?? a; return b.add(o.none?.x ?? 1);',
  'text by host values': 'const names = ["up", "down"]; let s = a; for (const name of names) { if (name === "up" && s.less(20)) s = s.add(5); else if (name === "down") s = s.mul(0.5); } return s;',
  'maps that are made on a path': 'for (const r of rows) { if (r.sum().less(4)) { const m = new Map([["x", r.sum()]]); m.set("y", a); a = m.get("x").add(m.get("y")).mul(0.5); } } return a;',
  'numbers in a list': 'const counts = [0, 0, 0]; for (const r of rows) { if (r.sum().less(0)) counts[0]++; else if (r.sum().less(4)) counts[1] += 2; else counts[2] = counts[2] * 2 + 1; } return a.add(counts[0]).add(counts[1] * 10).add(counts[2] * 100);',
  'a running maximum': 'let best = -Infinity, at = -1, i = 0; for (const r of rows) { const v = r.sum(); if (v.greater(best)) { best = v; at = i; } i++; } return a.add(best).mul(at + 1);',
  'comma and void': 'let n = 0; for (const r of rows) { (r.sum().less(4), n++); void (r.sum().less(0) && (a = a.add(n))); } return a;',
}; // prettier-ignore

const outcomes = (f: Fn): unknown =>
  [9, 3, 40, -2].flatMap((value) =>
    [5, 3].map((count) => {
      const [a, r] = [kn.array(value), table.slice([0, count])];
      return f(a, r).item();
    }),
  );

for (const [name, text] of Object.entries(programs)) {
  test(`${name}: captured code gives what eager code gives`, () => {
    const f = fn(text);
    const eager = outcomes(f) as number[];
    for (const capture of [kn.hybridize, kn.staticGraph]) {
      const captured = outcomes(capture(f)) as number[];
      captured.forEach((value, i) => {
        assert.ok(Math.abs(value - eager[i]) <= 2e-6 * Math.max(1, Math.abs(eager[i])) || Object.is(value, eager[i]), `${capture.name} ${i}: ${captured}, not ${eager}`); // prettier-ignore
      });
    }
  });
}

test('a loop over no rows does not fail where its body could not run', () => {
  const f = fn('let best = a, n = 0; for (const r of rows) { best = kn.maximum(best, rows.max().add(r.sum())); a = rows.sum(1).take(n); n++; } return best.add(a).add(n);'); // prettier-ignore
  const captured = kn.hybridize(f);
  for (const count of [0, 3, 0, 1]) {
    const rows = table.slice([0, count]);
    assert.equal(captured(kn.array(3), rows).item(), f(kn.array(3), rows).item(), String(count));
  }
});
