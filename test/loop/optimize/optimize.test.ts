import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { interpret } from '../../../src/loop/interpret/interpret.js';
import type { Kernel } from '../../../src/loop/language/nodes.js';
import { optimizeModule } from '../../../src/loop/optimize/module.js';
import { optimize } from '../../../src/loop/optimize/optimize.js';
import { parseModule } from '../../../src/loop/language/parse.js';
import { verifyModule } from '../../../src/loop/language/verify.js';
import { assertBecomes, dedent } from '../before-after.js';

const run = (kernel: Kernel): Kernel => optimize(kernel, { vectorBytes: 16 });

const product = `
  kernel product(a: f32[], b: f32[], c: f32[], m: i32, n: i32, k: i32) {
    for i in 0..m {
      vector for j in 0..n {
        let sum = 0.0
        for p in 0..k {
          sum = sum + a[i * k + p] * b[p * n + j]
        }
        c[i * n + j] = sum / 2.0
      }
    }
  }`;

describe('optimize', () => {
  it('makes a product of matrices what one would write by hand', () => {
    assertBecomes(
      run,
      product,
      `
      kernel product(a: f32[], b: f32[], c: f32[], m: i32, n: i32, k: i32) {
        let t = n / 4 * 4
        for i in 0..m {
          let t_1 = k * i
          let t_2 = n * i
          for j in 0..t step 4 {
            let sum = x4(0.0)
            for p in 0..k {
              sum = sum + x4(a[t_1 + p]) * b[ramp(j + n * p, 1, 4)]
            }
            c[ramp(t_2 + j, 1, 4)] = sum * x4(0.5)
          }
          for j_1 in t..n {
            let sum_1 = 0.0
            for p_1 in 0..k {
              sum_1 = sum_1 + a[t_1 + p_1] * b[j_1 + n * p_1]
            }
            c[t_2 + j_1] = sum_1 * 0.5
          }
        }
      }`,
    );
  });

  it('unrolls, folds and shares in one go', () => {
    assertBecomes(
      run,
      `
      kernel k(x: f32[], o: f32[], n: i32) {
        for i in 0..n {
          let sum = 0.0
          unroll for j in 0..3 {
            let at = i * 3 + j
            sum = sum + x[at]
          }
          unroll for j in 0..3 {
            o[i * 3 + j] = x[i * 3 + j] - sum
          }
        }
      }`,
      `
      kernel k(x: f32[], o: f32[], n: i32) {
        for i in 0..n {
          let sum = 0.0
          let t = i * 3
          let t_1 = x[t]
          sum = sum + t_1
          let t_2 = x[t + 1]
          sum = sum + t_2
          let t_3 = x[t + 2]
          sum = sum + t_3
          o[t] = t_1 - sum
          o[t + 1] = t_2 - sum
          o[t + 2] = t_3 - sum
        }
      }`,
    );
  });

  it('computes the product of matrices of any sizes', () => {
    const plain = parseModule(dedent(product));
    const module = optimizeModule(plain, { vectorBytes: 16 });
    verifyModule(module);
    for (const [m, n, k] of [[0, 3, 2], [1, 0, 1], [1, 1, 0], [1, 1, 1], [2, 4, 3], [3, 7, 5]]) {
      const memory = new ArrayBuffer(1024);
      const floats = new Float32Array(memory);
      for (let i = 0; i < 128; i++) floats[i] = (i % 11) - 5;
      interpret(module, memory, 'product', [0, 200, 512, m, n, k]);
      for (let i = 0; i < m; i++) {
        for (let j = 0; j < n; j++) {
          let sum = 0;
          for (let p = 0; p < k; p++) sum += floats[i * k + p] * floats[50 + p * n + j];
          assert.equal(floats[128 + i * n + j], sum / 2);
        }
      }
    } // prettier-ignore
  });
});
