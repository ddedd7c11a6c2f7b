import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { transform } from '../../src/source/index.js';
import { converted, original } from './convert.js';

/*
 * Async functions and generators. `a.b ||= await c`: arrays decide by value, and the order of effects is that of the
 * code as it is written. In captured code what contains no `await` or `yield` becomes a graph.
 */

Object.assign(globalThis, { kn });

const code = `async function main(first, log) { 'use graph';
  const note = (name, value) => { log.push(name); return value; };
  class Base { get n() { return log.push('get n'), this.v } set n(x) { log.push('set n'), (this.v = x) } }
  class C extends Base {
    #p = first;
    v = first;
    async own() { note('this', this).#p ||= await note('right', 7); return this.#p }
    async inherited() { super.n &&= await note('right', 8); return super[note('key', 'n')] ||= await 9 }
  }
  const o = { x: first, y: { z: first } };
  const c = new C();
  const all = [await c.own(), await c.inherited()];
  note('object', o)[note('key', 'x')] ||= await note('right', 1)
  all.push(o.x, note('object', o).y.z &&= await note('right', 2), o.y.z)
  return all;
}`;

test('host values: results and effects are those of the code as it is', async () => {
  for (const first of [0, 1, '', 'a', null]) {
    const logs: [unknown[], unknown[]] = [[], []];
    const f = original(code) as unknown as (first: unknown, log: unknown[]) => Promise<unknown>;
    const g = converted(code) as unknown as typeof f;
    assert.deepEqual(await g(first, logs[1]), await f(first, logs[0]));
    assert.deepEqual(logs[1], logs[0]);
  }
});

test('eager arrays decide by value', async () => {
  const f = converted(code) as unknown as (first: unknown, log: unknown[]) => Promise<unknown[]>;
  const [no, yes] = [kn.array(false), kn.array(true)];
  assert.deepEqual(await f(no, []), [7, 9, 1, no, no]);
  assert.deepEqual(await f(yes, []), [yes, 8, yes, 2, 2]);
});

test('generators, too', () => {
  const f = converted(
    `function* main(o) { 'use graph'; o.x ||= yield 'x'; o.x &&= yield 'y'; return o.x; }`,
  ) as unknown as (o: object) => Generator<string, unknown, unknown>;
  const run = f({ x: kn.array(false) });
  assert.equal(run.next().value, 'x');
  assert.equal(run.next(5).value, 'y');
  assert.deepEqual(run.next(6), { done: true, value: 6 });
});

const waiting = `async function main(x, log) { 'use graph';
  const wait = async (name, value) => { log.push(name); return value; };
  let a = x, b = x, c = x, d = x;
  a ||= await wait('a', 1);
  b &&= await wait('b', 2);
  const taken = [(c ||= await wait('c', 3)), (d &&= await wait('d', 4))];
  const e = a && await wait('e', 5), f = b || await wait('f', 6);
  x && log.push(await wait('g', 7));
  x || log.push(await wait('h', 8));
  const both = async (y) => y && await wait('i', 9), either = async (y) => y || await wait('j', 10);
  const given = async (y) => (y ||= await wait('k', 11)), kept = async (y) => (y &&= await wait('l', 12), y);
  const later = async (y) => [typeof (y || await wait('m', 13)), (await y) && await wait('n', 14) && await wait('o', 15)];
  const nested = async (y) => (y && (y || await wait('p', 16))) || (await wait('q', 17) && await wait('r', 18));
  const promised = async () => typeof (wait('s', 19) || await wait('t', 20)).then;
  return [a, b, c, d, ...taken, e, f, await both(x), await either(x), await given(x), await kept(x),
    ...(await later(x)), await nested(x), await promised()];
}`;

test('variables and choices that wait: host values are those of the code as it is, arrays decide by value', async () => {
  type Main = (first: unknown, log: unknown[]) => Promise<unknown[]>;
  const [f, g] = [original(waiting), converted(waiting)] as unknown as [Main, Main];
  const run = async (h: Main, first: unknown): Promise<unknown> => {
    const log: unknown[] = [];
    const results = await h(first, log);
    return { results: results.map((each) => (each === first ? 'first' : each)), log };
  };
  for (const first of [0, 1, '', 'a', null, {}]) {
    assert.deepEqual(await run(g, first), await run(f, first));
  }
  assert.deepEqual(await run(g, kn.array(false)), await run(f, 0));
  assert.deepEqual(await run(g, kn.array(true)), await run(f, {}));
});

test('members in types of TypeScript are converted', () => {
  const text = transform(`function f(o: any) { 'use graph'; (o.x as unknown) ||= 1; o.y! &&= 2; }`, { filename: 'f.ts' })!.code; // prettier-ignore
  assert.doesNotMatch(text, /\|\|=|&&=/);
});

test('where no variable can be declared it is refused', () => {
  const text = `async function f(o) { 'use graph';\n return (async () => (o.x ||= await 1))(); }`;
  assert.throws(() => transform(text, { filename: 'f.js' }), {
    name: 'UnsupportedError',
    actual: 'an expression in line 2',
  });
});

type Fn = (a: kn.NDArray) => kn.NDArray;
const fn = (text: string): Fn => converted(`function main(a) { 'use graph';\n${text} }`) as unknown as Fn; // prettier-ignore

