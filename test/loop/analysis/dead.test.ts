import { describe, it } from 'node:test';
import { removeDeadLocals } from '../../../src/loop/analysis/dead.js';
import type { Kernel } from '../../../src/loop/language/nodes.js';
import { withBody } from '../../../src/loop/language/visit.js';
import { assertBecomes } from '../before-after.js';

const run = (kernel: Kernel): Kernel => withBody(kernel, removeDeadLocals(kernel.body));

describe('removeDeadLocals', () => {
  it('removes locals that feed only themselves, and what is empty then', () => {
    assertBecomes(
      run,
      `
      kernel k(o: f32[], n: i32) {
        let dead = 0.0
        let twin = dead
        for i in 0..n {
          dead = twin + o[i]
          if (n > 3) {
            twin = dead
          } else {
            twin = 1.0
          }
        }
        if (n > 4) {
          o[1] = 2.0
        } else {
          dead = 3.0
        }
      }`,
      `
      kernel k(o: f32[], n: i32) {
        if (n > 4) {
          o[1] = 2.0
        }
      }`,
    );
  });

  it('keeps what reaches memory, a condition or a bound, and every while', () => {
    const text = `
      kernel k(o: f32[], n: i32) {
        let a = 1
        let b = a + 1
        let c = b > n
        for i in 0..b {
          if (c) {
            o[i] = f32(a)
          }
        }
        while (c) {
        }
      }`;
    assertBecomes(run, text, text);
  });
});
