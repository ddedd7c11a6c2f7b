import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fn, table } from '../programs.js';
import { outcome } from './outcome.js';

/* Lists to which captured code pushes: the rows, their number and gradients are those of eager code. */

/** Programs that give an array of `a`, a number, and `rows`, of two columns. */
const programs: Readonly<Record<string, string>> = {
  'a while loop':
    'const l = []; while (a.greater(1)) { a = a.div(2); l.push(a); } return kn.stack(l).mul(2);',
  'rows before and after':
    'const l = [a.mul(3)]; l.push(a); while (a.greater(1)) { a = a.div(2); l.push(a.mul(a)); } l.push(a.add(7)); return kn.stack(l);',
  'rows of an array': 'const l = []; for (const r of rows) l.push(r.mul(a)); return kn.stack(l);',
  'two rows an iteration':
    'const l = []; for (const r of rows) { l.push(r); l.push(r.mul(2), a.mul(r)); } return kn.stack(l);',
  'two lists':
    'const l = [], m = [a]; for (const r of rows) { l.push(r); m.push(r.sum()); } return kn.concat([kn.stack(l).sum(1).mul(2), kn.stack(m)]);',
  'a condition':
    'const l = [a]; for (const r of rows) { if (r.sum().less(4)) l.push(r.prod()); } return kn.stack(l);',
  'another condition':
    'const l = [a]; for (const r of rows) { if (r.sum().less(4)) a = a.add(1); else l.push(a.mul(r.sum())); } return kn.stack(l);',
  'conditions in conditions':
    'const l = [a]; for (const r of rows) { const s = r.sum(); if (s.less(4)) { l.push(s); if (s.less(2)) l.push(a, s); else { a = a.mul(2); l.push(a); } } else if (s.greater(5)) l.push(s.mul(a)); } return kn.stack(l);',
  continue:
    'const l = [a]; for (const r of rows) { if (r.sum().less(2)) continue; l.push(r.sum().mul(a)); } return kn.stack(l);',
  'break in a while loop':
    'const l = []; while (true) { l.push(a); a = a.div(2); if (a.less(1)) break; l.push(a.mul(3)); } return kn.stack(l);',
  'break in rows':
    'const l = [a]; for (const r of rows) { if (r.slice(0).less(0)) break; l.push(r.sum()); if (r.sum().greater(8)) break; l.push(a.mul(2)); } return kn.stack(l);',
  return:
    'const l = []; for (const r of rows) { l.push(r.mul(a)); if (r.slice(0).less(0)) return r.sum(); } return kn.stack(l).sum();',
  'a return before':
    'const l = [a]; if (a.greater(20)) return kn.stack(l); for (const r of rows) l.push(r.sum()); l.push(a); return kn.stack(l);',
  'a branch':
    'const l = [a]; if (a.greater(5)) l.push(a.mul(2)); l.push(a.mul(3)); return kn.stack(l);',
  'both arms of a branch':
    'const l = []; if (a.greater(5)) l.push(a.mul(2)); else { l.push(a.mul(3)); l.push(a); } return kn.stack(l);',
  'a loop in a branch':
    'const l = [a]; if (a.greater(5)) { for (const r of rows) l.push(r.sum()); } else l.push(a.mul(2)); return kn.stack(l);',
  'a while loop in a branch':
    'const l = [a]; if (a.greater(5)) { while (a.greater(1)) { a = a.div(2); l.push(a); } } else l.push(a.mul(2)); return kn.stack(l);',
  'a host loop with break':
    'const l = []; for (let i = 0; i < 4; i++) { l.push(a.add(i)); if (a.add(i).greater(9)) break; l.push(a.mul(i)); } return kn.stack(l);',
  'nested loops over rows':
    'const l = []; for (const r of rows) for (const q of rows) { l.push(r.mul(q).sum()); } return kn.stack(l).mul(a);',
  'nested loops with conditions':
    'const l = [a]; for (const r of rows) { for (const q of rows) { if (r.mul(q).sum().greater(2)) l.push(r.mul(q).sum().mul(a)); if (q.sum().greater(8)) break; } } return kn.stack(l);',
  'a while loop in rows with a list of its own':
    'const l = []; for (const r of rows) { let s = r.sum().abs(); const m = [s]; while (s.greater(1)) { s = s.div(2); m.push(s.mul(a)); } l.push(kn.stack(m).sum()); } return kn.stack(l);',
  'dtypes that are promoted':
    'const l = []; for (const r of rows) { if (r.sum().greater(4)) l.push(r.sum().greater(9)); else if (r.sum().less(0)) l.push(r.argmax()); else l.push(r.sum()); } return kn.stack(l).mul(a);',
  'numbers and booleans':
    'const l = [3, true]; let i = 0; for (const r of rows) { i += 2; if (r.sum().greater(4)) { l.push(i); l.push(0.5, a); } } return kn.stack(l).mul(a);',
  'a while loop of two rows in a branch':
    'const l = [a]; if (a.greater(5)) { while (a.greater(1)) { a = a.div(2); l.push(a); l.push(a.mul(a)); } l.push(a); } else l.push(a.mul(2)); return kn.stack(l);',
  'a loop in a branch in a loop':
    'const l = [a]; for (const r of rows) { if (r.sum().less(4)) { for (const q of rows) if (q.sum().less(r.sum())) l.push(q.sum().mul(r.sum())); } } return kn.stack(l).mul(a);',
  'a list of the iteration':
    'const l = []; for (const r of rows) { const m = []; for (const q of rows) m.push(q.mul(r)); l.push(kn.stack(m).sum(0)); } return kn.stack(l).mul(a);',
  'its length':
    'const l = []; while (a.greater(1)) { a = a.div(2); l.push(a); } return kn.stack(l).mul(a).sum().div(l.length + 1);',
  'the length with a condition':
    'const l = [a]; for (const r of rows) { if (r.sum().less(4)) l.push(r.sum()); } return kn.stack(l).mean().mul(l.length).add(l.length);',
  'another axis':
    'const l = []; for (const r of rows) l.push(r.mul(a)); return kn.stack(l, 1).add(kn.stack(l, -1));',
  'as many rows in each iteration, which the data counts':
    'const l = []; for (const r of rows) { let s = a; while (s.greater(1)) { s = s.div(2); l.push(s.mul(r.sum())); } } return kn.stack(l);',
  'as many rows in each iteration, of which the data counts some':
    'const l = [a]; for (const r of rows) { let s = a; while (s.greater(1)) { s = s.div(2); if (s.greater(2)) l.push(r.mul(s).sum()); } } return kn.stack(l).mul(l.length);',
  'any number of rows in each iteration, of loops that are bounded and left':
    'const l = []; for (const r of rows) { let s = r.sum().add(a); for (let i = 0; i < 6; i++) { if (s.less(1)) break; s = s.div(2); l.push(s.mul(a)); } } return kn.stack(l).mul(l.length);',
  'any number of rows in each iteration, of which conditions push some':
    'const l = [a]; let n = 0; while (n < 3) { n++; a = a.add(n); for (let i = 9; i >= 2; i -= 2) { if (a.mul(n).greater(i * 4)) break; if (a.greater(i)) l.push(a.mul(i)); l.push(a); } } return kn.stack(l).mul(l.length);',
  'concat along another axis':
    'const l = []; for (const r of rows) { if (r.slice(0).greater(-20)) l.push(kn.stack([r, r.mul(a)])); } return kn.concat(l, 1).add(kn.concat(l, -1));',
  concat:
    'const l = []; for (const r of rows) { if (r.slice(0).greater(-20)) l.push(r.mul(a)); } return kn.concat(l);',
  'a counter':
    'const l = []; let i = 0; while (a.greater(1)) { a = a.div(2); i++; l.push(i); } return kn.stack(l).mul(a);',
  'a logical operator':
    'const l = [a]; for (const r of rows) { const isPushed = r.sum().less(4); isPushed && l.push(r.sum()); } return kn.stack(l);',
  'a helper that pushes':
    'const l = [a]; const keep = (x) => { l.push(x); }; for (const r of rows) { keep(r.sum()); if (r.sum().greater(8)) keep(a); } return kn.stack(l);',
  'a list that is assigned too':
    'const l = [a, a.mul(2)]; for (const r of rows) { l[0] = r.sum().add(l[1]); } l.push(a); while (a.greater(1)) { a = a.div(2); l.push(a); } return kn.stack(l);',
  'a list in an object whose members change':
    'const s = { l: [a], h: a, n: 0 }; for (const r of rows) { s.h = s.h.add(r.sum()).mul(0.5); s.n++; if (s.h.less(4)) s.l.push(s.h); } return kn.stack(s.l).mul(s.n).add(s.l.length);',
  'lists in objects in objects, in loops in branches':
    'const s = { h: a, t: { l: [], m: [a] } }; if (a.greater(5)) { while (s.h.greater(1)) { s.h = s.h.div(2); s.t.l.push(s.h); for (const r of rows) s.t.m.push(r.mul(s.h).sum()); } } s.t.l.push(s.h); return kn.concat([kn.stack(s.t.l), kn.stack(s.t.m)]).mul(s.h);',
  'a list in an object of which a path changes another member':
    'const s = { l: [a.mul(2)], h: a }; for (const r of rows) { if (r.sum().less(4)) { s.h = s.h.add(r.sum()); continue; } s.l.push(s.h.mul(r.sum())); } return kn.stack(s.l).add(s.h);',
  'records of lists, one of which is state':
    'const s = { l: [], p: [a, a.mul(2)] }; for (const r of rows) { s.p[0] = s.p[1].add(r.sum()).mul(0.5); s.p[1] = s.p[0].mul(0.3); s.l.push(s.p[0]); } return kn.stack(s.l).add(s.p[1]);',
  'a list in an object that is made anew in each iteration':
    'const all = []; for (const r of rows) { const s = { l: [r.sum()], h: r.sum().abs() }; while (s.h.greater(1)) { s.h = s.h.div(2); s.l.push(s.h.mul(a)); } all.push(kn.stack(s.l).sum().add(s.h)); } return kn.stack(all);',
  throw:
    "const l = [a]; for (const r of rows) { if (r.slice(0).greater(50)) throw new Error('large'); l.push(r.sum()); } return kn.stack(l);",
};

