import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { converted } from '../../../source/convert.js';
import { assertAsEager } from '../programs.js';

/* Objects of the language that methods change: their own, or functions that are given them. */

/** What a path that an array decides changes, and the construct in the error: eager code gives 2 for 1, 1 for -1. */
const refused: Readonly<Record<string, readonly [code: string, construct: RegExp]>> = {
  'a step of an iterator': ['const it = [1, 2].values(); if (a.greater(0)) it.next(); return it.next().value;', /a step of an iterator/],
  'a step of a generator': ['const it = (function* () { yield 1; yield 2; })(); if (a.greater(0)) it.next(); return it.next().value;', /a step of an iterator/],
  'a loop over an iterator that began before': ['const o = { it: [1, 2].values() }; if (a.greater(0)) for (const n of o.it) break; for (const n of o.it) return n; return 2;', /a step of an iterator/],
  'a step of an iterator by a loop that the host begins': ['const it = [1, 1, 0].values(); let n = 0; while (it.next().value === 1) { n++; if (a.less(0)) break; } return n;', /a step of an iterator/],
  'a date': ['const d = new Date(1); if (a.greater(0)) d.setTime(2); return d.getTime();', /a change of a date/],
  'a regular expression with a place': ["const r = /b/g; r.test('bb'); if (a.greater(0)) r.exec('bb'); return r.lastIndex;", /a search that moves lastIndex/],
  'the bytes of a view': ['const v = new DataView(new ArrayBuffer(1)); v.setInt8(0, 1); if (a.greater(0)) v.setInt8(0, 2); return v.getInt8(0);', /a change of a list, map or set/],
  'a part of a typed array': ['const t = new Uint8Array([0, 1]); if (a.greater(0)) t.subarray(1).fill(2); return t[1];', /a change of a list, map or set/],
  'a weak map': ['const k = {}, m = new WeakMap([[k, 1]]); if (a.greater(0)) m.set(k, 2); return m.get(k);', /a change of a list, map or set/],
  'a map, by ?.': ["const m = new Map([['k', 1]]); if (a.greater(0)) m?.set('k', 2); return m.get('k');", /a change of a list, map or set/],
  'a map in an object, by ?.': ["const o = { m: new Map([['k', 1]]) }; if (a.greater(0)) o?.m.set('k', 2); return o.m.get('k');", /a change of a list, map or set/],
  'a map, by a text': ["const m = new Map([['k', 1]]); if (a.greater(0)) m['set']('k', 2); return m.get('k');", /a change of a list, map or set/],
  'a list, by a method of the class': ['const l = [1]; if (a.greater(0)) Array.prototype.push.call(l, 1); return l.length;', /a change of an object/],
  'a list that paths have chosen': ['const l = [1], m = [1]; for (const v of kn.stack([a])) { const n = v.greater(0) ? l : m; n.push(1); } return l.length;', /a change of a list, map or set/],
  'an object that is frozen': ['const o = {}; if (a.greater(0)) Object.freeze(o); return Object.isFrozen(o) ? 2 : 1;', /a change of an object/],
  'a shared number': ['const t = new Int32Array([1]); if (a.greater(0)) Atomics.add(t, 0, 1); return t[0];', /a change of an object/],
}; // prettier-ignore

for (const [what, [code, construct]] of Object.entries(refused)) {
  test(`${what} is refused where a captured array decides`, () => {
    const f = converted(`function main(a) { 'use graph'; ${code} }`) as unknown as (
      a: kn.NDArray,
    ) => number;
    assert.deepEqual([f(kn.array(1)), f(kn.array(-1))], [2, 1]);
    for (const value of [1, -1]) {
      assert.throws(
        () => kn.hybridize(f as unknown as (a: kn.NDArray) => kn.NDArray)(kn.array(value)),
        (error) => error instanceof kn.TraceError && construct.test(error.problem),
      );
    }
  });
}

const served: Readonly<Record<string, string>> = {
  'lists that methods give, whose entries are exchanged': 'let l = [1, 2].map((n) => a.mul(n)), i = 0; for (const r of rows) { if (r.sum().less(4)) [l[i], l[i + 1]] = [l[i + 1], l[i].add(r.sum())]; else l = l.map((x) => x.mul(0.5)); } return kn.stack(l);',
  'entries of a list up to one that an array chooses': 'let at = -1; for (const [i, limit] of [4, 8, 1].entries()) { if (a.greater(limit)) { at = i; break; } a = a.add(1); } return a.mul(at);',
  'a list that is filled': 'if (a.greater(5)) { const l = new Array(3).fill(2); l.pop(); a = a.add(l.length * l[0]); } return a;',
  'lists that methods give': "const l = [3, 1, 2]; for (const r of rows) if (r.sum().greater(3)) { const m = l.slice().sort(); m.push(m.shift()); a = a.add(m[0] * m.length + 'b a'.split(' ').reverse().length); } return a;",
  'rows that a method gives': 'const l = [1, 2]; while (a.greater(1)) { const m = l.map((n) => a.mul(n)); m.push(a); m.reverse(); a = kn.stack(m).sum().mul(0.1); } return a;',
  'a map of a function': 'const make = () => new Map([[1, a]]); for (const r of rows) if (r.sum().less(4)) { const m = make(); m.set(2, r.sum()); m.delete(1); a = a.add(m.get(2)).mul(m.size); } return a;',
  'an iterator and its steps': 'if (a.greater(5)) { const it = [2, 3].values(); it.next(); a = a.mul(it.next().value); for (const n of it) a = a.mul(n); } return a;',
  'a generator': 'const g = function* (x) { yield x; yield x.mul(2); }; for (const r of rows) if (r.sum().greater(3)) { const it = g(r.sum()); it.next(); a = a.add(it.next().value); } return a;',
  'a date, a view and a search': "if (a.greater(5)) { const d = new Date(0), v = new DataView(new ArrayBuffer(1)), r = /b/g; d.setTime(2); v.setInt8(0, 3); r.test('ab'); a = a.mul(d.getTime() + v.getInt8(0) + r.lastIndex); } return a;",
  'a search without a place': "const r = /b/; if (a.greater(5)) { if (r.test('abb')) a = a.mul(3); } return a;",
  'an object that is frozen': 'if (a.greater(5)) { const o = Object.freeze({ n: 3 }); a = a.mul(o.n); } return a;',
  'either of two lists': 'const s = { low: [] }, high = []; for (const r of rows) (r.sum().less(4) ? s.low : high).push(r.sum(), a); return kn.stack([...s.low, a]).sum().mul(2).add(kn.stack([...high, a]).sum()).add(s.low.length - high.length);',
}; // prettier-ignore

for (const [what, text] of Object.entries(served)) {
  test(`${what}, made on a path: results and gradients are those of eager code`, () => {
    assertAsEager(text);
  });
}
