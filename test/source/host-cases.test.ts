import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { converted, original } from './convert.js';

/* Law 1 where random programs do not go: each case gives a list of what happened. */

const cases: Readonly<Record<string, string>> = {
  'this, arguments and new.target': `
    const all = [this === undefined];
    function F(p) { if (p) { all.push(new.target === F, arguments.length, arguments[0]); this.x = p || 1; } }
    F.prototype.y = 3;
    const f = new F(2, 3); all.push(f.x, f.y);
    const o = { v: 5, m(p) { if (p) return this.v; return () => this.v } };
    all.push(o.m(1), o.m(0)());
    return all;`,
  'classes that extend others': `
    class A { constructor(p) { if (p) this.p = p; else return { p: 'other' }; } get g() { return this.p ? 'g' : 'n' } static s(x) { return x && 's' } }
    class B extends A { q = 1 || 2; constructor(p) { if (p === 3) { super(4); } else super(p); if (this.q) this.q++; } get g() { return super.g + (this.q ? '!' : '') } m() { for (const k of [1]) { if (k) return super.g } } }
    const b = new B(3), c = new B(0);
    return [b.p, b.q, b.g, b.m(), c.p, A.s(0), B.s(1)];`,
  'optional chains': `
    const all = [], log = (x) => { all.push(x); return x; };
    const o = { a: { n: 1, m(k) { return this.n + k; }, l: [1, 2] }, f: (x) => x * 2, nil: null };
    class P { #p = 4; static of(x) { return x?.#p; } self() { return this?.m2?.(3) ?? this; } m2(k) { return k && [k, this instanceof P]; } }
    all.push(o?.a.m(2), o.nil?.m(log(9)), o.a?.['n'], o.a?.l[log(1)], o.f?.(log(4)), o.g?.(log(5)), o?.nil?.x.y, P.of(new P()), P.of(null), new P().self());
    all.push(delete o?.a?.n, o.a?.n, delete o.nil?.x, (() => { try { return (o.nil?.x).y; } catch (e) { return e.name; } })());
    let u, v = 0; u ??= log('u'); v ??= log('v'); o.nil ??= log('n'); o.f ??= log('f'); o[log('k')] ??= log('new'); o.k ??= log('old');
    const h = o.z ?? (() => 1), w = null ?? undefined ?? log(0) ?? log(8);
    if (o.a?.l?.length === 2 && (o.y ?? log(true))) all.push(h(), w, v, u);
    for (const x of [null, { y: 1 }]) { x?.y && log(x?.y); if (!x?.y) continue; all.push(\`\${x?.y}\`); }
    all.push((o?.a.m)(3), (o.a?.m)(4), (o?.a.m)?.(5), (o.a?.m)?.(6), (o?.a.m)\`x\${2}\`, (o.a?.m)\`y\`);
    for (const k in o?.a) all.push(k); for (const k of o.a?.l) all.push(k); for (const k in o.zz?.a) all.push(k);
    for (const k in u ? { p: 1 } : { q: 1 }) all.push(k); for (const k in o.zz ?? o.a) all.push(k);
    return all.concat(Object.keys(o));`,
  'one binding for each iteration': `
    const fs = [];
    for (let i = 0; i < 3; i++) { if (i !== 1) fs.push(() => i++); }
    for (const k of [7, 8]) { let j = k; while (j < 9) { const m = j; fs.push(() => m + k); j++; if (m === 7) continue; } }
    return [...fs, ...fs].map((f) => f());`,
  'dead zones': `
    const all = [];
    const at = (f) => { try { return f(); } catch (e) { return e.name; } };
    all.push(at(() => { if (x) return 1; let x = 1; return x; }));
    all.push(at(() => { const g = () => y; if (all.length) all.push('in'); const r = at(g); let y = 2; return [r, g()]; }));
    switch (1) { case 0: let z = 1; case 1: all.push(at(() => z)); z2: { break z2; } }
    all.push(at(() => { const c = 1; if (c) c = 2; return c; }));
    return all;`,
  'functions that are used before they are declared': `
    const all = [];
    if (all) { all.push(h()); function h() { return 'h' } }
    while (true) { if (all.length > 1) break; all.push(k(2)); function k(x) { if (x) return x; return 0 } }
    return all.concat(typeof late());
    function late() { return later; }
    var later;`,
  'var across blocks': `
    if (true) { var a = 1; for (var i = 0; i < 2; i++) { var b = a + i; if (b) { var c = b; continue; } } }
    var a; { var [d, { e = 3 }] = [a, {}]; }
    for (var k in { x: 1 }) if (k) break;
    for (var { length } of ['ab']) ;
    return [a, b, c, d, e, i, k, length];`,
  'finally and jumps': `
    const all = [];
    const f = (n) => { for (let i = 0; ; i++) { try { if (i === n) return 'r' + i; if (i > 2) break; if (i) continue; } finally { all.push(i); if (n === 5 && i === 1) break; } } return 'end'; };
    return [f(1), f(9), f(5), ...all];`,
  'labels of all kinds': `
    const all = [];
    a: { b: { if (all) break a; all.push(1) } all.push(2) }
    c: for (const x of [1, 2, 3]) { d: switch (x) { case 1: continue c; case 2: for (;;) { if (x) break d; } default: break c; } all.push(x); }
    e: if (all.length) { if (true) break e; all.push(3) }
    f: do { g: while (true) { if (all.length > 3) break f; all.push('g'); continue f; } } while (all.length < 9);
    return all;`,
  'iterators are closed': `
    const all = [];
    const it = (n) => ({ [Symbol.iterator]() { let i = 0; return { next: () => ({ value: i, done: i++ >= n }), return(v) { all.push('closed'); return {}; } } } });
    for (const x of it(3)) { if (x === 1) break; }
    try { for (const x of it(3)) { if (x) throw 'no' } } catch (e) { all.push(e) }
    const f = () => { for (const [x] of it(1)) return x; };
    try { f() } catch (e) { all.push(e.name) }
    for (const x of it(2)) all.push(x);
    return all;`,
  'order of keys and values': `
    const all = [], note = (x) => { all.push(x); return x };
    const o = { get p() { note('get'); return 1 }, set p(v) { note('set ' + v) } };
    const key = { toString() { note('key'); return 'p' } };
    o[key] += note(2); o[note('p')]++; --o.p; note('r'), o.p **= 2; o?.p && note('and');
    const old = o[key]++; all.push(old);
    ({ [key]: all[all.length], q: o.p = note(9) } = { p: 7 });
    try { null[key] += note('never') } catch (e) { note(e.name) }
    return all;`,
  'big integers, symbols and strings': `
    let a = 5n, s = 'x', y = Symbol.iterator, o = { valueOf: () => 4 };
    a++; a += 2n; s += 1; s += a; let t = '7'; t++; let u = o; const w = u++; let n = null; n += 1; let z = undefined; z -= 1;
    let m; try { m = y + 1 } catch (e) { m = e.name }
    return [String(a), s, t, u, w, n, z, m, -'3', +true, '2' > '10', o < 5, o == 4, null == undefined, NaN !== NaN, a > 3];`,
  'logic gives values': `
    const all = [0 || null, '' && 1, null ?? 'd', 1 && 'b' && [].length, (0, 2) || 3];
    let p = 0, q = 1, r; p ||= 'p'; q &&= 'q'; r ??= 'r'; const o = { k: 0 }; o.k ||= 4; o.k &&= o.k + 1;
    return [...all, p, q, r, o.k, !p, !!q, p ? q ? 1 : 2 : 3];`,
  'logical assignment to members that only syntax names': `
    const all = []; const note = (x) => (all.push(x), x);
    class Base { get n() { note('get'); return this.v; } set n(x) { note('set ' + x); this.v = x; } }
    class C extends Base {
      #p = 0; #q = 2; static #s; v = 0;
      own() { note(this).#p ||= note('p'); this.#q ||= note('never'); C.#s ??= 's'; this.#q &&= this.#q + 1; return [this.#p, this.#q, C.#s]; }
      inherited(k) { super.n ||= note(5); super[note(k)] &&= note(6); super.n ||= note('never'); return [this.v, Object.hasOwn(this, 'n')]; }
    }
    const c = new C(); const found = [c.own(), c.inherited('n')];
    return [found, all.map((each) => (each === c ? 'c' : each))];`,
  'generators and their ends': `
    const all = [];
    function* g(n) { try { for (let i = 0; ; i++) { if (i > n) return 'done'; const got = yield i; if (got) all.push(got); } } finally { all.push('fin'); } }
    const i = g(2); all.push(i.next().value, i.next('got').value, i.return('early').value);
    all.push(...g(1));
    return all;`,
  'tagged templates': `
    const tag = (parts, ...values) => parts.raw.join('|') + values.join();
    const n = 2;
    return [tag\`a\\n\${n && 1}
b\`, \`x
y\${n ? 'z' : \`w
v\`}\`];`,
};

