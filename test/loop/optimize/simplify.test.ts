import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as e from '../../../src/loop/language/build.js';
import type { Expr } from '../../../src/loop/language/nodes.js';
import { simplifyKernel } from '../../../src/loop/optimize/simplify.js';
import { visitExprs } from '../../../src/loop/language/visit.js';
import { assertBecomes } from '../before-after.js';

describe('simplify', () => {
  it('removes loops without trips and unwraps loops with one', () => {
    assertBecomes(
      simplifyKernel,
      `
      kernel k(o: i32[], n: i32) {
        for i in 4..4 {
          o[i] = 1
        }
        for i in n + 1..n {
          o[i] = 2
        }
        for i in n..n + 1 {
          o[i * 2] = i
        }
        for i in 0..3 step 4 {
          o[i + 7] = 3
        }
        for i in 0..n {
        }
      }`,
      `
      kernel k(o: i32[], n: i32) {
        o[n * 2] = n
        o[7] = 3
      }`,
    );
  });

  it('keeps the value of a begin that the body changes', () => {
    assertBecomes(
      simplifyKernel,
      `
      kernel k(o: i32[]) {
        let m = o[0]
        m = m + 1
        for i in m..m + 1 {
          m = 7
          o[i] = m
        }
      }`,
      `
      kernel k(o: i32[]) {
        let m = o[0]
        m = m + 1
        for i in m..m + 1 {
          m = 7
          o[i] = m
        }
      }`,
    );
  });

  it('does not take a bound for known once it may have changed', () => {
    assertBecomes(
      simplifyKernel,
      `
      kernel k(o: i32[]) {
        let m = 5
        for i in 0..m {
          m = o[i]
          if (i < m) {
            o[i] = 1
          }
        }
      }`,
      `
      kernel k(o: i32[]) {
        let m = 5
        for i in 0..m {
          m = o[i]
          if (i < m) {
            o[i] = 1
          }
        }
      }`,
    );
  });

  it('removes branches not taken, also where only ranges decide', () => {
    assertBecomes(
      simplifyKernel,
      `
      kernel k(o: i32[], n: i32) {
        for i in 0..n {
          if (i >= 0) {
            o[i] = 1
          } else {
            o[i] = 2
          }
          if (i > n) {
            o[0] = 3
          }
          if (n > 3) {
          } else {
            o[i] = 4
          }
          while (i == n) {
            o[i] = 5
          }
        }
      }`,
      `
      kernel k(o: i32[], n: i32) {
        for i in 0..n {
          o[i] = 1
          if (n <= 3) {
            o[i] = 4
          }
        }
      }`,
    );
  });

  it('sees through locals that name indices, and removes locals never read', () => {
    assertBecomes(
      simplifyKernel,
      `
      kernel k(o: f32[], x: f32[], n: i32) {
        for i in 0..n {
          let row = i * n
          let dead = x[row]
          let alive = x[row + 1]
          for j in 0..n {
            let at = row + j
            let again = at
            let sum = 0.0
            sum = sum + 1.0
            o[again / n] = alive * 1.0
          }
        }
      }`,
      `
      kernel k(o: f32[], x: f32[], n: i32) {
        for i in 0..n {
          let alive = x[n * i + 1]
          for j in 0..n {
            o[i] = alive
          }
        }
      }`,
    );
  });

  it('does not move a division that may be undefined into a loop or past a branch', () => {
    assertBecomes(
      simplifyKernel,
      `
      kernel k(o: i32[], n: i32, m: i32) {
        let q = n / m
        for i in 0..n {
          o[i] = q
        }
      }`,
      `
      kernel k(o: i32[], n: i32, m: i32) {
        let q = n / m
        for i in 0..n {
          o[i] = q
        }
      }`,
    );
  });

  it('never folds an undefined division', () => {
    assertBecomes(
      simplifyKernel,
      `
      kernel k(o: i32[]) {
        o[0] = 1 / 0
        o[1] = 7 / 2
      }`,
      `
      kernel k(o: i32[]) {
        o[0] = 1 / 0
        o[1] = 3
      }`,
    );
  });

  it('takes time and space in proportion to the DAG', () => {
    const n = e.variable('n', 'i32');
    const x = e.buffer('x', 'f32');
    let index: Expr = n;
    let value: Expr = e.load(x, 0);
    for (let i = 0; i < 300; i++) {
      index = e.xor(e.mul(index, index), e.add(index, i));
      value = e.add(e.mul(value, value), e.select(e.lt(value, 1), value, e.neg(value)));
    }
    const body = e.store(x, index, value);
    const simplified = simplifyKernel(e.kernel('k', [x, n], body)).body;
    assert.equal(simplified.kind, 'store');
    let count = 0;
    visitExprs(simplified.kind === 'store' ? [simplified.index, simplified.value] : [], () => {
      count++;
    });
    assert.ok(count < 300 * 12, `${count} nodes`);
  });
});
