import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { type Fn, fn, table } from '../programs.js';

/* Variables and members that one path leaves null, and results that it leaves null or undefined: results, gradients and errors are those of eager code. */

/** Programs that give an array of `a`, a number, and `rows`, of two columns. */
const programs: Readonly<Record<string, string>> = {
  'the best of records': 'let best = null; for (const row of rows) { const s = row.sum(); if (best === null || s.greater(best.score)) best = { score: s, row }; } return best.row.sum().mul(best.score).add(a);', // prettier-ignore
  'the best of arrays': 'let best = null; for (const row of rows) { const s = row.sum(); if (best === null || s.greater(best)) best = s; } return kn.add(best, a);', // prettier-ignore
  'the best two': 'let p = null, q = null; for (const row of rows) { const s = row.sum(); if (q === null || s.greater(q.s)) { p = q; q = { s }; } else if (!p || s.greater(p.s)) p = { s }; } return p === null ? a : p.s.mul(10).add(q.s).add(a);', // prettier-ignore
  'another value instead': 'let b = null; if (a.greater(1)) b = a.mul(2); return (b ?? a).add(1);', // prettier-ignore
  'an assignment where there is none': 'let b = null; if (a.greater(1)) b = a.mul(2); b ??= a.sub(5); return b;', // prettier-ignore
  'an assignment to a member where there is none': 'const o = { b: null }; if (a.greater(1)) o.b = a.mul(2); o.b ??= a.sub(5); return o.b;', // prettier-ignore
  'a path that returns where there is a value': 'let b = null; if (a.greater(1)) b = a.mul(2); if (b !== null) return b; return a;', // prettier-ignore
  'chains': 'let b = null; if (a.greater(1)) b = { h: a.mul(2), l: [a] }; const x = b?.h ?? a; b?.h.add(1); return x.add(b?.l[0].mul(3) ?? 7).add(b?.["h"].sum() ?? 2);', // prettier-ignore
  'two links of a chain': 'let b = null; if (a.greater(1)) b = { c: null }; if (a.greater(5)) b = { c: { h: a } }; return (b?.c?.h ?? a.neg()).add(1);', // prettier-ignore
  'a record as a test': 'let b = null; if (a.greater(1)) b = { h: a }; if (b) return b.h.mul(2); return b ? a : a.neg();', // prettier-ignore
  'an array as a test': 'let b = null; if (a.greater(1)) b = a.greater(4); if (b) return a.mul(2); return !b ? a.neg() : a;', // prettier-ignore
  'a test and what it knows': 'let b = null; if (a.greater(1)) b = { h: a }; if (b !== null && b.h.greater(2)) return b.h.mul(2); if (!b) return a; return b.h;', // prettier-ignore
  'a comparison without type': 'let b = null; if (a.greater(1)) b = a.mul(2); return b == null ? a : b != undefined ? b.add(1) : a.neg();', // prettier-ignore
  'null is not undefined': 'let b = null; if (a.greater(1)) b = a.mul(2); return b === undefined ? a : b !== undefined ? a.mul(3) : a.neg();', // prettier-ignore
  'a number': 'let n = null; for (const row of rows) { if (row.sum().greater(4)) { n = n === null ? 1 : n + 1; } } return a.mul(n ?? 0);', // prettier-ignore
  'a row that is found': 'const find = (limit) => { for (const row of rows) if (row.sum().greater(limit)) return row; return null; }; const r = find(a); if (r === null) return a.neg(); return r.sum();', // prettier-ignore
  'a loop until there is a value': 'let r = null; let i = 0; while (r === null && i < rows.shape[0]) { const v = rows.take(i, { axis: 0 }).sum(); if (v.greater(a)) r = v; i++; } return r ?? a.neg();', // prettier-ignore
  'a member that a helper assigns': 'const s = { best: null, n: 0 }; const see = (x) => { if (s.best === null || x.greater(s.best)) s.best = x; s.n++; }; for (const row of rows) see(row.sum()); return s.best.mul(s.n).add(a);', // prettier-ignore
  'a field of an instance': 'class Best { value = null; see(x) { if (this.value === null || x.greater(this.value)) this.value = x; } } const b = new Best(); for (const row of rows) b.see(row.sum()); return b.value.add(a);', // prettier-ignore
  'a list': 'let l = null; if (a.greater(1)) l = [a, a.mul(2)]; if (l === null) l = [a.neg(), a]; const [p, q] = l; return p.add(q).add(l.length);', // prettier-ignore
  'a member that is null in a record': 'let t = null; for (const row of rows) { const s = row.sum(); t = { value: s, next: t === null ? null : { value: t.value } }; } return t.value.add((t.next?.value ?? a).mul(100)).add(a);', // prettier-ignore
  'a loop in a loop': 'let best = null; for (const row of rows) { let own = null; for (const e of row) { if (own === null || e.greater(own.v)) own = { v: e }; } if (best === null || own.v.less(best.v)) best = own; } return best.v.add(a);', // prettier-ignore
  'a value that goes again': 'let b = null; for (const row of rows) { if (row.sum().less(2)) b = null; else b = row.sum().add(b ?? 1); } return a.add(b ?? 0);', // prettier-ignore
  'a variable of an iteration before': 'let last = null; for (const row of rows) { if (last !== null && row.sum().greater(last)) a = a.add(1); last = row.sum(); } return a.add(last);', // prettier-ignore
  'a variable that is there where it is read': 'let y = null; if (a.greater(1)) y = a; if (a.greater(2)) return y; return a.neg();', // prettier-ignore
  'a closure': 'let b = null; const set = (v) => { b = v; }; for (const row of rows) if (row.sum().greater(3)) set(row.sum()); return b === null ? a : a.mul(b);', // prettier-ignore
  'a copy of a record': 'let b = null; if (a.greater(1)) b = { h: a, k: 2 }; if (b === null) return a; const c = { ...b, k: 3 }; return c.h.mul(c.k);', // prettier-ignore
  'members that change': 'let b = null; for (const row of rows) { if (b === null) b = { s: row.sum(), n: 1 }; else { b.s = b.s.add(row.sum()); b.n++; } } return b.s.mul(b.n).add(a);', // prettier-ignore
};

