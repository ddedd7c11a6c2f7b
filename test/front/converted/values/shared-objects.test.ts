import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { assertAsEager, fn, table } from '../programs.js';

/* Objects that have a second name, of which an array has chosen one: what changes by one name is not read by another. */

const refused: Readonly<Record<string, string>> = {
  'a member, by the name of the choice':
    'const p = { v: a }, q = { v: a.mul(2) }; const best = a.greater(5) ? p : q; best.v = best.v.add(10); return p.v;',
  'a member, by the name from before':
    'const p = { v: a }, q = { v: a.mul(2) }; let best = p; if (a.greater(5)) best = q; q.v = q.v.add(10); return best.v;',
  'a list':
    'const p = [], q = []; const l = a.greater(5) ? p : q; l.push(a); return a.mul(p.length);',
  'members in a pattern':
    'const p = { v: a }, q = { v: a.mul(2) }; const best = a.greater(5) ? p : q; [best["v"]] = [a]; return p.v.add(q.v);',
};

for (const [what, text] of Object.entries(refused)) {
  test(`${what}: refused`, () => {
    assert.throws(
      () => kn.hybridize(fn(text))(kn.array(9), table),
      (error) =>
        error instanceof kn.TraceError && /after a change by another name/.test(error.problem),
    );
  });
}

const served: Readonly<Record<string, string>> = {
  'the choice alone goes on':
    'let best = { v: a, n: 0 }; if (a.greater(5)) best = { v: a.mul(2), n: 1 }; best.v = best.v.add(1); best.n += 2; return best.v.mul(best.n);',
  'a choice in each iteration':
    'let best = { v: a, n: 0 }; for (const r of rows) { if (r.sum().greater(best.v)) best = { v: r.sum(), n: best.n + 1 }; best.v = best.v.mul(0.5); best.n++; } best.v = best.v.add(1); return best.v.mul(best.n);',
  'a choice in each iteration that the host counts':
    'let best = { v: a, n: 0 }; for (let i = 0; i < 3; i++) { if (a.greater(i)) best = { v: a.mul(i), n: i }; best.v = best.v.add(1); } return best.v.mul(best.n);',
  'objects that are exchanged':
    'let p = { v: a }, q = { v: a.mul(2) }; if (a.greater(5)) [p, q] = [q, p]; p.v = p.v.add(1); q.v = q.v.mul(p.v); return p.v.sub(q.v);',
  'members that nobody changes': 'const p = { v: a, w: 1 }, q = { v: a.mul(2), w: 2 }; const best = a.greater(5) ? p : q; best.v = best.v.add(10); return best.v.add(p.w).mul(q.w);',
  'members that are written before they are read': 'const p = { v: a }, q = { v: a.mul(2) }; const best = a.greater(5) ? p : q; best.v = best.v.add(10); p.v = a; q.v = a; return p.v.add(q.v);',
  'a list that replaces another one': 'let l = [a]; if (a.greater(5)) l = [a.mul(3)]; l.push(a); return kn.stack(l);',
}; // prettier-ignore

for (const [what, text] of Object.entries(served)) {
  test(`${what}: results and gradients are those of eager code`, () => {
    assertAsEager(text);
  });
}
