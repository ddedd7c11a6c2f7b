import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { converted } from '../../../source/convert.js';

Object.assign(globalThis, { kn });

/** A converted function of a sequence `x`. */
const fn = (text: string): ((x: kn.NDArray) => kn.NDArray) =>
  converted(`function main(x) { 'use graph';\n${text} }`) as unknown as (
    x: kn.NDArray,
  ) => kn.NDArray;

/** Result and gradient of a function. */
function outcome(f: (x: kn.NDArray) => kn.NDArray, x: kn.NDArray): unknown {
  x.attachGrad();
  const y = kn.autograd.record(() => f(x).mul(1));
  y.backward();
  return { y: y.tolist(), x: x.grad!.tolist() };
}

/** Code that calculates with a size, and from which size on one trace serves all. */
const programs: readonly (readonly [name: string, text: string, from: number])[] = [
  ['a loop up to a size', 'let s = x.sum().mul(0); for (let i = 0; i < x.shape[0]; i++) s = s.mul(0.5).add(x.slice(i)); return s;', 2],
  ['a loop down from a size', 'let s = x.sum().mul(0); for (let i = x.shape[0] - 1; i >= 0; i--) s = s.mul(0.5).add(x.slice(i)); return s;', 3],
  ['a size of sizeOf', 'let s = x.sum().mul(0); let i = kn.sizeOf(x, 0); while (i > 0) { i--; s = s.mul(0.5).add(x.slice(i)); } return s;', 3],
  ['half of a size', 'const half = Math.floor(x.shape[0] / 2); let s = x.sum(); for (let i = 0; i < half; i++) s = s.add(x.slice(i)); return s;', 3],
  ['rows of a loop down from a size', 'const rows = []; let a = x.sum().mul(0); for (let i = x.shape[0] - 1; i >= 0; i--) { a = a.mul(0.5).add(x.slice(i)); rows.push(a); } return kn.stack(rows).flip(0);', 3],
  ['a test of a size', 'const n = x.shape[0]; return x.sum().mul(n > 4 ? n + 1 : -n);', 6],
  ['a number that is an extent', 'const n = x.shape[0]; return kn.concat([x, kn.ones([2 * n - 3])]).mul(Math.max(n, 5));', 8],
  ['a size in an object that a loop changes', 'const state = { n: x.shape[0], s: x.sum().mul(0) }; while (state.n > 0) { state.n -= 1; state.s = state.s.mul(0.5).add(x.slice(state.n)); } return state.s;', 3],
  ['an integer or a size', 'const n = x.shape[0]; let k = 5; if (n < 5) k = n; const m = n > 4 ? 4 : n; return x.sum().mul(k).add(m % 3);', 6],
  ['a loop in a loop', 'let s = x.sum().mul(0); for (let i = 0; i < x.shape[0]; i++) for (let j = 0; j <= i; j += 2) s = s.add(x.slice(i).mul(x.slice(j))); return s;', 3],
  ['halves of a size', 'let n = x.shape[0]; let s = x.sum(); while (n > 1) { n = Math.floor(n / 2); s = s.add(x.slice(n)); } return s;', 3],
  ['bits and remainders', 'const n = x.shape[0]; return x.sum().mul(-n).add(n | 0).add(n >> 1).add(n % 3).add(n / 2);', 4],
  ['a range down from a size', 'const n = x.shape[0]; return x.mul(kn.arange(n, 0, -1)).sum().add(kn.arange(n).sum()).add(kn.arange(2, n + 2, 2).sum());', 4],
  ['typeof of a size', "return x.mul(typeof x.shape[0] === 'number' ? 2 : 3);", 2],
  ['a size as an element', 'const n = x.shape[0]; return x.sum().mul(kn.array([n, 2, n - 1])).add(kn.array(n));', 3],
]; // prettier-ignore

for (const [name, text, from] of programs) {
  test(`${name}: one program for all lengths, with the results of eager code`, () => {
    const f = fn(text);
    const captured = kn.hybridize(f, { dynamic: [['n']] });
    for (const length of [9, 11, 2, 8, 3, 14]) {
      const x = kn.arange(length).add(1).div(4);
      assert.deepEqual(outcome(captured, x.mul(1)), outcome(f, x.mul(1)), `length ${length}`);
    }
    // A size that the code has as a number elsewhere has a trace of its own.
    const large = kn.hybridize(f, { dynamic: [['n']] });
    for (const length of [9, 11, 8, 14]) if (length >= from) large(kn.arange(length));
    assert.equal(large.explain().traces.length, 1);
  });
}

test('a size that code without conversion compares has a trace of its own', () => {
  const isNine = (n: number): boolean => n === 9;
  Object.assign(globalThis, { isNine });
  try {
    const f = fn('return isNine(x.shape[0]) ? x.mul(2) : x.mul(x.shape[0] + 1);');
    const captured = kn.hybridize(f, { dynamic: [['n']] });
    for (const [length, expected] of [[8, 9], [9, 2], [7, 8], [9, 2]]) assert.equal(captured(kn.ones([length!])).slice(0).item(), expected); // prettier-ignore
  } finally {
    delete (globalThis as { isNine?: unknown }).isNine;
  }
});

test('an index of a host list equals a size: that size has a trace of its own', () => {
  const f = fn('const list = [5, 6, 7, 8]; let s = x.sum(); for (let k = 1; k < 4; k++) s = s.add(list[k]); for (let i = 0; i < x.shape[0]; i++) s = s.add(x.slice(i)); return s;'); // prettier-ignore
  const captured = kn.hybridize(f, { dynamic: [['n']] });
  for (const length of [6, 3, 4, 2, 7]) assert.equal(captured(kn.ones([length])).item(), 21 + 2 * length); // prettier-ignore
});

test('an integer or a size, which one a size decides, is an integer: a bound of a slice', () => {
  const f = fn('const n = x.shape[0]; let k = 5; if (n < 5) k = n; return x.slice([0, k]).mul(2);');
  const captured = kn.hybridize(f, { dynamic: [['n']] });
  for (const length of [9, 4, 5, 6, 1]) {
    assert.deepEqual(outcome(captured, kn.arange(length)), outcome(f, kn.arange(length)));
  }
});

test('a loop whose body uses several arrays and a size is one program for all lengths', () => {
  const scan = converted(`function main(x, w, limit) { 'use graph';
    let a = x.slice(':', 0);
    for (let t = 1; t < x.shape[1]; t++) a = kn.where(limit.greater(t).expandDims(1), a.matmul(w).add(x.slice(':', t)), a);
    return a; }`) as unknown as (...args: kn.NDArray[]) => kn.NDArray; // prettier-ignore
  const captured = kn.hybridize(scan, { dynamic: [['b', 't', null], null, ['b']] });
  const w = kn.array([[1, 2], [0, -1]]); // prettier-ignore
  for (const [b, t] of [
    [3, 7],
    [2, 5],
    [3, 9],
  ] as const) {
    const given = [kn.arange(b * t * 2).reshape([b, t, 2]), w, kn.arange(b).add(t - 2)] as const;
    assert.deepEqual(captured(...given).tolist(), scan(...given).tolist());
  }
  assert.equal(captured.explain().traces.length, 1);
});