for (const [name, text] of Object.entries(programs)) {
  test(`${name}: rows and gradients are those of eager code`, () => {
    const f = fn(text);
    const captured = kn.hybridize(f);
    for (const value of [9, 3, 40]) {
      for (const count of [5, 1, 3]) {
        const rows = table.slice([0, count]);
        assert.deepEqual(
          outcome(captured, value, rows),
          outcome(f, value, rows),
          `${value}, ${count}`,
        );
      }
    }
  });
}

test('no rows give a first dimension of 0', () => {
  for (const text of [
    'const l = []; while (a.greater(1)) { a = a.div(2); l.push(rows); } return kn.stack(l);',
    'const l = []; for (const r of rows) { if (a.greater(1)) l.push(rows); } return kn.stack(l);',
    'const l = []; if (a.greater(1)) l.push(rows); return kn.stack(l);',
  ]) {
    const captured = kn.hybridize(fn(text));
    assert.deepEqual(captured(kn.array(0), table).shape, [0, 5, 2], text);
    assert.deepEqual(captured(kn.array(2), table).shape.slice(1), [5, 2], text);
  }
  const none = kn.hybridize(fn('const l = []; for (const r of rows) l.push(r); return kn.stack(l).add(l.length);')); // prettier-ignore
  assert.deepEqual(none(kn.array(0), kn.zeros([0, 2])).shape, [0, 2]);
});