interface Outcome {
  readonly y: unknown;
  readonly a: unknown;
  readonly rows: unknown;
}

function outcome(f: Fn, value: number, given: kn.NDArray): Outcome {
  const [a, r] = [kn.array(value), given.mul(1)];
  for (const each of [a, r]) each.attachGrad();
  const y = kn.autograd.record(() => f(a, r).add(a.mul(0)).add(r.sum().mul(0)));
  y.backward();
  return { y: y.tolist(), a: a.grad!.tolist(), rows: r.grad!.tolist() };
}

for (const [name, text] of Object.entries(programs)) {
  test(`${name}: results and gradients are those of eager code`, () => {
    const f = fn(text);
    const captured = kn.hybridize(f);
    for (const value of [9, 3, 0.5]) {
      for (const count of [5, 2]) {
        const rows = table.slice([0, count]);
        assert.deepEqual(outcome(captured, value, rows), outcome(f, value, rows), `${value}, ${count}`); // prettier-ignore
      }
    }
    assert.equal(captured.explain().traces.length, 2);
  });
}

test('a value that is absent where it is used is an error that names it, when the graph runs', () => {
  const uses = {
    'b.mul(2)': /\bb is null where its value is used/,
    'kn.add(a, b)': /\bb is null where its value is used/,
    'a.mul(n + 1)': /\bn is null where its value is used/,
    'a.mul(o.p.h)': /\bo\.p is null where its value is used/,
    b: /\bb is null where its value is used/,
  };
  for (const [use, problem] of Object.entries(uses)) {
    const captured = kn.hybridize(fn(`let b = null, n = null; const o = { p: null }; if (a.greater(1)) { b = a.mul(3); n = 2; o.p = { h: a }; } return ${use};`)); // prettier-ignore
    const f = captured as unknown as (a: kn.NDArray, rows: kn.NDArray) => kn.NDArray;
    assert.ok(Number.isFinite(f(kn.array(2), table).item()), use);
    assert.throws(() => f(kn.array(0), table).item(), { name: 'CheckError', message: problem }, use); // prettier-ignore
    assert.ok(Number.isFinite(f(kn.array(2), table).item()), use);
  }
});

test('a path that knows of a value checks nothing', () => {
  const checks = (text: string): number =>
    String(kn.hybridize(fn(text)).graphFor(kn.array(2), table)).split(/\bcheck\(/).length - 1; // prettier-ignore
  const start = 'let b = null; if (a.greater(1)) b = { h: a };';
  assert.equal(checks(`${start} return b.h.add(b.h);`), 1);
  assert.equal(checks(`${start} if (b === null) return a; return b.h.add(b.h);`), 0);
  assert.equal(checks(`${start} if (b !== null && b.h.greater(2)) return b.h; return a;`), 0);
  assert.equal(checks(`${start} if (!b || b.h.less(2)) return a; return b.h;`), 0);
  assert.equal(checks(`${start} return b?.h ?? a;`), 0);
});
