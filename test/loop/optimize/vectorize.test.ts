import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Kernel, Stmt } from '../../../src/loop/language/nodes.js';
import { parseKernel } from '../../../src/loop/language/parse.js';
import { ownStmts } from '../../../src/loop/language/visit.js';
import { simplifyKernel } from '../../../src/loop/optimize/simplify.js';
import { vectorize } from '../../../src/loop/optimize/vectorize.js';
import { assertBecomes } from '../before-after.js';

const run = (kernel: Kernel): Kernel => simplifyKernel(vectorize(kernel, { vectorBytes: 16 }));

describe('vectorize', () => {
  it('makes lanes of iterations, and a scalar loop of the rest', () => {
    assertBecomes(
      run,
      `
      kernel k(x: f32[], y: f32[], o: f32[], n: i32) {
        for i in 0..n {
          vector for j in 0..n {
            o[i * n + j] = x[i * n + j] * y[j] + x[i]
          }
        }
      }`,
      `
      kernel k(x: f32[], y: f32[], o: f32[], n: i32) {
        for i in 0..n {
          for j in 0..n / 4 * 4 step 4 {
            o[ramp(n * i + j, 1, 4)] = x[ramp(n * i + j, 1, 4)] * y[ramp(j, 1, 4)] + x4(x[i])
          }
          for j_1 in n / 4 * 4..n {
            o[n * i + j_1] = x[n * i + j_1] * y[j_1] + x[i]
          }
        }
      }`,
    );
  });

  it('does what is left of wide vectors with narrower ones', () => {
    assertBecomes(
      (kernel) => simplifyKernel(vectorize(kernel, { vectorBytes: 64 })),
      `
      kernel k(x: f32[], o: f32[], n: i32) {
        vector for i in 0..n {
          o[i] = x[i]
        }
        vector for i in 0..45 {
          o[i] = x[i]
        }
        vector for i in 0..20 {
          o[i] = x[i]
        }
      }`,
      `
      kernel k(x: f32[], o: f32[], n: i32) {
        for i in 0..n / 16 * 16 step 16 {
          o[ramp(i, 1, 16)] = x[ramp(i, 1, 16)]
        }
        for i_1 in n / 16 * 16..n / 4 * 4 step 4 {
          o[ramp(i_1, 1, 4)] = x[ramp(i_1, 1, 4)]
        }
        for i_2 in n / 4 * 4..n {
          o[i_2] = x[i_2]
        }
        for i_3 in 0..32 step 16 {
          o[ramp(i_3, 1, 16)] = x[ramp(i_3, 1, 16)]
        }
        o[ramp(32, 1, 8)] = x[ramp(32, 1, 8)]
        o[ramp(40, 1, 4)] = x[ramp(40, 1, 4)]
        o[44] = x[44]
        o[ramp(0, 1, 16)] = x[ramp(0, 1, 16)]
        o[ramp(16, 1, 4)] = x[ramp(16, 1, 4)]
      }`,
    );
  });

  it('leaves no rest where the lanes divide the length, known or not', () => {
    assertBecomes(
      run,
      `
      kernel k(x: f32[], o: f32[], n: i32) {
        vector for i in 0..8 {
          o[i] = x[i]
        }
        vector for i in 0..n * 8 {
          o[i] = x[i]
        }
        vector for i in 0..3 {
          o[i] = x[i]
        }
      }`,
      `
      kernel k(x: f32[], o: f32[], n: i32) {
        for i in 0..8 step 4 {
          o[ramp(i, 1, 4)] = x[ramp(i, 1, 4)]
        }
        for i_1 in 0..n * 8 step 4 {
          o[ramp(i_1, 1, 4)] = x[ramp(i_1, 1, 4)]
        }
        for i_2 in 0..3 {
          o[i_2] = x[i_2]
        }
      }`,
    );
  });

  it('chooses lanes by the widest varying scalar', () => {
    assertBecomes(
      run,
      `
      kernel k(x: f64[], b: u8[], o: f32[]) {
        vector for i in 0..4 {
          o[i] = f32(x[i])
        }
        vector for i in 0..4 {
          o[i] = f32(x[7]) + f32(b[i])
        }
      }`,
      `
      kernel k(x: f64[], b: u8[], o: f32[]) {
        for i in 0..4 step 2 {
          o[ramp(i, 1, 2)] = f32(x[ramp(i, 1, 2)])
        }
        o[ramp(0, 1, 4)] = x4(f32(x[7])) + f32(b[ramp(0, 1, 4)])
      }`,
    );
  });

  it('gathers, scatters, and reverses through vector indices', () => {
    assertBecomes(
      run,
      `
      kernel k(x: f32[], at: i32[], o: f32[]) {
        vector for i in 0..4 {
          o[i * 3] = x[at[i]] + x[9 - i] + x[i / 4]
        }
      }`,
      `
      kernel k(x: f32[], at: i32[], o: f32[]) {
        o[ramp(0, 3, 4)] = x[at[ramp(0, 1, 4)]] + x[ramp(9, -1, 4)] + x[ramp(0, 1, 4) / x4(4)]
      }`,
    );
  });

  it('widens locals that vary, keeps those that do not, and runs uniform control flow', () => {
    assertBecomes(
      run,
      `
      kernel k(x: f32[], o: f32[], n: i32) {
        vector for i in 0..4 {
          let sum = 0.0
          let scale = x[n]
          let last = 0.0
          for j in 0..n {
            last = sum
            sum = sum + x[j * 4 + i] * scale
            if (j > 3) {
              sum = 1.0
            }
          }
          o[i] = sum - last
        }
      }`,
      `
      kernel k(x: f32[], o: f32[], n: i32) {
        let sum = x4(0.0)
        let scale = x[n]
        let last = x4(0.0)
        for j in 0..n {
          last = sum
          sum = sum + x[ramp(j * 4, 1, 4)] * x4(scale)
          if (j > 3) {
            sum = x4(1.0)
          }
        }
        o[ramp(0, 1, 4)] = sum - last
      }`,
    );
  });

  it('stays scalar where lanes could not go together', () => {
    const loops = `
        for i in 0..n {
          if (x[i] > 0.0) {
            o[i] = 1.0
          }
        }
        for i_1 in 0..n {
          for j in 0..i_1 {
            o[i_1] = 1.0
          }
        }
        let sum = 0.0
        for i_2 in 0..n {
          sum = sum + x[i_2]
        }
        for i_3 in 0..n {
          o[7] = x[i_3]
        }
        for i_4 in 0..n {
          let m = i_4
          while (m > 0) {
            m = m / 2
          }
          o[i_4] = sum
        }
      }`;
    assertBecomes(
      run,
      `
      kernel k(x: f32[], o: f32[], n: i32) {${loops.replace(/for i/g, 'vector for i')}`,
      `
      kernel k(x: f32[], o: f32[], n: i32) {${loops}`,
    );
  });

  it('evaluates bounds from memory once', () => {
    assertBecomes(
      run,
      `
      kernel k(o: i32[]) {
        vector for i in 0..o[0] {
          o[i] = 9
        }
      }`,
      `
      kernel k(o: i32[]) {
        let bound = o[0]
        for i in 0..bound / 4 * 4 step 4 {
          o[ramp(i, 1, 4)] = x4(9)
        }
        for i_1 in bound / 4 * 4..bound {
          o[i_1] = 9
        }
      }`,
    );
  });

  it('makes no loop that has nothing to do, where the length is known', () => {
    const steps = (begin: number, end: number): readonly (readonly [number, number, number])[] => {
      const kernel = parseKernel(`kernel k(o: i32[]) { vector for i in ${begin}..${end} { o[i] = i } }`); // prettier-ignore
      const found: (readonly [number, number, number])[] = [];
      const visit = (stmt: Stmt): void => {
        if (stmt.kind === 'for') {
          assert.ok(stmt.begin.kind === 'const' && stmt.end.kind === 'const');
          found.push([Number(stmt.begin.value), Number(stmt.end.value), stmt.step]);
        }
        ownStmts(stmt).forEach(visit);
      };
      visit(vectorize(kernel, { vectorBytes: 64 }).body);
      return found;
    };
    assert.deepEqual(steps(0, 45), [[0, 32, 16], [32, 40, 8], [40, 44, 4], [44, 45, 1]]); // prettier-ignore
    assert.deepEqual(steps(0, 32), [[0, 32, 16]]);
    assert.deepEqual(steps(3, 15), [[3, 11, 8], [11, 15, 4]]); // prettier-ignore
    assert.deepEqual(steps(3, 5), [[3, 5, 1]]);
  });
});
