import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { converted } from '../../source/convert.js';

/*
 * One mistake each: what cannot become a graph is an error where a captured array decides about it, and
 * runs on eager arrays.
 */

Object.assign(globalThis, { kn });

interface Refusal {
  readonly code: string;
  readonly error: string;
  readonly problem: RegExp;
  readonly advice?: RegExp;
  /** What eager code gives for 3; null where it throws as well. */
  readonly eager: number | null;
}

const refusals: Readonly<Record<string, Refusal>> = {
  'a string that differs': {
    code: `let s = 'a'; if (a.greater(1)) s = 'bc'; return a.mul(s.length);`,
    error: 'KAON_TRACE',
    problem: /\bs differs where the test in line 1 is false/,
    eager: 6,
  },
  'a text in an object that differs': {
    code: `const o = { p: [a, { s: 'a' }], q: a }; if (a.greater(1)) { o.p[1].s = 'bc'; o.q = a; } return a.mul(o.p[1].s.length);`,
    error: 'KAON_TRACE',
    problem: /\bo\.p\[1\]\.s differs where the test in line 1 is false/,
    eager: 6,
  },
  'a member that changes its shape': {
    code: `const o = { p: [a], q: a }; while (o.q.less(9)) { o.q = o.q.add(1); o.p[0] = kn.stack([o.q, o.q]); } return o.p[0].sum();`,
    error: 'KAON_SHAPE',
    problem: /\bo\.p\[0\] has another shape after an iteration/,
    advice: /keep its shape/,
    eager: 18,
  },
  'a function that differs': {
    code: `let f = (x) => x; if (a.greater(1)) f = (x) => x.mul(2); return f(a);`,
    error: 'KAON_TRACE',
    problem: /\bf differs/,
    eager: 6,
  },
  'an array that one path does not have, as a part of a result': {
    code: `let y = null; if (a.greater(1)) y = a; return kn.cond(a.greater(0), () => ({ y }), () => ({ y: a })).y;`,
    error: 'KAON_TRACE',
    problem: /\by is null on one path, and is used as a whole/,
    advice: /y \?\? other/,
    eager: 3,
  },
  'a variable without a value where a test does not hold': {
    code: `let y; if (a.greater(1)) y = a; return y;`,
    error: 'KAON_TRACE',
    problem: /\by has no value where the test in line 1 is false, and is used afterwards/,
    advice: /or null, and test for null/,
    eager: 3,
  },
  'a variable without a value where a test holds': {
    code: `let y; if (a.greater(5)) {} else y = a; return y;`,
    error: 'KAON_TRACE',
    problem: /\by has no value where the test in line 1 is true, and is used afterwards/,
    eager: 3,
  },
  'a variable without a value where a loop does not run': {
    code: `let y; while (a.greater(1)) { a = a.div(2); y = a; } return y;`,
    error: 'KAON_TRACE',
    problem: /\by has no value where the loop does not run/,
    eager: 0.75,
  },
  'a variable that is null on one path and undefined on another': {
    code: `let y; if (a.greater(1)) y = a; else if (a.greater(0)) y = null; return y;`,
    error: 'KAON_TRACE',
    problem: /\by has no value where the test in line 1 is false, and is used afterwards/,
    eager: 3,
  },
  'a text that one path does not have': {
    code: `let y = null; if (a.greater(1)) y = 'ab'; return a.mul(y.length);`,
    error: 'KAON_TRACE',
    problem: /\by differs where the test in line 1 is false/,
    eager: 6,
  },
  'a state that changes its shape': {
    code: `let s = a; while (s.sum().less(9)) s = kn.stack([s, s]); return s.sum();`,
    error: 'KAON_SHAPE',
    problem: /\bs has another shape after an iteration/,
    eager: 12,
  },
  'a state that becomes a longer list': {
    code: `let s = [a]; while (s[0].less(9)) s = [...s, a].map((each) => each.mul(2)); return s[0];`,
    error: 'KAON_ARGUMENT',
    problem: /\bs\[1\] changes its structure after an iteration/,
    advice: /same nesting/,
    eager: 12,
  },
  'a state that becomes a list': {
    code: `let s = a; while (kn.stack([s].flat()).sum().less(9)) s = [kn.array(5), a.mul(2)]; return s[0];`,
    error: 'KAON_ARGUMENT',
    problem: /\bs changes its structure after an iteration/,
    eager: 5,
  },
  'a state in an object that gets another member': {
    code: `let s = { x: a }; for (const r of kn.stack([a, a])) s = { x: s.x.add(r), y: r }; return s.x;`,
    error: 'KAON_ARGUMENT',
    problem: /\bs\.y changes its structure after an iteration/,
    eager: 9,
  },
  'a state that changes its dtype': {
    code: `let s = a; while (s.less(9)) s = s.add(1).astype('float64'); return s;`,
    error: 'KAON_DTYPE',
    problem: /\bs has another dtype after an iteration/,
    eager: 9,
  },
  'another dtype in a branch': {
    code: `let s = a; if (s.less(9)) s = s.astype('int32'); return s;`,
    error: 'KAON_DTYPE',
    problem: /\bs has another dtype where the test in line 1 is false/,
    eager: 3,
  },
  'a path that returns nothing': {
    code: `if (a.greater(1)) return a;`,
    error: 'KAON_TRACE',
    problem: /one path returns a value and another one returns none/,
    eager: 3,
  },
  'an iterable without an end': {
    code: `for (const k of (function* () { while (true) yield 1; })()) { a = a.mul(2); if (a.greater(100)) break; } return a;`,
    error: 'KAON_TRACE',
    problem: /decides when a loop over an iterable ends/,
    eager: 192,
  },
  'a recursion that only an array ends': {
    code: `const f = (x) => (x.greater(100) ? x : f(x.mul(2))); return f(a);`,
    error: 'KAON_TRACE',
    problem: /nested without end/,
    eager: 192,
  },
  'an index that is an array': {
    code: `let n = 0; while (a.greater(1)) { a = a.div(2); n++; } return a.mul([1, 2, 3][n]);`,
    error: 'KAON_TRACE',
    problem: /is an index or a part of a text/,
    eager: 2.25,
  },
  'a text with a number that is an array': {
    code: 'let n = 0; while (a.greater(1)) { a = a.div(2); n++; } return a.mul(`${n}`.length);',
    error: 'KAON_TRACE',
    problem: /is an index or a part of a text/,
    eager: 0.75,
  },
  throw: {
    code: `try { if (a.greater(5)) throw new Error('no'); } finally {} return a;`,
    error: 'KAON_TRACE',
    problem: /decides about throw/,
    eager: 3,
  },
  try: {
    code: `if (a.greater(1)) { try { a = a.mul(2); } finally { a = a.add(1); } } return a;`,
    error: 'KAON_TRACE',
    problem: /decides about try/,
    eager: 7,
  },
  'a jump out of try': {
    code: `try { if (a.greater(1)) return a.mul(2); } catch {} return a;`,
    error: 'KAON_TRACE',
    problem: /decides about a jump out of try,/,
    eager: 6,
  },
  delete: {
    code: `const o = { u: 1 }; if (a.greater(1)) { delete o.u; } return a;`,
    error: 'KAON_TRACE',
    problem: /decides about a change of an object/,
    eager: 3,
  },
  'a private member of an object from outside in a pattern': {
    code: `class C { #n = 1; grow() { [this.#n] = [2]; return this.#n; } } const c = new C(); if (a.greater(1)) c.grow(); return a.mul(c.grow());`,
    error: 'KAON_TRACE',
    problem: /decides about a change of an object/,
    advice: /keep the state in a variable/,
    eager: 6,
  },
  'a member of an object from outside that a path makes a text': {
    code: `class C { name = 'a'; } const c = new C(); const f = (t) => { t.name = 'bc'; }; if (a.greater(1)) f(c); return a.mul(c.name.length);`,
    error: 'KAON_TRACE',
    problem: /\bC\.name differs where the test in line 1 is false/,
    eager: 6,
  },
  'a method of a list that grows': {
    code: `const l = []; while (a.greater(1)) { a = a.div(2); l.push(a); } return l.includes(a) ? a : a.neg();`,
    error: 'KAON_TRACE',
    problem: /pushes to l, whose entries are then unknown/,
    eager: 0.75,
  },
  'entries of a list that grows, by another number': {
    code: `const l = []; let n = 0; while (a.greater(1)) { a = a.div(2); l.push(a); n += 0.5; } return l[n];`,
    error: 'KAON_TRACE',
    problem: /an index or a part of a text/,
    eager: 0.75,
  },
  'a list that grows as a result': {
    code: `const l = [a]; if (a.greater(1)) l.push(a); return kn.add(...l);`,
    error: 'KAON_TRACE',
    problem: /pushes to l, whose entries are then unknown/,
    eager: 6,
  },
  'a list that an iteration reads and makes longer': {
    code: `const l = [a]; while (a.greater(1)) { a = a.div(2); l.push(kn.stack(l).sum()); } return kn.stack(l).sum();`,
    error: 'KAON_TRACE',
    problem: /a captured loop reads l, to which it pushes/,
    eager: 12,
  },
  'a list that is returned from the loop that pushes to it': {
    code: `const l = [a]; while (true) { a = a.div(2); l.push(a); if (a.less(1)) return kn.stack(l).sum(); }`,
    error: 'KAON_TRACE',
    problem: /a captured loop reads l, to which it pushes/,
    eager: 5.25,
  },
  'a list that a loop reads and fills by as many rows as the data of an iteration says': {
    code: `const l = [a]; for (const r of kn.stack([a, a])) { let s = r; while (s.greater(2)) { s = s.div(2); l.push(s); } a = kn.stack(l).sum(); } return a;`,
    error: 'KAON_TRACE',
    problem: /a captured loop reads l, to which it pushes/,
    advice: /for \(let i = 0; i < most; i\+\+\) with break/,
    eager: 6,
  },
  'a list that a loop reads whose limit the iterations change': {
    code: `const l = [a]; let most = 3; for (let i = 0; i < most; i++) { if (a.less(1)) break; most = i + 2; a = a.div(2); l.push(kn.stack(l).sum()); } return l.at(-1);`,
    error: 'KAON_TRACE',
    problem: /a captured loop reads l, to which it pushes/,
    eager: 6,
  },
  'a list that shrinks': {
    code: `const l = [a, a, a]; if (a.greater(1)) l.pop(); return a.mul(l.length);`,
    error: 'KAON_TRACE',
    problem: /decides about a change of a list/,
    eager: 6,
  },
  'a push of what is no array': {
    code: `const l = []; let n = 0; while (a.greater(1)) { a = a.div(2); l.push('text'); } return a.mul(l.length);`,
    error: 'KAON_TRACE',
    problem: /pushes a value that is no array to l/,
    eager: 1.5,
  },
  'an axis that arrays that are pushed lack': {
    code: `const l = [kn.ones([2, 2])]; if (a.greater(1)) l.push(a.broadcastTo([2, 2])); return kn.concat(l, 2).sum();`,
    error: 'KAON_SHAPE',
    problem: /pushes to l have no such axis/,
    eager: null,
  },
  'numbers among pushed integers': {
    code: `const l = [1]; if (a.greater(1)) l.push(a.astype('int32')); return kn.stack(l).sum().astype('float32');`,
    error: 'KAON_TRACE',
    problem: /pushes numbers and arrays of another dtype/,
    eager: 4,
  },
  'a list that one path assigns and the other makes longer': {
    code: `let l = [a]; if (a.less(1)) l = [a.mul(2)]; else l.push(a.mul(3)); return kn.stack(l).sum();`,
    error: 'KAON_TRACE',
    problem: /pushes to l, and assigns it/,
    eager: 12,
  },
  'a list whose entries a path assigns and that it makes longer': {
    code: `const l = [a]; if (a.greater(1)) { l[0] = a.mul(2); l.push(a.mul(3)); } return kn.stack(l).sum();`,
    error: 'KAON_TRACE',
    problem: /pushes to l, and assigns it/,
    eager: 15,
  },
  'a list that a loop assigns and makes longer': {
    code: `let l = [a]; while (a.greater(1)) { a = a.div(2); if (a.less(1)) l = [a]; l.push(a); } return kn.stack(l).sum();`,
    error: 'KAON_TRACE',
    problem: /decides about a change of a list/,
    eager: 1.5,
  },
  'a list of the function around one that is captured for itself': {
    code: `const l = [a]; const h = kn.hybridize((x) => { while (x.greater(1)) { x = x.div(2); l.push(x); } return x; }); h.graphFor(kn.array(3)); return kn.stack(l).sum();`,
    error: 'KAON_TRACE',
    problem: /decides about a change of a list/,
    eager: null,
  },
  'a list that an argument makes': {
    code: `const m = new Map([['l', []]]); while (a.greater(1)) { a = a.div(2); m.get('l').push(a); } return kn.stack(m.get('l')).sum();`,
    error: 'KAON_TRACE',
    problem: /decides about a change of a list/,
    advice: /declare the list by itself, const list = \[\], or in an object/,
    eager: 2.25,
  },
  'entries of a list in an object that grows': {
    code: `const o = { l: [], h: a }; while (o.h.greater(1)) { o.h = o.h.div(2); o.l.push(o.h); } return kn.add(...o.l);`,
    error: 'KAON_TRACE',
    problem: /pushes to o\.l, whose entries are then unknown/,
    eager: 2.25,
  },
  'a list in an object that a path replaces': {
    code: `const o = { l: [a] }; while (a.greater(1)) { a = a.div(2); o.l.push(a); if (a.less(0.9)) o.l = [a]; } return kn.stack(o.l).sum();`,
    error: 'KAON_TRACE',
    problem: /\bo\.l differs/,
    eager: 0.75,
  },
  'a jump out of try with finally': {
    code: `try { if (a.greater(1)) return a.mul(2); return a; } finally {}`,
    error: 'KAON_TRACE',
    problem: /decides about a jump out of try,/,
    eager: 6,
  },
  'a jump from for...in': {
    code: `for (const k in { x: 1, y: 2 }) { if (a.greater(1)) break; a = a.mul(2); } return a;`,
    error: 'KAON_TRACE',
    problem: /decides about a jump out of for\.\.\.in,/,
    eager: 3,
  },
  'closures over the variable of a loop': {
    code: `const fs = []; for (let i = 0; i < 3; i++) { fs.push(() => i); if (a.greater(i)) break; } return a.mul(fs.length);`,
    error: 'KAON_TRACE',
    problem: /decides about a jump out of a loop whose variables closures keep,/,
    eager: 3,
  },
  'a change of a typed array': {
    code: `const t = new Float32Array(2); const f = (s) => { s[0] = 3; }; if (a.greater(1)) f(t); return a.mul(t[0] + 1);`,
    error: 'KAON_TRACE',
    problem: /decides about a change of a typed array/,
    eager: 12,
  },
  'a function of the language that changes an object': {
    code: `const s = { n: 0 }; if (a.greater(1)) Reflect.set(s, 'n', 5); return a.mul(s.n + 1);`,
    error: 'KAON_TRACE',
    problem: /decides about a change of an object/,
    eager: 18,
  },
  'a test in a generator': {
    code: `const g = function* () { if (a.greater(1)) yield 1; }; return a.mul([...g()].length);`,
    error: 'KAON_TRACE',
    problem: /decides about yield,/,
    eager: 3,
  },
  'a logical assignment to a private member': {
    code: `class C { #p = a.greater(1); q() { this.#p &&= a.greater(5); return this.#p ? a : a.neg(); } } return new C().q();`,
    error: 'KAON_TRACE',
    problem: /decides about (?:&&|\|\|)= of this member/,
    eager: -3,
  },
  'a logical assignment to a member of super': {
    code: `class B { get n() { return a.greater(1); } set n(k) { this.k = k; } } class C extends B { q() { super.n &&= 2; return this.k; } } return a.mul(new C().q());`,
    error: 'KAON_TRACE',
    problem: /decides about (?:&&|\|\|)= of this member/,
    eager: 6,
  },
  'a test that is no bool': {
    code: `return a ? a : a.neg();`,
    error: 'KAON_DTYPE',
    problem: /the test is not a truth value/,
    eager: null,
  },
  'a test of several elements': {
    code: `return kn.stack([a, a]).greater(1) ? a : a.neg();`,
    error: 'KAON_SHAPE',
    problem: /the test does not have exactly one element/,
    eager: null,
  },
};

