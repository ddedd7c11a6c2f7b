import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { assertClose } from '../support/close.js';
import { converted, original } from './convert.js';

/*
 * Laws 2 and 3: the same source on host numbers (through a plain stand-in for arrays), on eager arrays, in
 * captured code, with gradients against finite differences.
 */

interface Classic {
  readonly code: string;
  /** What the function is in plain mathematics. */
  readonly plain: (x: number) => number;
  readonly inputs: readonly number[];
  readonly dtype?: 'float64' | 'int32';
  /** Inputs at which the function is smooth, for finite differences. */
  readonly smooth?: readonly number[];
}

const classics: Readonly<Record<string, Classic>> = {
  'Newton’s method': {
    code: `let x = a;
      while (x.mul(x).sub(a).abs().greater(1e-9)) x = x.add(a.div(x)).mul(0.5);
      return x;`,
    plain: Math.sqrt,
    inputs: [2, 9, 0.3],
    smooth: [2, 9],
  },
  'Collatz steps': {
    code: `let count = 0;
      while (a.greater(1)) {
        if (a.mod(2).equal(0)) a = a.floorDivide(2);
        else a = a.mul(3).add(1);
        count++;
      }
      return a.mul(count);`,
    plain: (n) => {
      let count = 0;
      for (let at = n; at > 1; at = at % 2 === 0 ? at / 2 : 3 * at + 1) count++;
      return count;
    },
    inputs: [1, 7, 27],
    dtype: 'int32',
  },
  bisection: {
    code: `let lo = a.mul(0), hi = a.add(1);
      for (let i = 0; i < 40; i++) {
        const mid = lo.add(hi).mul(0.5);
        if (mid.mul(mid).less(a)) lo = mid;
        else hi = mid;
      }
      return lo;`,
    plain: Math.sqrt,
    inputs: [2, 0.5],
  },
  'greatest common divisor': {
    code: `let b = a.mul(0).add(36);
      while (b.notEqual(0)) [a, b] = [b, a.mod(b)];
      return a;`,
    plain: (n) => {
      let [a, b] = [n, 36];
      while (b !== 0) [a, b] = [b, a % b];
      return a;
    },
    inputs: [48, 17, 36],
    dtype: 'int32',
  },
  'power iteration': {
    code: `let v = kn.stack([a, a.add(1)]);
      const m = kn.array([[2, 1], [1, 3]], { dtype: 'float64' });
      let change = a.mul(0).add(1);
      do {
        const w = m.matmul(v);
        const next = w.div(w.square().sum().sqrt());
        change = next.sub(v).abs().sum();
        v = next;
      } while (change.greater(1e-12));
      return v.mul(m.matmul(v)).sum();`,
    plain: () => (5 + Math.sqrt(5)) / 2,
    inputs: [1, 3],
  },
  'early returns': {
    code: `if (a.greater(3)) return a.mul(2);
      const y = a.add(1);
      if (y.less(0)) return y.neg();
      return y.square();`,
    plain: (x) => (x > 3 ? 2 * x : x + 1 < 0 ? -x - 1 : (x + 1) ** 2),
    inputs: [5, 1, -4],
    smooth: [5, 1, -4],
  },
  'break and continue': {
    code: `let s = a.mul(0);
      for (let i = 0; i < 10; i++) {
        if (s.greater(20)) break;
        if (a.less(i)) continue;
        s = s.add(a.mul(i));
      }
      return s;`,
    plain: (x) => {
      let s = 0;
      for (let i = 0; i < 10 && s <= 20; i++) if (x >= i) s += x * i;
      return s;
    },
    inputs: [5, 1, 2.5, -4],
    smooth: [2.5],
  },
  'return from an endless loop': {
    code: `let s = a;
      while (true) {
        s = s.mul(2);
        if (s.greater(100)) return s.neg();
        if (s.less(-100)) break;
      }
      return s;`,
    plain: (x) => {
      let s = x;
      while (Math.abs(s) <= 100) s *= 2;
      return s > 100 ? -s : s;
    },
    inputs: [5, 1, -2.5],
    smooth: [5, -2.5],
  },
  'numbers that loops assign': {
    code: `let n = 0, flag = false;
      while (a.greater(1)) {
        a = a.div(2);
        n += 2;
        flag = !flag;
      }
      const m = flag ? n % 3 : n ** 2;
      return a.mul(n + 1).add(-m / 2).add(flag && n > 2 ? 10 : 20);`,
    plain: (x) => {
      let [a, n, flag] = [x, 0, false];
      while (a > 1) [a, n, flag] = [a / 2, n + 2, !flag];
      return a * (n + 1) - (flag ? n % 3 : n ** 2) / 2 + (flag && n > 2 ? 10 : 20);
    },
    inputs: [5, 1, 0.5, 33],
    smooth: [5, 33],
  },
  'logic between arrays': {
    code: `return (a.greater(1) && a.less(4)) || a.equal(7) ? a.mul(2) : !a.less(10) ? a.neg() : a;`,
    plain: (x) => ((x > 1 && x < 4) || x === 7 ? 2 * x : x >= 10 ? -x : x),
    inputs: [0, 2, 5, 7, 12],
    smooth: [0, 2, 5, 12],
  },
  'a switch with fall-through': {
    code: `let y = a;
      switch (a) {
        case 1: y = y.add(10);
        case 2: y = y.add(100); break;
        default: y = y.mul(0);
        case 3: y = y.add(5);
      }
      return y;`,
    plain: (x) => ({ 1: 111, 2: 102, 3: 8 })[x] ?? 5,
    inputs: [1, 2, 3, 4],
  },
  'rows of an array': {
    code: `let s = a.mul(0);
      for (const row of kn.stack([a, a.mul(2), a.mul(3)])) {
        if (row.greater(7)) break;
        if (row.less(0)) continue;
        s = s.add(row);
      }
      return s;`,
    plain: (x) => {
      let s = 0;
      for (const row of [x, 2 * x, 3 * x]) {
        if (row > 7) break;
        if (row >= 0) s += row;
      }
      return s;
    },
    inputs: [1, 3, 5, 8, -1],
    smooth: [1, 3, 8],
  },
  'labels across loops': {
    code: `let s = a;
      enclosing: while (s.less(100)) {
        let k = a;
        while (k.greater(0)) {
          k = k.sub(1);
          s = s.add(k.mul(k)).add(1);
          if (s.greater(50)) break enclosing;
          if (k.less(2)) continue enclosing;
        }
        s = s.add(1);
      }
      return s;`,
    plain: (x) => {
      let s = x;
      enclosing: while (s < 100) {
        let k = x;
        while (k > 0) {
          k--;
          s += k * k + 1;
          if (s > 50) break enclosing;
          if (k < 2) continue enclosing;
        }
        s++;
      }
      return s;
    },
    inputs: [1, 3, 5],
  },
  'a labeled block left from inside a loop': {
    code: `let s = a;
      found: {
        for (let i = 0; i < 4; i++) {
          s = s.add(i);
          if (s.greater(6)) break found;
        }
        s = s.mul(-1);
      }
      return s.add(100);`,
    plain: (x) => {
      let s = x;
      for (let i = 0; i < 4; i++) {
        s += i;
        if (s > 6) return s + 100;
      }
      return 100 - s;
    },
    inputs: [1, 0, 4, 9],
    smooth: [1, 9],
  },
  'objects that a loop changes': {
    code: `const state = { h: a, list: [a] };
      while (state.h.less(10)) {
        state.h = state.h.mul(2);
        if (state.h.greater(5)) state.list[0] = state.list[0].add(state.h);
      }
      return state.list[0];`,
    plain: (x) => {
      let [h, sum] = [x, x];
      while (h < 10) {
        h *= 2;
        if (h > 5) sum += h;
      }
      return sum;
    },
    inputs: [1, 3, 15],
    smooth: [1, 3, 15],
  },
  'a host list left early': {
    code: `let s = a;
      for (const k of [1, 2, 3]) {
        if (s.greater(10)) break;
        s = s.mul(k + 1);
      }
      return s;`,
    plain: (x) => {
      let s = x;
      for (const k of [1, 2, 3]) if (s <= 10) s *= k + 1;
      return s;
    },
    inputs: [1, 3, 15],
    smooth: [1, 3, 15],
  },
  'functions inside': {
    code: `const relu = (v) => (v.greater(0) ? v : v.mul(0));
      function clamp(v) {
        if (v.greater(4)) return v.mul(0).add(4);
        return v;
      }
      return clamp(relu(a)).add(relu(a.neg()));`,
    plain: (x) => Math.min(Math.max(x, 0), 4) + Math.max(-x, 0),
    inputs: [-2, 1, 9],
    smooth: [-2, 1, 9],
  },
  'assignments inside tests': {
    code: `let y = a, z = a;
      while ((y = y.mul(0.5)).greater(1) && (z = z.add(1)).less(12)) z = z.add(y);
      return z.add(y);`,
    plain: (x) => {
      let [y, z] = [x, x];
      while ((y *= 0.5) > 1 && (z += 1) < 12) z += y;
      return z + y;
    },
    inputs: [1, 7, 9, 30],
    smooth: [7, 30],
  },
  'a list that an iteration fills': {
    code: `while (a.less(20)) {
        const parts = [], seen = new Set();
        for (const k of [1, 2, 3]) {
          parts.push(a.mul(k));
          seen.add(k);
        }
        a = kn.stack(parts).sum().mul(seen.size / 3);
      }
      return a;`,
    plain: (x) => {
      let a = x;
      while (a < 20) a *= 6;
      return a;
    },
    inputs: [1, 4, 25],
    smooth: [1, 4, 25],
  },
  'what one path alone needs': {
    code: `let t = 0;
      if (a.greater(1)) { t = 1; a = a.add(t); } else { a = a.sub(t); }
      return a;`,
    plain: (x) => (x > 1 ? x + 1 : x),
    inputs: [0, 2],
    smooth: [0, 2],
  },
};