const run = (f: () => unknown): string => {
  try {
    return JSON.stringify(f(), (_, value: unknown) => (typeof value === 'number' ? String(value) : value)); // prettier-ignore
  } catch (error) {
    return `throws ${String(error)}`;
  }
};

for (const [what, body] of Object.entries(cases)) {
  test(`host values: ${what}`, () => {
    const code = `function main() { 'use graph';${body}\n}`;
    const expected = run(original(code));
    assert.doesNotMatch(expected, /^throws|^undefined/);
    const f = converted(code);
    assert.equal(run(f), expected);
    assert.equal(
      run(() => kn.deferredCompute(() => f())),
      expected,
      'in captured code',
    );
  });
}

test('host values: asynchronous functions', async () => {
  const code = `async function main(log) {
    'use graph';
    const wait = async (x) => { if (x) await null; log(x); return x };
    async function* numbers() { for (let i = 0; i < 3; i++) { if (await wait(i)) yield i } }
    let sum = 0;
    for await (const n of numbers()) { sum += n; if (await wait(n === 2 && 'two')) break }
    const r = (await wait(0)) || (await wait('or'));
    try { if (await wait(1)) throw new Error('no') } catch (e) { log(e.message) } finally { log('fin') }
    return [sum, r, (await wait(2)) ? await wait('yes') : 0];
  }`;
  const outcome = async (f: (...args: never[]) => unknown): Promise<string> => {
    const events: unknown[] = [];
    const result = await f(((x: unknown) => events.push(x)) as never);
    return JSON.stringify([events, result]);
  };
  assert.equal(await outcome(converted(code)), await outcome(original(code)));
});
