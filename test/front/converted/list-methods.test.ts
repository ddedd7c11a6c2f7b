import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { outcome } from './lists/outcome.js';
import { fn, table } from './programs.js';

/* Methods of lists that collect rows: values and gradients are those of eager code. */

/** Four rows, of which a condition leaves out one, after one that is known. */
const some =
  'const l = [a]; for (const r of rows) { if (r.sum().less(5)) l.push(r.sum().mul(a)); }';

const programs: Readonly<Record<string, string>> = {
  spread: `${some} return kn.stack([...l]);`,
  'spread between others': `${some} return kn.stack([a, ...l, ...[a.mul(2)], ...l, a]);`,
  map: `${some} return kn.stack(l.map((x) => x.mul(x)));`,
  'map with the index': `${some} return kn.stack(l.map((x, i) => x.mul(i + 1))).add(l.length);`,
  'map that assigns': `${some} let s = a; const m = l.map((x) => { s = s.add(x); return s.mul(x); }); return kn.stack(m).add(s);`,
  'map that decides': `${some} return kn.stack(l.map((x) => (x.greater(9) ? x.mul(2) : x.neg())));`,
  forEach: `${some} let s = a; l.forEach((x, i) => { if (x.greater(0)) s = s.add(x.mul(i)); }); return s;`,
  reduce: `${some} return l.reduce((s, x) => s.mul(0.5).add(x), a);`,
  'reduce with the index': `${some} return l.reduce((s, x, i) => s.add(x.mul(i)), a);`,
  concat: `${some} const m = []; for (const r of rows) m.push(r.prod()); return kn.stack(l.concat(m, a, [a.mul(2)]));`,
  slice: `${some} return kn.concat([kn.stack(l.slice()), kn.stack(l.slice(1)), kn.stack(l.slice(-2)), kn.stack(l.slice(0, 1)), kn.stack(l.slice(0, -1))]);`,
  reverse: `${some} const m = l.toReversed(); l.push(a); l.reverse(); return kn.concat([kn.stack(l), kn.stack(m)]);`,
  pop: `${some} const x = l.pop(); l.push(a.mul(3)); return kn.stack(l).add(x).mul(l.length);`,
  'pop and push again': `${some} l.pop(); for (const r of rows) { if (r.sum().greater(5)) l.push(r.prod()); } return kn.stack(l).add(l.at(-1));`,
  'in a loop': `const m = []; for (const q of rows) { ${some} m.push(l.map((x) => x.mul(q.sum())).reduce((s, x) => s.add(x), a)); } return kn.stack(m);`,
  numbers: `const l = [1]; let n = 0; for (const r of rows) { n++; if (r.sum().less(5)) l.push(n); } return a.mul(l.map((x) => x * 2).reduce((s, x) => s + x, 0));`,
};

for (const [name, text] of Object.entries(programs)) {
  test(`${name}: as in eager code`, () => {
    const f = fn(text);
    const captured = kn.hybridize(f);
    for (const value of [9, 3]) {
      for (const count of [5, 3]) {
        const rows = table.slice([0, count]);
        assert.deepEqual(outcome(captured, value, rows), outcome(f, value, rows), `${value}, ${count}`); // prettier-ignore
      }
    }
  });
}

test('reduce wants a value to start from, and pop a row', () => {
  const reduced = kn.hybridize(fn(`${some} return l.reduce((s, x) => s.add(x));`));
  assert.throws(() => reduced(kn.array(3), table), { code: 'KAON_TRACE', problem: /l\.reduce has no value to start from/ }); // prettier-ignore
  const popped = kn.hybridize(fn('const l = []; for (const r of rows) { if (r.sum().less(a)) l.push(r.sum()); } return l.pop();')); // prettier-ignore
  assert.equal(popped(kn.array(3), table).item(), 1);
  assert.throws(() => popped(kn.array(-9), table), { name: 'CheckError', message: /l has no row -1/ }); // prettier-ignore
});

test('a test of a method is none of the language, and methods that change a list in a loop have advice', () => {
  const f = kn.hybridize(fn(`${some} return kn.stack(l.filter((x) => x.greater(3)));`));
  assert.throws(() => f(kn.array(3), table), { code: 'KAON_TRACE', advice: /kept\.push\(row\)/ });
  const g = kn.hybridize(fn('const l = [a]; for (const r of rows) { l.push(l.pop().add(r.sum())); } return kn.stack(l);')); // prettier-ignore
  assert.throws(() => g(kn.array(3), table), { code: 'KAON_TRACE', advice: /array of fixed size/ });
});