// The code that is put together finds the library by this name.
Object.assign(globalThis, { kn });

type OfArray = (a: kn.NDArray) => kn.NDArray;

for (const [name, { code, plain, inputs, dtype = 'float64', smooth = [] }] of Object.entries(
  classics,
)) {
  const source = `function main(a) { 'use graph';\n${code}\n}`;

  test(`${name}: eager arrays and captured code`, () => {
    const f = converted(source) as unknown as OfArray;
    const hybrid = kn.hybridize(f);
    for (const input of inputs) {
      const x = (): kn.NDArray => kn.array(input, { dtype });
      const expected = plain(input);
      const tolerance = 1e-6;
      assertClose([Number(f(x()).item())], [expected], tolerance);
      assertClose([Number(hybrid(x()).item())], [expected], tolerance);
      assertClose([Number(kn.deferredCompute(() => f(x())).item())], [expected], tolerance);
    }
    // One graph serves them all: nothing of a value is in it.
    assert.equal(hybrid.explain().traces.length, 1);
  });

  if (smooth.length === 0) continue;
  test(`${name}: gradients`, () => {
    const f = converted(source) as unknown as OfArray;
    for (const g of [f, kn.hybridize(f)]) {
      for (const input of smooth) {
        const x = kn.array(input, { dtype: 'float64' });
        x.attachGrad();
        // A path may return the argument itself, which no call has made.
        kn.autograd.record(() => g(x).mul(1)).backward();
        const h = 1e-5;
        const slope = (plain(input + h) - plain(input - h)) / (2 * h);
        assertClose([Number(x.grad!.item())], [slope], 1e-4);
      }
    }
  });
}

