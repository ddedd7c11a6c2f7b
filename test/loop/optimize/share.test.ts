import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { interpret } from '../../../src/loop/interpret/interpret.js';
import * as e from '../../../src/loop/language/build.js';
import type { Expr, Stmt } from '../../../src/loop/language/nodes.js';
import { children, ownExprs, ownStmts } from '../../../src/loop/language/visit.js';
import { parseKernel } from '../../../src/loop/language/parse.js';
import { share } from '../../../src/loop/optimize/share.js';
import { kernelText } from '../../../src/loop/language/text.js';
import { assertBecomes } from '../before-after.js';

describe('share', () => {
  it('computes a repeated expression once and an invariant one outside all loops', () => {
    assertBecomes(
      share,
      `
      kernel k(o: f32[], n: i32, s: f32) {
        for i in 0..n {
          for j in 0..n {
            o[i * n + j] = (s * 2.0 + f32(j)) * (s * 2.0 + f32(j)) + f32(n)
          }
        }
      }`,
      `
      kernel k(o: f32[], n: i32, s: f32) {
        let t = s * 2.0
        let t_1 = f32(n)
        for i in 0..n {
          let t_2 = i * n
          for j in 0..n {
            let t_3 = t + f32(j)
            o[t_2 + j] = t_3 * t_3 + t_1
          }
        }
      }`,
    );
  });

  it('leaves a vector that is loaded behind a loop that would have to hold it', () => {
    assertBecomes(
      share,
      `
      kernel k(o: f32[], x: f32[], s: f32) {
        for i in 0..4 {
          let sum = x4(0.0)
          for k in 0..9 {
            sum = sum + x4(x[k])
          }
          o[ramp(i * 4, 1, 4)] = sum + x[ramp(9, 1, 4)] * x4(x[13])
        }
        for i in 0..4 {
          for j in 0..4 {
            o[ramp(i * 4 + j, 1, 4)] = x[ramp(9, 1, 4)]
          }
        }
      }`,
      `
      kernel k(o: f32[], x: f32[], s: f32) {
        let t = x[13]
        for i in 0..4 {
          let sum = x4(0.0)
          for k in 0..9 {
            sum = sum + x4(x[k])
          }
          o[ramp(i * 4, 1, 4)] = sum + x[ramp(9, 1, 4)] * x4(t)
        }
        let t_1 = x[ramp(9, 1, 4)]
        for i_1 in 0..4 {
          let t_2 = i_1 * 4
          for j in 0..4 {
            o[ramp(t_2 + j, 1, 4)] = t_1
          }
        }
      }`,
    );
  });

  it('guards a loop when it takes a load out of it', () => {
    assertBecomes(
      share,
      `
      kernel k(o: f32[], x: f32[], n: i32) {
        for i in 0..n {
          o[i] = x[3] * 2.0
        }
        for i in 0..4 {
          o[i] = x[4]
        }
      }`,
      `
      kernel k(o: f32[], x: f32[], n: i32) {
        if (0 < n) {
          let t = x[3] * 2.0
          for i in 0..n {
            o[i] = t
          }
        }
        let t_1 = x[4]
        for i_1 in 0..4 {
          o[i_1] = t_1
        }
      }`,
    );
  });

  it('keeps loads on their side of stores', () => {
    assertBecomes(
      share,
      `
      kernel k(o: f32[], x: f32[], n: i32) {
        o[0] = o[1] + x[1]
        o[1] = o[1] * x[1]
        o[2] = o[1]
        for i in 0..n {
          o[3] = o[3] + 1.0
        }
      }`,
      `
      kernel k(o: f32[], x: f32[], n: i32) {
        let t = x[1]
        o[0] = o[1] + t
        o[1] = o[1] * t
        o[2] = o[1]
        for i in 0..n {
          o[3] = o[3] + 1.0
        }
      }`,
    );
  });

  it('keeps a local that holds what memory held', () => {
    assertBecomes(
      share,
      `
      kernel k(o: f32[]) {
        let a = o[0]
        o[0] = o[1]
        o[1] = a
        let m = 1.0
        let old = m
        m = m + 1.0
        o[2] = old + m
      }`,
      `
      kernel k(o: f32[]) {
        let a = o[0]
        o[0] = o[1]
        o[1] = a
        let m = 1.0
        let old = m
        m = m + 1.0
        o[2] = old + m
      }`,
    );
  });

  it('neither loads nor divides where the program might not have', () => {
    assertBecomes(
      share,
      `
      kernel k(o: i32[], x: i32[], n: i32, m: i32) {
        for i in 0..n {
          if (m != 0) {
            o[i] = n / m + x[m] + n * m
          }
          while (o[i] > 3) {
            o[i] = o[i] - n / m
          }
        }
      }`,
      `
      kernel k(o: i32[], x: i32[], n: i32, m: i32) {
        let t = m != 0
        let t_1 = n * m
        for i in 0..n {
          if (t) {
            o[i] = n / m + x[m] + t_1
          }
          while (o[i] > 3) {
            o[i] = o[i] - n / m
          }
        }
      }`,
    );
  });

  it('reuses what an outer scope has computed, never what a sibling has', () => {
    assertBecomes(
      share,
      `
      kernel k(o: f32[], s: f32, n: i32) {
        if (n > 0) {
          o[0] = sqrt(s)
        }
        o[1] = sqrt(s)
        if (n > 1) {
          o[2] = sqrt(s)
        }
      }`,
      `
      kernel k(o: f32[], s: f32, n: i32) {
        if (n > 0) {
          o[0] = sqrt(s)
        }
        let t = sqrt(s)
        o[1] = t
        if (n > 1) {
          o[2] = t
        }
      }`,
    );
  });

  it('leaves ramps and constant offsets where printers look for them', () => {
    assertBecomes(
      share,
      `
      kernel k(o: f32[], x: f32[], n: i32) {
        for i in 0..n step 4 {
          o[ramp(n * i + 4, 1, 4)] = x[ramp(n * i + 4, 1, 4)]
        }
      }`,
      `
      kernel k(o: f32[], x: f32[], n: i32) {
        for i in 0..n step 4 {
          let t = n * i
          o[ramp(t + 4, 1, 4)] = x[ramp(t + 4, 1, 4)]
        }
      }`,
    );
  });

  it('forgets memory at a call, and mutable locals at an assignment in a loop', () => {
    const x = e.buffer('x', 'f32');
    const y = e.buffer('y', 'f32');
    const callee = e.kernel('callee', [x], e.store(x, 0, e.load(x, 1)));
    const sum = e.variable('sum', 'f32');
    const body = e.block(
      e.store(y, 0, e.load(y, 1)),
      e.call(callee, [e.i32(0)]),
      e.store(y, 2, e.load(y, 1)),
      e.declare(sum, e.constant('f32', 0)),
      e.forLoop('i', 0, 9, () => e.assign(sum, e.add(e.sqrt(sum), e.sqrt(sum)))),
      e.store(y, 3, e.sqrt(sum)),
    );
    assert.equal(
      kernelText(share(e.kernel('k', [y], body))),
      [
        'kernel k(y: f32[]) {',
        '  y[0] = y[1]',
        '  call callee(0)',
        '  y[2] = y[1]',
        '  let sum = 0.0',
        '  for i in 0..9 {',
        '    let t = sqrt(sum)',
        '    sum = t + t',
        '  }',
        '  y[3] = sqrt(sum)',
        '}\n',
      ].join('\n'),
    );
  });

  it('names each node of a deeply shared expression once', () => {
    const o = e.buffer('o', 'f64');
    let x: Expr = e.load(o, 0);
    for (let i = 0; i < 60; i++) x = e.add(e.mul(x, x), x);
    const lines = kernelText(share(e.kernel('k', [o], e.store(o, 0, x)))).split('\n');
    assert.equal(lines.length, 60 + 4);
  });

  it('names parts of an expression that is deeper than what recurses over expressions can take', () => {
    const [x, out] = [e.variable('x', 'f32'), e.buffer('out', 'f32')];
    let sum: Expr = x;
    for (let k = 1; k <= 3000; k++) sum = k % 2 === 0 ? e.add(sum, x) : e.mul(sum, k);
    const shared = share(e.kernel('deep', [out, x], e.store(out, 0, sum)));
    const heights = new Map<Expr, number>();
    let operations = 0;
    const heightOf = (expr: Expr): number => {
      const own = children(expr);
      const height = own.length === 0 ? 0 : 1 + Math.max(...own.map(heightOf));
      if (own.length > 0) operations++;
      heights.set(expr, height);
      return height;
    };
    const visit = (stmt: Stmt): void => {
      ownExprs(stmt).forEach(heightOf);
      ownStmts(stmt).forEach(visit);
    };
    visit(shared.body);
    assert.ok(Math.max(...heights.values()) <= 64);
    // Every operation is still there, once.
    assert.equal(operations, 3000);
  });

  it('computes nothing undefined for a loop in a loop that does nothing', () => {
    for (const [begin, end, isRun] of [
      [0, 1, true],
      [5, 5, false],
      [5, 3, false],
      [-2, -3, false],
    ] as const) {
      const kernel = parseKernel(`kernel k(o: i32[], n: i32, m: i32) {
        for i in 0..n { for j in ${begin}..${end} { o[i] = 8 / m } } }`);
      const module = e.moduleOf([share(kernel)]);
      const run = (n: number, m: number): readonly number[] => {
        const memory = new ArrayBuffer(8);
        interpret(module, memory, 'k', [0, n, m]);
        return [...new Int32Array(memory)];
      };
      assert.deepEqual(run(2, 2), isRun ? [4, 4] : [0, 0]);
      assert.deepEqual(run(0, 0), [0, 0]);
      if (isRun) assert.throws(() => run(1, 0), /division by zero/);
      else assert.deepEqual(run(2, 0), [0, 0]);
    }
  });
});
