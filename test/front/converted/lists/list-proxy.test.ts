import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fn, table } from '../programs.js';
import { outcome } from './outcome.js';

/* Lists collect rows wherever they are made and kept. */

const programs: Readonly<Record<string, string>> = {
  'lists in a list':
    'const l = [[], [a]]; for (const r of rows) { l[0].push(r.sum()); if (r.sum().less(4)) l[1].push(r.prod().mul(a)); } return kn.concat([kn.stack(l[0]), kn.stack(l[1])]);',
  'lists by the index of a host loop':
    'const l = [[a], [a], [a]]; for (let i = 0; i < 3; i++) for (const r of rows) { if (r.sum().less(i * 4)) l[i].push(r.sum()); } return kn.concat(l.map((x) => kn.stack(x)));',
  'lists in records in a list':
    'const l = [{ t: [a], s: a }, { t: [a.mul(2)], s: a.neg() }]; for (const r of rows) for (const b of l) { b.t.push(b.s.add(r.sum())); b.s = b.s.mul(0.5); } return kn.stack(l[0].t).add(kn.stack(l[1].t)).add(l[1].s);',
  'lists that a function makes':
    'const l = Array.from({ length: 2 }, () => []); const make = () => { return []; }; const m = make(); for (const r of rows) { l[0].push(r.sum()); l[1].push(r.prod()); m.push(r.sum()); } return kn.stack(l[0]).add(kn.stack(l[1])).mul(kn.stack(m).sum());',
  'another name':
    'const l = [a]; const m = l; for (const r of rows) m.push(r.sum()); return kn.stack(l).add(kn.stack(m));',
  assignments:
    'let l; l = []; for (const r of rows) l.push(r.sum()); const m = kn.stack(l); l = []; for (const r of rows) l.push(r.prod()); return m.add(kn.stack(l)).mul(a);',
  'logical assignments and choices':
    'let l = null; l ??= []; const m = a.ndim === 0 ? [] : null; const o = {}; for (const r of rows) { l.push(r.sum()); m.push(r.prod()); } o.x ||= kn.stack(m); return kn.stack(l).mul(a).add(o.x);',
  'fields and private fields of classes':
    'class C { l = [a]; #m = []; constructor() { this.k = []; } add(x) { this.l.push(x); this.#m.push(x); if (x.less(4)) this.k.push(x); } all() { return kn.stack(this.l).sum().add(kn.stack(this.#m).mean()).add(this.k.length); } } const c = new C(); for (const r of rows) c.add(r.sum()); return c.all();',
  'lists that are pushed to lists':
    'const all = [], records = []; for (let i = 0; i < 2; i++) { all.push([]); records.push({ l: [a] }); } for (const r of rows) for (let i = 0; i < 2; i++) { all[i].push(r.sum().mul(i + 1)); records[i].l.push(r.prod()); } return kn.concat([kn.stack(all[0]), kn.stack(all[1]), kn.stack(records[1].l)]);',
  'members by computed keys':
    "const o = {}; for (const k of ['x', 'y']) o[k] = []; for (const r of rows) { o.x.push(r.sum()); o.y.push(r.prod().mul(a)); } return kn.stack(o.x).add(kn.stack(o.y));",
};

for (const [name, text] of Object.entries(programs)) {
  test(`${name}: rows and gradients are those of eager code`, () => {
    const f = fn(text);
    const captured = kn.hybridize(f);
    for (const [value, count] of [
      [9, 5],
      [3, 2],
    ] as const) {
      // prettier-ignore
      const rows = table.slice([0, count]);
      assert.deepEqual(outcome(captured, value, rows), outcome(f, value, rows), `${value}, ${count}`); // prettier-ignore
    }
  });
}