test('gradients of gradients go through loops and returns from them', () => {
  const code = `function main(a) { 'use graph';
    let s = a;
    while (true) {
      s = s.mul(a);
      if (s.greater(100)) return s.neg();
    }
  }`;
  const f = converted(code) as unknown as OfArray;
  // From 2.2 on the sixth power is the first above 100.
  const expected = -6 * 5 * 2.2 ** 4;
  for (const g of [f, kn.hybridize(f)]) {
    const second = kn.grad(kn.grad(g))(kn.array(2.2, { dtype: 'float64' }));
    assertClose([Number(second.item())], [expected], 1e-9);
  }
});

test('a test is one bool, in eager and captured code', () => {
  const f = converted(
    `function main(a) { 'use graph'; if (a) return 1; return 2 }`,
  ) as unknown as OfArray;
  assert.equal(f(kn.array([[true]])), 1);
  assert.equal(f(kn.array(false)), 2);
  for (const g of [f, (a: kn.NDArray) => kn.deferredCompute(() => f(a))]) {
    assert.throws(() => g(kn.array(1)), kn.DTypeError);
    assert.throws(() => g(kn.array([true, false])), kn.ShapeError);
  }
});

test('rows go over the first axis', () => {
  const f = converted(
    `function main(a) { 'use graph'; const s = []; for (const r of a) s.push(r.tolist()); return s }`,
  ) as unknown as (a: kn.NDArray) => unknown;
  assert.deepEqual(f(kn.array([[1, 2], [3, 4]])), [[1, 2], [3, 4]]); // prettier-ignore
  assert.deepEqual(f(kn.zeros([0, 2])), []);
  assert.throws(() => f(kn.array(1)), kn.ShapeError);
});

test('a function that is not converted is left alone', () => {
  const code = `function main(a) { return a ? 1 : 2 }`;
  assert.equal(original(code)(kn.array(false) as never), 1);
  assert.throws(() => converted(code));
});
