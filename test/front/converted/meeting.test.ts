import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { converted } from '../../source/convert.js';

/*
 * Statements after which several paths may go on: what follows is traced on each of them while they are few, and
 * once where they are many.
 */

Object.assign(globalThis, { kn });

type Fn = (a: kn.NDArray) => kn.NDArray;
const fn = (text: string): Fn =>
  converted(`function main(a) { 'use graph';\n${text} }`) as unknown as Fn;

const repeated = (count: number, text: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => text(i)).join('\n');

/** Programs of a number of statements. */
const programs: Readonly<Record<string, (count: number) => string>> = {
  'branches that may return': (count) =>
    `let b = a; ${repeated(count, (i) => `if (b.greater(${i})) { if (b.greater(${3 * i + 40})) return b.add(${i}); b = b.add(1); } else b = b.add(2);`)} return b;`,
  'branches that return nothing of a variable': (count) =>
    `let b = a; ${repeated(count, (i) => `let y${i}; if (b.greater(${i})) { if (b.greater(${30 + i})) return b; y${i} = b.add(1); } else y${i} = b.mul(2); b = y${i};`)} return b;`,
  'switches that may return': (count) =>
    `let b = a; ${repeated(count, (i) => `switch (b.floor()) { case ${i}: b = b.add(1); break; case ${i + 1}: b = b.sub(1); break; case ${i + 7}: return b.mul(2); default: b = b.add(0.5); }`)} return b;`,
  'labels': (count) =>
    `let b = a; ${repeated(count, (i) => `x${i}: { if (b.greater(${2 * i})) { b = b.add(1); if (b.greater(${60 + i})) return b; break x${i}; } b = b.add(3); }`)} return b;`,
  'labels that loops inside of branches leave': (count) =>
    `let b = a; ${repeated(count, (i) => `x${i}: { if (b.less(${30 + i})) { for (const r of kn.stack([b, b])) { b = b.add(r).mul(0.5).add(${i + 1}); if (b.greater(3)) break x${i}; if (b.greater(${25 + i})) return b; } } b = b.add(0.5); }`)} return b;`,
  'switches that loops inside of branches leave': (count) =>
    `let b = a; ${repeated(count, (i) => `x${i}: switch (b.greater(2)) { case true: if (b.less(${30 + i})) { let c = b.mul(0); while (c.less(2)) { c = c.add(1); b = b.add(${i + 1}); if (b.greater(6)) break x${i}; if (b.greater(${25 + i})) return b; } } default: b = b.add(0.5); }`)} return b;`,
  'branches that break and continue': (count) =>
    `let b = a; while (b.less(200)) { ${repeated(count, (i) => `if (b.greater(${10 * i})) { if (b.greater(${190 - i})) break; b = b.add(1); if (b.less(${i})) continue; } else b = b.add(5);`)} b = b.mul(1.25).add(1); } return b;`,
  'branches that throw or return': (count) =>
    `let b = a; ${repeated(count, (i) => `if (b.greater(${i})) { if (b.greater(${40 + i})) throw new RangeError('at ${i}'); if (b.equal(${i + 0.5})) return b; b = b.add(1); }`)} return b;`,
}; // prettier-ignore

function outcome(f: Fn, value: number): unknown {
  const x = kn.array(value);
  x.attachGrad();
  try {
    const y = kn.autograd.record(() => f(x).mul(1));
    y.backward();
    return [y.item(), x.grad!.item()];
  } catch (error) {
    assert.ok(error instanceof RangeError, String(error));
    return error.message;
  }
}

for (const [name, program] of Object.entries(programs)) {
  test(`${name}: the results and gradients of eager code, for few and for many`, () => {
    for (const count of [2, 6]) {
      const f = fn(program(count));
      const captured = kn.hybridize(f);
      for (const value of [-3, 0.5, 2, 7.25, 38, 70]) {
        assert.deepEqual(outcome(captured, value), outcome(f, value), `${count}, ${value}`);
      }
    }
  });

  test(`${name}: the graph grows with the number of statements, not exponentially`, () => {
    const size = (count: number): number =>
      String(kn.hybridize(fn(program(count))).graphFor(kn.array(1))).split('\n').length;
    const [few, many] = [size(6), size(12)];
    // Twice the statements would have 64 times the lines.
    assert.ok(many < 6 * few, `${few} and ${many} lines`);
  });
}
