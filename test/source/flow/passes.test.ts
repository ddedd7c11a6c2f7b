import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BitSet } from '../../../src/source/flow/bits.js';
import {
  definiteAssignment,
  liveness,
  reachingDefinitions,
} from '../../../src/source/flow/passes.js';
import { flowOf, readsOf } from './facts.js';

/*
 * Facts derived by hand. A mention of `at1`, `at2` and so on is a place; the facts are those just after it.
 * Places themselves and names from outside are left out.
 */

const places = ['at1', 'at2', 'at3'];
const isPlace = (name: string): boolean => places.includes(name) || name === 'f';

type Facts = Readonly<Record<string, string>>;

function check(what: string, code: string, facts: Facts, of: (code: string) => Facts): void {
  test(what, () => {
    const found = of(`function main(p, q) {\n${code}\n}`);
    for (const [place, expected] of Object.entries(facts)) {
      assert.equal(found[place], expected, `${place} in\n${code}`);
    }
  });
}

function setFacts(
  code: string,
  solve: (parts: ReturnType<typeof flowOf>) => (id: number) => BitSet,
): Facts {
  const parts = flowOf(code);
  const at = solve(parts);
  const facts: Record<string, string> = {};
  for (const place of places) {
    for (const id of readsOf(parts.flow, place)) {
      const names = Array.from(at(id).members(), (bit) => parts.index.bindings[bit].name);
      facts[place] = names.filter((name) => !isPlace(name)).sort().join(' '); // prettier-ignore
    }
  }
  return facts;
}

const live = (code: string): Facts =>
  setFacts(code, ({ flow, index }) => {
    const { after } = liveness(flow, index);
    return (id) => after.get(id as never);
  });

const assigned = (code: string): Facts =>
  setFacts(code, ({ flow, index }) => {
    const { after } = definiteAssignment(flow, index);
    return (id) => after.get(id as never);
  });

/** The definitions that reach, as `name@line`; line 2 is the first of the code, 1 has the parameters. */
const reaching = (code: string): Facts => {
  const { flow } = flowOf(code);
  const { after, definitions } = reachingDefinitions(flow);
  const facts: Record<string, string> = {};
  for (const place of places) {
    for (const id of readsOf(flow, place)) {
      facts[place] = Array.from(after.get(id).members(), (bit) => {
        const { binding, node } = flow.graph.node(definitions[bit]);
        return `${binding!.name}@${node!.loc!.start.line}`;
      })
        .filter((name) => !name.startsWith('p@') && !name.startsWith('q@'))
        .sort()
        .join(' ');
    }
  }
  return facts;
};

const liveFacts: readonly (readonly [string, string, Facts])[] = [
  ['straight code', 'let x = p; at1; x = q; at2; return x;', { at1: 'q', at2: 'x' }],
  ['branches', 'let x = p, y = q; at1; if (x) { y = 1; at2; } return y;', { at1: 'x y', at2: 'y' }],
  ['a loop', 'let s = 0; at1; while (p) { s = s + q; at2; } at3; return s;', { at1: 'p q s', at2: 'p q s', at3: 's' }],
  ['a state of a loop only', 'let i = 0; at1; for (; i < p; i++) { at2; f(q); } at3;', { at1: 'i p q', at2: 'i p q', at3: '' }],
  ['break leaves the loop', 'let x = 0, y = 0; while (p) { if (q) { at1; break; } at2; x = y; } at3; return x;', { at1: 'x', at2: 'p q y', at3: 'x' }],
  ['continue goes to the update', 'let i = 0, s = 0; for (;; i++) { at1; if (p) continue; at2; s = i; }', { at1: 'i p', at2: 'i p' }],
  ['a labeled break', 'let x = 0; enclosing: while (p) { while (q) { at1; x = 1; break enclosing; } } at2; return x;', { at1: '', at2: 'x' }],
  ['do runs at least once', 'let x = 0; at1; do { x = p; at2; } while (q); return x;', { at1: 'p q', at2: 'p q x' }],
  ['fall-through', 'let x = 0; switch (p) { case 1: x = 1; at1; case 2: f(x); at2; break; default: at3; } return q;', { at1: 'q x', at2: 'q', at3: 'q' }],
  ['whatever may throw keeps what the handler reads', 'let x = 0; try { x = p; at1; f(); x = q; at2; } catch { return x; }', { at1: 'q x', at2: 'x' }],
  ['finally runs on the way out', 'let x = 0; try { at1; return p; } finally { at2; f(x); }', { at1: 'p x', at2: 'x' }],
  ['the right of && runs perhaps', 'let x = p; at1; q && (x = 1); at2; return x;', { at1: 'q x', at2: 'x' }],
  ['both arms of a conditional', 'let x; at1; p ? (x = 1) : (x = 2); at2; return x;', { at1: 'p', at2: 'x' }],
  ['an optional chain may stop', 'let x = 0; at1; p?.f(x = 1); at2; return x;', { at1: 'p x', at2: 'x' }],
  ['defaults of patterns', 'let x = 1; at1; let { a = x } = p; at2; return a;', { at1: 'p x', at2: 'a' }],
  ['compound assignment reads', 'let x = 1; at1; x += p; at2;', { at1: 'p x', at2: '' }],
  ['logical assignment may keep', 'let x = 1; at1; x ||= p; at2; return x;', { at1: 'p x', at2: 'x' }],
  ['inner names hide enclosing ones', 'let x = 1; { let x = 2; at1; f(x); } at2; return x;', { at1: 'x x', at2: 'x' }],
  ['for of binds each time', 'let r = 0; at1; for (const v of p) { at2; r = v; } at3; return r;', { at1: 'p r', at2: 'v', at3: 'r' }],
  ['a function declaration gives its name a value before the first statement only', 'at1; function g() {} at2; return g;', { at1: 'g', at2: 'g' }],
  ['assignment by destructuring', 'let a = 1, b = 2; at1; [a, b] = [b, a]; at2; return a;', { at1: 'a b', at2: 'a' }],
]; // prettier-ignore

