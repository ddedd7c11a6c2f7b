import { test } from 'node:test';
import { toModule } from '../../../../src/artifact/index.js';
import * as kn from '../../../../src/index.js';
import { fromOnnx, toOnnx } from '../../../../src/onnx.js';
import { near } from '../../support.js';
import { fn, table } from '../programs.js';
import { outcome } from './outcome.js';

/* Loops that push any number of rows in each iteration of a loop around: they are joined. */

/** Programs that give an array of `a`, a number, and `rows`, of two columns. */
const programs: Readonly<Record<string, string>> = {
  'a while loop in rows':
    'const l = []; for (const r of rows) { let s = r.sum().mul(a).abs(); while (s.greater(1)) { s = s.div(2); l.push(s.mul(a)); } } return kn.stack(l);',
  'a while loop in a while loop':
    'const l = []; let t = a; while (t.greater(0.5)) { let s = t; while (s.greater(1)) { s = s.sub(1.5); l.push(s.mul(t)); } t = t.mul(0.6); } return kn.stack(l);',
  'rows of arrays':
    'const l = []; for (const r of rows) { let s = r.mul(a); while (s.mul(s).sum().greater(1)) { s = s.div(3); l.push(s); } } return kn.stack(l).mul(a);',
  'before, between and behind':
    'const l = [a]; l.push(a.mul(2)); for (const r of rows) { l.push(r.sum()); let s = r.sum().mul(a).abs(); while (s.greater(1)) { s = s.div(2); l.push(s); l.push(s.mul(a)); } l.push(s.mul(a)); } l.push(a.mul(3)); return kn.stack(l);',
  'two loops, one behind the other':
    'const l = []; for (const r of rows) { let s = r.sum().mul(a).abs(); while (s.greater(1)) { s = s.div(2); l.push(s); } l.push(a); while (s.less(3)) { s = s.add(1); l.push(s.mul(a)); } } return kn.stack(l);',
  'two lists':
    'const l = [], m = [], k = []; for (const r of rows) { let s = r.sum().mul(a).abs(); while (s.greater(1)) { s = s.div(2); l.push(s); if (s.greater(2)) m.push(s.mul(r)); } k.push(s); } return kn.concat([kn.stack(l), kn.stack(k), kn.stack(m).sum(1)]);',
  'conditions around and inside':
    'const l = []; for (const r of rows) { let s = r.sum().mul(a).abs(); if (s.less(40)) { while (s.greater(1)) { s = s.div(2); if (s.greater(2)) l.push(s); } } else l.push(s.mul(a)); } return kn.stack(l);',
  'three deep':
    'const l = []; for (const r of rows) { let t = r.sum().abs().add(a); while (t.greater(2)) { let s = t; while (s.greater(1)) { s = s.sub(2); l.push(s.mul(t)); } l.push(t); t = t.div(3); } } return kn.stack(l);',
  'a bounded loop around one that is not':
    'const l = []; for (let i = 0; i < 4; i++) { if (a.less(i)) break; let s = a.add(i); while (s.greater(1)) { s = s.div(2); l.push(s.mul(i + 1)); } } return kn.stack(l);',
  'the length inside and afterwards':
    'const l = [a]; for (const r of rows) { let s = r.sum().mul(a).abs(); while (s.greater(1)) { s = s.div(2); l.push(s.mul(l.length)); } } return kn.stack(l).mul(l.length);',
  'the last row':
    'const l = [a]; for (const r of rows) { let s = r.sum().mul(a).abs(); while (s.greater(1)) { s = s.div(2); l.push(s.add(l.at(-1).mul(0.5))); } } return kn.stack(l);',
  'more rows than there is memory for at first':
    'const l = [], m = [], k = []; for (const r of rows) { let s = r.sum().mul(a).abs().add(2); while (s.greater(1)) { s = s.mul(0.97); l.push(s); if (s.greater(1.5)) m.push(s.mul(r)); } k.push(s); } return kn.concat([kn.stack(l), kn.stack(k), kn.stack(m).sum(1)]);',
  numbers:
    'const l = []; let n = 0; for (const r of rows) { let s = r.sum().mul(a).abs(); while (s.greater(1)) { s = s.div(2); n++; l.push(n * 0.5); } } return kn.stack(l).mul(a);',
  'break, continue and labels':
    'const l = []; outer: for (const r of rows) { let s = r.sum().mul(a).abs(); while (s.greater(1)) { s = s.div(2); if (s.greater(20)) continue; l.push(s.mul(a)); if (l.length > 12) break outer; if (s.less(2)) continue outer; } l.push(s); } return kn.stack(l);',
  return:
    'const l = []; for (const r of rows) { let s = r.sum().mul(a).abs(); while (s.greater(1)) { s = s.div(2); l.push(s.mul(a)); if (l.length > 9) return s.reshape([1]); } } return kn.stack(l).sum().reshape([1]);',
  'rows that the next loop reads':
    'const l = []; for (const r of rows) { let s = r.sum().mul(a).abs(); while (s.greater(1)) { s = s.div(2); l.push(s); } } let sum = a; for (const row of l) sum = sum.mul(0.5).add(row); return sum.reshape([1]);',
  'a list in an object':
    'const s = { l: [], h: a }; for (const r of rows) { s.h = r.sum().mul(a).abs(); while (s.h.greater(1)) { s.h = s.h.div(2); s.l.push(s.h); } } return kn.stack(s.l).mul(s.h);',
};