test('the length of a list that collects rows is one int32', () => {
  const of = (text: string): kn.NDArray => kn.hybridize(fn(text))(kn.array(5), table);
  const plain = of('const l = [a]; for (const r of rows) l.push(r.sum()); return l.length;');
  assert.deepEqual([plain.dtype, plain.shape, plain.item()], ['int32', [], 6]);
  const some = of('const l = [a]; for (const r of rows) { if (r.sum().less(4)) l.push(r.sum()); } return l.length;'); // prettier-ignore
  assert.deepEqual([some.dtype, some.shape, some.item()], ['int32', [], 4]);
});

test('one graph serves any number of rows', () => {
  for (const name of [
    'conditions in conditions',
    'a loop in a branch in a loop',
    'nested loops with conditions',
  ]) {
    const f = fn(programs[name]);
    const captured = kn.hybridize(f, { dynamic: [null, ['n']] });
    const traces: number[] = [];
    for (const count of [5, 2, 4, 1]) {
      const rows = table.slice([0, count]);
      assert.deepEqual(outcome(captured, 3, rows), outcome(f, 3, rows));
      traces.push(captured.explain().traces.length);
    }
    // Recorded calls and others have a trace each.
    assert.deepEqual(traces, [2, 2, 2, 2], name);
  }
});

test('a static graph collects rows', () => {
  const f = fn(programs['break in rows']);
  const graph = kn.staticGraph(f);
  for (const count of [5, 3, 2]) {
    const rows = table.slice([0, count]);
    assert.deepEqual(graph(kn.array(4), rows).tolist(), f(kn.array(4), rows).tolist());
  }
});

test('numbers in objects and lists are state', () => {
  const f = fn(`const s = { n: 0, found: false, parts: [a, 1] };
    for (const r of rows) { if (r.sum().greater(3)) { s.n++; s.found = true; s.parts[1] *= 2; } s.parts[0] = s.parts[0].add(s.n).mul(0.5); }
    return kn.stack([s.parts[0], kn.array(1).mul(s.parts[1]), kn.array(1).mul(s.n), s.found ? a : a.neg()]);`); // prettier-ignore
  const captured = kn.hybridize(f);
  for (const value of [9, 3]) {
    for (const rows of [table, table.slice([0, 1])]) {
      assert.deepEqual(outcome(captured, value, rows), outcome(f, value, rows));
    }
  }
});
