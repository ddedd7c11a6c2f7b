import { describe, it } from 'node:test';
import { unroll } from '../../../src/loop/optimize/unroll.js';
import { assertBecomes } from '../before-after.js';

describe('unroll', () => {
  it('writes constant trip counts out, also between variable bounds', () => {
    assertBecomes(
      unroll,
      `
      kernel k(o: i32[], n: i32) {
        unroll for i in 0..2 {
          let t = i * 3
          o[t] = n
        }
        for j in 0..n {
          unroll for i in j * 4..j * 4 + 5 step 2 {
            o[i] = 1
          }
        }
        unroll for i in 3..3 {
          o[i] = 2
        }
      }`,
      `
      kernel k(o: i32[], n: i32) {
        {
          let t = 0 * 3
          o[t] = n
        }
        {
          let t_1 = 1 * 3
          o[t_1] = n
        }
        for j in 0..n {
          o[j * 4] = 1
          o[j * 4 + 2] = 1
          o[j * 4 + 4] = 1
        }
      }`,
    );
  });

  it('unrolls nests, and makes loops whose length is not constant serial', () => {
    assertBecomes(
      unroll,
      `
      kernel k(o: i32[], n: i32) {
        unroll for i in 0..2 {
          unroll for j in 0..i + 1 {
            o[i] = j
          }
        }
        unroll for i in 0..n {
          o[i] = 0
        }
      }`,
      `
      kernel k(o: i32[], n: i32) {
        o[0] = 0
        o[1] = 0
        o[1] = 1
        for i in 0..n {
          o[i] = 0
        }
      }`,
    );
  });
});