const assignedFacts: readonly (readonly [string, string, Facts])[] = [
  ['one branch', 'let x = 1; var y; if (p) { y = 1; at1; } at2;', { at1: 'p q x y', at2: 'p q x' }],
  ['both branches', 'var y; if (p) y = 1; else y = 2; at1;', { at1: 'p q y' }],
  ['a loop may not run', 'var y; while (p) y = 1; at1;', { at1: 'p q' }],
  ['do does', 'var y; do y = 1; while (p); at1;', { at1: 'p q y' }],
  ['an endless loop ends by its breaks', 'var y; for (;;) { if (p) { y = 1; break; } } at1;', { at1: 'p q y' }],
  ['a switch with default', 'var y; switch (p) { case 1: y = 1; break; default: y = 2; } at1;', { at1: 'p q y' }],
  ['a switch without', 'var y; switch (p) { case 1: y = 1; } at1;', { at1: 'p q' }],
  ['try may stop before', 'var y, z; try { y = f(); z = 1; } catch { at1; } at2;', { at1: 'p q', at2: 'p q' }],
  ['finally always runs', 'var y; try { f(); } finally { y = 1; } at1;', { at1: 'p q y' }],
  ['what returns does not count', 'var y; if (p) return; else y = 1; at1;', { at1: 'p q y' }],
  ['functions are there first', 'at1; function g() {}', { at1: 'g p q' }],
]; // prettier-ignore

const reachingFacts: readonly (readonly [string, string, Facts])[] = [
  ['the last one', 'let x = 1;\nx = 2;\nat1;', { at1: 'x@3' }],
  ['either branch', 'let x = 1;\nif (p) {\nx = 2; }\nat1;', { at1: 'x@2 x@4' }],
  ['around a loop', 'let x = 1;\nwhile (p) { at1;\nx = 2; }\nat2;', { at1: 'x@2 x@4', at2: 'x@2 x@4' }],
  ['a continue', 'let x = 1;\nwhile (p) { at1;\nx = 2; if (q) continue;\nx = 3; }', { at1: 'x@2 x@4 x@5' }],
  ['a catch sees each', 'let x = 1;\ntry {\nx = 2; f();\nx = 3; f(); } catch { at1; }', { at1: 'x@2 x@4 x@5' }],
]; // prettier-ignore

for (const [what, code, facts] of liveFacts) check(`live: ${what}`, code, facts, live);
for (const [what, code, facts] of assignedFacts) {
  check(`definitely assigned: ${what}`, code, facts, assigned);
}
for (const [what, code, facts] of reachingFacts) check(`reaching: ${what}`, code, facts, reaching);
