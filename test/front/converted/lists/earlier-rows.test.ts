import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fn, table } from '../programs.js';
import { outcome } from './outcome.js';

/* Loops that use the lists to which they push: values and gradients are those of eager code. */

/** Programs that give an array of `a`, a number, and `rows`, of two columns. */
const programs: Readonly<Record<string, string>> = {
  'the length as a limit':
    'const l = []; while (a.greater(0.01) && l.length < 4) { a = a.div(2); l.push(a); } return kn.stack(l).mul(l.length);',
  'the length inside':
    'const l = [a]; for (const r of rows) { l.push(r.sum().mul(l.length).add(l.length)); } return kn.stack(l);',
  'the length between pushes':
    'const l = []; for (const r of rows) { l.push(r.sum().mul(l.length)); if (l.length < 5) l.push(a.mul(l.length)); } return kn.stack(l);',
  'the length with a condition':
    'const l = []; for (const r of rows) { if (l.length === 0) l.push(a); if (r.sum().less(4) && l.length <= 2) l.push(r.sum().mul(l.length)); } return kn.stack(l);',
  'the value of a push':
    'const l = []; let n = 0; while (a.greater(1)) { a = a.div(2); n = l.push(a); } return a.mul(n);',
  'the last row':
    'const l = [a]; for (const r of rows) { l.push(l.at(-1).mul(0.5).add(r.sum())); } return kn.stack(l);',
  'the last row by its index':
    'const l = [a]; while (a.greater(1)) { a = a.div(2); l.push(l[l.length - 1].mul(a)); } return kn.stack(l);',
  'the last row of a list in an object':
    'const s = { l: [a], h: a }; for (const r of rows) { s.h = s.h.mul(0.5); s.l.push(s.l[s.l.length - 1].add(s.h).mul(r.sum())); } return kn.stack(s.l).add(s.h);',
  'the last row that a condition pushes':
    'const l = [a]; for (const r of rows) { if (r.sum().less(4)) l.push(l.at(-1).add(r.sum())); a = a.add(l.at(-1)).mul(0.5); } return kn.stack(l).add(a);',
  'the last row of a list that is empty at first':
    'const l = []; for (const r of rows) { const last = l.length > 0 ? l.at(-1) : a; l.push(last.mul(0.5).add(r.prod())); } return kn.stack(l);',
  'the last row, pushed by conditions, of a list that is empty at first':
    'const l = []; for (const r of rows) { let last = a; if (l.length > 0) last = l.at(-1); if (r.sum().greater(2)) l.push(last.mul(0.5).add(r.prod())); a = last; } return kn.stack([a, a.mul(2)]);',
  'the last number':
    'const l = [1]; let n = 0; while (a.greater(1)) { a = a.div(2); n++; l.push(l.at(-1) * 2 + n); } return a.mul(l.at(-1));',
  'rows after the loop':
    'const l = [a.mul(5)]; for (const r of rows) { if (r.sum().less(4)) l.push(r.sum().mul(a)); } return l.at(-1).add(l[0]).add(l[l.length - 1]).add(l.at(0));',
  'the second row from the end':
    'const l = [a, a.mul(2)]; for (const r of rows) { l.push(l.at(-2).add(l[l.length - 1]).mul(0.25).add(r.sum())); } return kn.stack(l);',
  'all rows of an array':
    'const l = [a]; for (const r of rows) { l.push(kn.stack(l).mul(r.sum()).mean()); } return kn.stack(l);',
  'all rows that conditions push':
    'const l = [a]; for (const r of rows) { if (r.sum().less(4)) l.push(kn.stack(l).sum().add(r.sum())); else a = a.add(kn.stack(l).max()); } return kn.stack(l).add(a);',
  'all rows of a loop that is bounded and left':
    'const l = [a]; for (let i = 0; i < 6; i++) { a = a.div(2); l.push(kn.stack(l).mean().add(a)); if (a.less(1)) break; } return kn.stack(l);',
  'all rows of vectors':
    'const l = [rows.slice(0).mul(a)]; for (const r of rows) { const keys = kn.stack(l); const w = keys.matmul(r).softmax(); l.push(w.expandDims(0).matmul(keys).reshape([2]).add(r)); } return kn.stack(l);',
  'a loop over the rows':
    'const l = [a]; for (const r of rows) { let s = r.sum(); for (const h of l) s = s.add(h.mul(0.5)); l.push(s.mul(0.25)); } return kn.stack(l);',
  'a loop over the rows afterwards':
    'const l = []; for (const r of rows) { if (r.sum().less(4)) l.push(r.sum().mul(a)); } for (const h of l) a = a.mul(0.5).add(h); return a.add(l.length);',
  'a loop over the rows of a branch':
    'const l = [a]; if (a.greater(5)) l.push(a.mul(2)); for (const x of l) a = a.add(x); return a;',
  'rows of a while loop by their index':
    'const l = [a]; while (a.greater(1)) { a = a.div(2); l.push(a); } return l[0].add(l[1]).add(l.at(-1)).add(l.at(-2));',
  'the first rows':
    'const l = [a]; for (const r of rows) { l.push(l[0].mul(0.5).add(l.at(0)).add(r.sum())); } return kn.stack(l);',
  'a row by a number':
    'const l = [a]; let n = 0; for (const r of rows) { l.push(r.sum().add(l[n])); n++; } return kn.stack(l).add(l[n]);',
  'loops in loops':
    'const l = [a]; for (const r of rows) { for (const q of rows) { if (q.sum().less(4)) l.push(l.at(-1).mul(0.5).add(q.mul(r).sum())); } l.push(l.at(-1).mul(l.length)); } return kn.stack(l);',
  'all rows of loops in loops':
    'const l = [a]; for (const r of rows) { for (const q of rows) { if (q.sum().less(4)) l.push(kn.stack(l).mean().add(q.mul(r).sum())); } l.push(kn.stack(l).sum().mul(0.1)); } return kn.stack(l);',
  'all rows in a branch of a list that is empty at first':
    'const l = []; for (const r of rows) { let h = r; if (r.sum().less(0)) h = kn.stack(l).sum(0).mul(a); l.push(h); } return kn.stack(l);',
  'all rows in a choice of a list that is empty at first':
    'const l = []; for (const r of rows) l.push(r.sum().less(0) ? kn.concat(l).sum().mul(a).add(r) : r); return kn.stack(l);',
  'the last row in a branch of a list that is empty at first':
    'const l = []; for (const r of rows) { if (r.sum().less(0)) l.push(l.at(-1).mul(a)); else l.push(r); } return kn.stack(l);',
  'a row by a number in a branch of a list that is empty at first':
    'const l = []; let n = 0; for (const r of rows) { if (r.sum().less(0)) l.push(l[n - 1].mul(a)); else l.push(r); n++; } return kn.stack(l);',
  'a list that is returned':
    'const l = [a]; for (const r of rows) { l.push(r.sum()); if (r.sum().greater(5)) return kn.stack(l).sum(); } return kn.stack(l).mean();',
};

