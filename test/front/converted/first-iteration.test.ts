import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { fn, table } from './programs.js';

/*
 * Loops that begin with a test of the host and turn out to be decided by an array: the graph holds their body once,
 * where the first iteration can be taken back, and computes what eager code computes in any case.
 */

/** Programs of `a` and `rows`; bodies have one `exp` each, and `copies` says how many the graph has. */
const programs: Readonly<Record<string, { readonly code: string; readonly copies: number }>> = {
  'a loop that counts': {
    code: 'for (let i = 0; i < 6; i++) { a = a.mul(0.3).exp().add(i); if (a.greater(5)) break; } return a;',
    copies: 1,
  },
  'a flag': {
    code: 'let done = false, n = 0; while (!done) { a = a.mul(0.3).exp(); n++; done = a.greater(1.2) || n > 4; } return a.add(n);',
    copies: 1,
  },
  'an endless loop': {
    code: 'let n = 0; while (true) { a = a.mul(0.3).exp(); n += 2; if (n > 7 || a.greater(1.2)) break; a = a.sub(0.1); } return a.mul(n);',
    copies: 1,
  },
  'a return': {
    code: 'for (let i = 0; i < 5; i++) { a = a.mul(0.3).exp(); if (a.greater(1.3)) return a.mul(i + 1); a = a.sub(i); } return a;',
    copies: 1,
  },
  'a jump at the start': {
    code: 'for (let i = 0; i < 5; i++) { if (a.greater(5)) break; a = a.mul(0.3).exp().add(rows.take(i, { axis: 0 }).sum()); } return a;',
    copies: 1,
  },
  'rows of a list': {
    code: 'const l = []; for (let i = 0; i < 6; i++) { a = a.mul(0.3).exp().mul(i + 1); l.push(a); if (a.greater(5)) break; } return kn.stack(l).sum().add(l.length);',
    copies: 1,
  },
  'an object that changes': {
    code: 'const o = { h: a, n: 0, t: [a] }; for (let i = 0; i < 6; i++) { o.h = o.h.mul(0.3).exp(); o.n++; o.t[0] = o.h.add(o.n); if (o.h.greater(1.3)) break; } return o.h.add(o.n).add(o.t[0]);',
    copies: 1,
  },
  'a loop in a branch': {
    code: 'if (a.greater(1)) { for (let i = 0; i < 6; i++) { a = a.mul(0.3).exp().add(i); if (a.greater(5)) break; } } return a;',
    copies: 1,
  },
  'a loop in a loop': {
    code: 'for (const r of rows) { for (let i = 0; i < 4; i++) { a = a.mul(0.1).exp().add(r.sum()); if (a.greater(5)) break; } } return a;',
    copies: 1,
  },
  'a loop whose first two iterations the host decides about': {
    code: 'for (let i = 0; i < 7; i++) { a = a.mul(0.3).exp(); if (i > 1) { if (a.greater(1.2)) break; } } return a;',
    copies: 3,
  },
  'a check': {
    code: "for (let i = 0; i < 6; i++) { if (a.greater(90)) throw new RangeError('large'); a = a.mul(0.3).exp().add(i); if (a.greater(5)) break; } return a;",
    copies: 1,
  },
  'an object that the loop does not show': {
    code: 'const o = { n: 0 }; const count = () => { o.n++; }; for (let i = 0; i < 6; i++) { a = a.mul(0.3).exp().add(i); count(); if (a.greater(5)) break; } return a.add(o.n);',
    copies: 1,
  },
  'a variable that a function around changes': {
    code: 'let n = 0; const count = () => { n += 0.5; return n; }; for (let i = 0; i < 6; i++) { a = a.mul(0.3).exp().add(count()); if (a.greater(5)) break; } return a.add(n);',
    copies: 1,
  },
  'a value that only the first iteration lacks': {
    code: 'let last = null; for (let i = 0; i < 6; i++) { a = a.mul(0.3).exp().add(last === null ? 1 : last); last = a.mul(0.5); if (a.greater(5)) break; } return a.add(last);',
    copies: 1,
  },
}; // prettier-ignore

for (const [name, { code, copies }] of Object.entries(programs)) {
  test(`${name}: the body once, with the results of eager code`, () => {
    const f = fn(code);
    const captured = kn.hybridize(f);
    const staticGraph = kn.staticGraph(f);
    const recorded = (run: typeof f, value: number): unknown => {
      const a = kn.array(value);
      a.attachGrad();
      const y = kn.autograd.record(() => run(a, table).mul(1));
      y.backward();
      return [y.item(), a.grad!.item()];
    };
    for (const value of [0.2, -3, 1, 2.5, 7]) {
      const eager = recorded(f, value);
      assert.deepEqual(recorded(captured, value), eager, String(value));
      // The first call runs while it is traced; others are compared with it.
      assert.deepEqual(recorded(staticGraph, value), eager, `static: ${value}`);
    }
    for (const graph of [captured.graphFor(kn.array(1), table), staticGraph.schedules[0].graph]) {
      assert.equal(String(graph).match(/ = exp\(/g)?.length, copies);
    }
  });
}

test('random numbers of the first iteration are drawn once', () => {
  const f = fn('let s = a; for (let i = 0; i < 4; i++) { s = s.add(kn.random.uniform([])); if (s.greater(3)) break; } return s;'); // prettier-ignore
  const captured = kn.hybridize(f);
  for (const seed of [1, 2, 3]) {
    kn.random.seed(seed);
    const eager = f(kn.array(1.5), table).item();
    kn.random.seed(seed);
    assert.equal(captured(kn.array(1.5), table).item(), eager);
  }
});

test('a loop that begins again behind one that has drawn draws what eager code draws', () => {
  const loop = (most: number): string => `for (let i = 0; i < 4; i++) { s = s.add(kn.random.uniform([])); if (s.greater(${most})) break; } `; // prettier-ignore
  const f = fn(`let s = a.add(kn.random.uniform([])); ${loop(2)}${loop(4)}s = s.add(kn.random.uniform([]).mul(9)); ${loop(20)} return s;`); // prettier-ignore
  const captured = kn.hybridize(f);
  for (const seed of [1, 2, 3, 4, 5]) {
    kn.random.seed(seed);
    const eager = f(kn.array(1), table).item();
    kn.random.seed(seed);
    assert.equal(captured(kn.array(1), table).item(), eager);
  }
});

test('state that the first iteration writes is written once', () => {
  const state = new kn.nn.Parameter({ shape: [], gradReq: 'null' });
  Object.assign(globalThis, { state });
  const f = fn('for (let i = 0; i < 5; i++) { a = a.mul(0.3).exp(); state.assign(state.value.add(a).mul(0.5)); if (a.greater(1.3)) break; a = a.add(state.value); } return a.add(state.value);'); // prettier-ignore
  const captured = kn.hybridize(f);
  for (const value of [0.2, -3, 1, 7]) {
    const [eager, given] = [f, captured].map((each) => {
      state.assign(kn.array(2));
      return [each(kn.array(value), table).item(), state.value.item()];
    });
    assert.deepEqual(given, eager);
  }
  assert.equal(String(captured.graphFor(kn.array(1), table)).match(/ = exp\(/g)?.length, 1);
});