for (const [name, text] of Object.entries(programs)) {
  test(`${name}: rows and gradients are those of eager code`, () => {
    const f = fn(text);
    const captured = kn.hybridize(f);
    for (const [value, count] of [[9, 5], [3, 1], [40, 3]]) {
      const rows = table.slice([0, count]);
      const [actual, expected] = [captured, f].map((each) => outcome(each, value, rows));
      for (const part of ['shape', 'y', 'a', 'rows'] as const) near(actual[part], expected[part]);
    } // prettier-ignore
  });
}

interface Module {
  run(feeds: Readonly<Record<string, Float32Array>>): Readonly<Record<string, { readonly data: ArrayLike<number> }>>; // prettier-ignore
}

test('rows and gradients of graphs that leave the process', async () => {
  for (const [name, text] of Object.entries(programs)) {
    const f = fn(text);
    const sum = (a: kn.NDArray, rows: kn.NDArray): kn.NDArray => {
      const y = f(a, rows);
      return y.mul(y).sum();
    };
    const given = kn.hybridize((a: kn.NDArray, rows: kn.NDArray) => [sum(a, rows), ...kn.grad(sum, [0, 1])(a, rows)]); // prettier-ignore
    const graph = given.graphFor(kn.array(9), table);
    const [first, second] = graph.inputNames;
    const saved = kn.StaticGraph.fromJSON(JSON.stringify(graph.toJSON()));
    const model = fromOnnx(toOnnx(graph));
    const module = (await import(
      `data:text/javascript,${encodeURIComponent(`${toModule(graph)}\n// ${name}`)}`
    )) as Module;
    for (const value of [9, 40]) {
      const a = kn.array(value);
      const expected = [sum(a, table), ...kn.grad(sum, [0, 1])(a, table)].map((each) => each.flatten().tolist()); // prettier-ignore
      const listsOf = (made: Readonly<Record<string, kn.NDArray>>): unknown => Object.values(made).map((each) => each.flatten().tolist()); // prettier-ignore
      for (const each of [graph, saved]) near(listsOf(each.run({ [first]: a, [second]: table })), expected); // prettier-ignore
      near(listsOf(model.run({ [model.inputNames[0]]: a, [model.inputNames[1]]: table })), expected); // prettier-ignore
      const feeds = { [first]: Float32Array.of(value), [second]: Float32Array.from(table.flatten().tolist() as number[]) }; // prettier-ignore
      near(Object.values(module.run(feeds)).map(({ data }) => Array.from(data)), expected); // prettier-ignore
    }
  }
});