type Outcome = ReturnType<typeof outcome>;

/** Sums of gradients are added up in another order: they agree to a few roundings of the largest. */
function assertAlike(actual: Outcome, expected: Outcome, message: string): void {
  assert.deepEqual(actual.shape, expected.shape, message);
  for (const key of ['y', 'a', 'rows'] as const) {
    const [found, wanted] = [actual, expected].map((each) => [each[key]].flat(9).map(Number));
    const margin = 1e-6 * Math.max(1, ...wanted.map(Math.abs));
    const isClose = wanted.every((value, i) => Object.is(value, found[i]) || Math.abs(value - found[i]) <= margin); // prettier-ignore
    assert.ok(isClose && found.length === wanted.length, `${message}, ${key}: ${found}, not ${wanted}`); // prettier-ignore
  }
}

for (const [name, text] of Object.entries(programs)) {
  test(`${name}: rows and gradients are those of eager code`, () => {
    const f = fn(text);
    const captured = kn.hybridize(f);
    for (const value of [9, 3, 40]) {
      for (const count of [5, 1, 3]) {
        const rows = table.slice([0, count]);
        assertAlike(outcome(captured, value, rows), outcome(f, value, rows), `${value}, ${count}`);
      }
    }
  });
}

const refused =
  (value: number, problem: RegExp): ((error: unknown) => boolean) =>
  (error) => {
    assert.ok(error instanceof kn.CheckError, `${value}: ${error}`);
    assert.match(error.message, problem);
    return true;
  };

test('a row that is not there is refused when the graph runs', () => {
  const last = kn.hybridize(fn('const l = []; while (a.greater(1)) { a = a.div(2); l.push(a); } return l.at(-1);')); // prettier-ignore
  assert.equal(last(kn.array(3), table).item(), 0.75);
  assert.throws(() => last(kn.array(0), table), refused(0, /l has no row -1/));
  const third = kn.hybridize(fn('const l = [a]; while (a.greater(1)) { a = a.div(2); l.push(a); } return l[2];')); // prettier-ignore
  assert.equal(third(kn.array(3), table).item(), 0.75);
  assert.throws(() => third(kn.array(2), table), refused(2, /l has no row 2/));
});

test('a bounded loop over a list that it pushes to is one graph for any number of rows', () => {
  const f = fn(programs['all rows that conditions push']);
  const captured = kn.hybridize(f, { dynamic: [null, ['n']] });
  for (const count of [5, 2, 4, 3]) {
    const rows = table.slice([0, count]);
    assertAlike(outcome(captured, 3, rows), outcome(f, 3, rows), String(count));
    assert.equal(captured.explain().traces.length, 2);
  }
});

test('a path that reads rows of a list that no path pushes to throws what eager code throws', () => {
  const f = fn('const l = []; for (const r of rows) { if (r.sum().less(0)) a = kn.stack(l).sum(); else a = a.add(1); } return a;'); // prettier-ignore
  const captured = kn.hybridize(f);
  const above = table.slice([0, 1]);
  assert.equal(captured(kn.array(3), above).item(), f(kn.array(3), above).item());
  for (const run of [f, captured]) {
    const isRefused = { name: 'ArgumentError', problem: /^there is nothing to join$/ };
    assert.throws(() => run(kn.array(3), table), isRefused);
  }
});
