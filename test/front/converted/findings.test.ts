import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { fn, table } from './programs.js';

/*
 * What tracing a construct has found out is kept while constructs around it are traced again: the body at a depth is
 * traced a number of times that grows no faster than the depth.
 */

const counts = new Map<number, number>();

Object.assign(globalThis, {
  noteTrace: (depth: number) => counts.set(depth, (counts.get(depth) ?? 0) + 1),
});

/** A loop or branch at a depth around others, each of which is traced more than once by itself. */
const kinds: Readonly<Record<string, (depth: number, inside: string) => string>> = {
  'loops that begin again': (k, inside) => `for (let i${k} = 0; i${k} < 2; i${k}++) { noteTrace(${k}); a = a.mul(0.75); if (a.less(${k})) break; ${inside} }`, // prettier-ignore
  'loops that return': (k, inside) => `let c${k} = a.mul(0); do { noteTrace(${k}); c${k} = c${k}.add(1); a = a.add(0.5); if (a.greater(${50 + k})) return a; ${inside} } while (c${k}.less(2));`, // prettier-ignore
  'members of an object from outside': (k, inside) => `let c${k} = a.mul(0); while (c${k}.less(2)) { noteTrace(${k}); c${k} = c${k}.add(1); if (a.less(${k})) set(o, a); ${inside} a = a.add(o.h).mul(0.5); }`, // prettier-ignore
  'numbers that become floats': (k, inside) => `let c${k} = a.mul(0); while (c${k}.less(2)) { noteTrace(${k}); c${k} = c${k}.add(1); ${inside} if (a.less(${k})) n = n + 0.5; else n++; a = a.add(n).mul(0.5); }`, // prettier-ignore
  'records that may be absent': (k, inside) => `let b${k} = null; for (const r of rows) { noteTrace(${k}); ${inside} if (b${k} === null || a.less(b${k}.v)) b${k} = { v: a.add(r.sum()) }; a = a.add(b${k}.v).mul(0.25); }`, // prettier-ignore
  'loops that draw': (k, inside) => `for (let i${k} = 0; i${k} < 2; i${k}++) { noteTrace(${k}); a = a.mul(0.75).add(kn.random.uniform([])); if (a.less(${k})) break; ${inside} }`, // prettier-ignore
  'loops that change what they do not show': (k, inside) => `for (let i${k} = 0; i${k} < 2; i${k}++) { noteTrace(${k}); a = a.mul(0.75); set(o, o.h.add(a)); if (a.less(${k})) break; ${inside} }`, // prettier-ignore
  'branches': (k, inside) => `if (a.less(${9 - k})) { noteTrace(${k}); a = a.add(0.125); set(o, a); n = n + 0.5; ${inside} } else { a = a.mul(0.5); n = 3; }`, // prettier-ignore
  'rows of lists': (k, inside) => `for (const r of rows) { noteTrace(${k}); a = a.add(r.sum()).mul(0.25); ${inside} if (l.length > ${k}) a = a.add(l.at(-1)).mul(0.5); ${k === 1 ? 'l.push(a);' : ''} }`, // prettier-ignore
};

for (const [name, make] of Object.entries(kinds)) {
  test(`${name}: traces of nests`, () => {
    const nest = (depth: number): string => {
      let text = '';
      for (let k = depth; k >= 1; k--) text = make(k, text);
      return `let n = 0; const l = [a], o = { h: a }; const set = (p, v) => { p.h = v; }; ${text} return a.add(n).add(o.h);`; // prettier-ignore
    };
    for (const depth of [1, 3, 5]) {
      const f = fn(nest(depth));
      counts.clear();
      const captured = kn.hybridize(f);
      captured.graphFor(kn.array(0.3), table);
      for (let k = 1; k <= depth; k++) {
        const traces = counts.get(k)!;
        assert.ok(traces >= 1 && traces <= 3 * k + 1, `depth ${k} of ${depth}: ${traces} traces`);
      }
      for (const value of [0.3, 4, -2]) {
        const [given, expected] = [captured, f].map((each) => {
          kn.random.seed(5);
          return each(kn.array(value), table).item();
        });
        assert.equal(given, expected);
      }
    }
  });
}