const captured: Readonly<Record<string, string>> = {
  'a branch before yield': `function* g() { for (let i = 0; i < 3; i++) { if (a.greater(2)) a = a.mul(2); else a = a.add(i); yield a; } }
    let s = a; for (const v of g()) s = s.add(v); return s;`,
  'a loop, and a number that it assigns': `function* g(x) { let n = 0; while (x.greater(1)) { x = x.div(2); n++; } yield x.mul(1); yield x.mul(n + 1); }
    return [...g(a)].reduce((x, y) => x.add(y));`,
  'a choice that is given to the consumer, and a value from it': `function* g(x) { const r = yield x.greater(0.7) ? x : x.neg(); return r.mul(3); }
    const it = g(a); const first = it.next().value; return it.next(first.add(1)).value;`,
  'return from the end of a generator': `function* g(x) { yield 1; if (x.less(0.9)) return x.mul(100); for (const r of kn.stack([x, x])) { if (r.greater(30)) return r; x = x.add(r); } return x; }
    const it = g(a); it.next(); return it.next().value;`,
  'return from a block in a generator': `function* g(x, isShort) { yield 1; if (isShort) { if (x.less(0.9)) return x.mul(100); return x.neg(); } yield 2; }
    const it = g(a, true); it.next(); return it.next().value;`,
  'a generator that delegates, as a method of a class': `class C { #k = 2; *inner(x) { if (x.greater(2)) x = x.mul(this.#k); yield x; return x.add(1); } *outer(x) { const r = yield* this.inner(x); yield r.mul(this.#k); } }
    let s = a; for (const v of new C().outer(a)) s = s.add(v); return s;`,
  'a loop that the consumer leaves inside of try': `const log = []; function* g() { try { yield a; yield a.mul(2); } finally { log.push(1); } }
    let s = a; for (const v of g()) { s = s.add(v); if (log.length === 0) break; } if (s.less(-100)) throw new Error('low'); return s.mul(log.length);`,
  'the part of an async function before it waits': `const out = {}; async function f(x) { if (x.greater(1)) x = x.mul(3); out.y = x; await null; out.y = null; }
    f(a); return out.y;`,
  'an async arrow': `const out = {}; const f = async (x) => (out.y = x.greater(1) ? x.mul(3) : x, await null); f(a); return out.y;`,
  'the end of a try block, where every path returns': `try { if (a.greater(2)) return a.mul(2); return a; } catch { return a; }`,
}; // prettier-ignore

function results(f: Fn, value: number): unknown {
  const x = kn.array(value);
  x.attachGrad();
  const y = kn.autograd.record(() => f(x).mul(1));
  y.backward();
  return [y.item(), x.grad!.item()];
}

for (const [name, text] of Object.entries(captured)) {
  test(`${name}: results and gradients are those of eager code`, () => {
    const f = fn(text);
    const graph = kn.hybridize(f);
    for (const value of [3, 0.5, 40]) assert.deepEqual(results(graph, value), results(f, value));
    assert.equal(graph.explain().traces.length, 1);
  });
}

const refused: Readonly<Record<string, readonly [text: string, construct: string, place: string]>> = {
  'yield in a branch': [`function* g() {\n if (a.greater(1))\n  yield 1; }\n return a.mul([...g()].length);`, 'yield', '4:3'],
  'break from a loop with yield': [`function* g() { for (;;) {\n if (a.greater(-1)) break;\n yield 1; } }\n return a.mul([...g()].length + 1);`, 'yield', '4:2'],
  'return before yield': [`function* g() {\n if (a.greater(-1)) return;\n yield* [1]; }\n return a.mul([...g()].length + 1);`, 'yield', '4:2'],
  'yield in an expression': [`function* g() {\n return a.greater(9) ? yield 1 : 2; }\n return a.mul(g().next().value);`, 'yield', '3:24'],
  'yield on the right of an operator': [`function* g() {\n a.greater(9) &&\n (yield 1); }\n g().next(); return a;`, 'yield', '4:3'],
  'yield in a logical assignment': [`function* g() {\n let x = a.greater(9); x ||= yield 1; }\n return a.mul(g().next().value);`, 'yield', '3:30'],
  'a generator that goes on in a path': [`function* g() { yield a;\n yield a.mul(2); }\n const it = g(); it.next(); if (a.greater(9)) a = it.next().value; else a = it.next().value; return a;`, 'yield in a generator that began on another path', '2:17'],
  'throw in try of a generator': [`function* g() { try { yield a; if (a.less(0)) throw 1; } finally {} }\n return [...g()][0];`, 'throw inside of try', '2:47'],
}; // prettier-ignore

for (const [name, [text, construct, place]] of Object.entries(refused)) {
  test(`${name}: the error names it and its line`, () => {
    const f = fn(text);
    assert.doesNotThrow(() => f(kn.array(3)));
    assert.throws(() => kn.hybridize(f)(kn.array(3)), (error) => {
      assert.ok(error instanceof kn.TraceError, String(error));
      assert.equal(error.problem, `a captured array decides about ${construct}, which cannot become a graph`); // prettier-ignore
      assert.match(error.source!, new RegExp(`(^|:)${place}$`));
      return true;
    }); // prettier-ignore
  });
}

test('await that a captured array decides about rejects with an error that names it', async () => {
  const out: { promise?: Promise<unknown> } = {};
  Object.assign(globalThis, { out });
  for (const [text, place] of [
    ['if (x.greater(1))\n await null;', '3:2'],
    ['const y = x.greater(1) && await null; return y;', '2:52'],
  ] as const) {
    const f = fn(`const f = async (x) => { ${text} };
 out.promise = f(a); return a;`);
    f(kn.array(3));
    await out.promise;
    kn.hybridize(f)(kn.array(3));
    await assert.rejects(out.promise!, (error) => {
      assert.ok(error instanceof kn.TraceError, String(error));
      assert.match(error.problem, /decides about await,/);
      assert.match(error.source!, new RegExp(`(^|:)${place}$`));
      return true;
    });
  }
});