for (const [what, { code, error, problem, advice, eager }] of Object.entries(refusals)) {
  test(`${what} is refused where a captured array decides`, () => {
    const f = converted(`function main(a) { 'use graph'; ${code} }`) as unknown as (
      a: kn.NDArray,
    ) => kn.NDArray;
    const x = (): kn.NDArray => kn.array(3);
    if (eager === null) assert.throws(() => f(x()), { code: error });
    else assert.equal(f(x()).item(), eager);
    for (const run of [kn.hybridize(f), (a: kn.NDArray) => kn.deferredCompute(() => f(a))]) {
      assert.throws(
        () => run(x()),
        (thrown: unknown) => {
          assert.ok(thrown instanceof kn.KaonError, String(thrown));
          assert.equal(thrown.code, error, thrown.message);
          assert.match(thrown.problem, problem);
          if (advice !== undefined) assert.match(thrown.advice ?? '', advice);
          return true;
        },
      );
    }
  });
}

test('after a refusal, code that is captured next is served', () => {
  const wrong = converted(
    `function main(a) { 'use graph'; try { if (a.greater(1)) throw 1; } finally {} return a; }`,
  );
  const right = converted(
    `function main(a) { 'use graph'; try { if (a.greater(1)) a = a.mul(2); } finally {} return a; }`,
  ) as unknown as (a: kn.NDArray) => kn.NDArray;
  assert.throws(() => kn.hybridize(wrong as unknown as typeof right)(kn.array(3)), kn.TraceError);
  assert.equal(kn.hybridize(right)(kn.array(3)).item(), 6);
});
