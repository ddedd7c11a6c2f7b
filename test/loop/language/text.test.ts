import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FormatError } from '../../../src/base/errors.js';
import * as e from '../../../src/loop/language/build.js';
import type { Expr } from '../../../src/loop/language/nodes.js';
import { parseKernel, parseModule } from '../../../src/loop/language/parse.js';
import { exprText, moduleText, stmtText } from '../../../src/loop/language/text.js';
import { dedent } from '../before-after.js';

const everything = dedent(`
  kernel fill(o: u8[], value: f64, wide: f32x4) {
    for i in 0..10 step 3 {
      o[i] = i32(value)
    }
  }

  kernel divided(o: f32[], sums: private f32[], n: i32) {
    sums[0] = 1.0
    parallel from..to in 0..n step 64 {
      vector for i in from..to {
        o[i] = sums[0]
      }
    }
    parallel from_1..to_1 in n..n + 1 {
      o[from_1] = sums[to_1 - to_1]
    }
  }

  kernel grouped(o: f32[], n: i32) {
    workgroups group, invocation in n + 1 of 64(sums: f32[64], counts: i32[2]) {
      sums[invocation] = 1.0
      workgroup_barrier
      o[group * 64 + invocation] = sums[63 - invocation]
    }
  }

  kernel main(x: f32[], y: f64[], l: i64[], team: i32[], n: i32, flag: bool) {
    let a = x[0] * 1.5 - (x[1] - x[2])
    let b = -0.0 + 1e+30 / 1e-45
    let c = y[0] + -1d * 0.1d + nan_d + -inf_d
    let d = l[0] >>> 3L << -1L
    a = min(a, nan) + max(a, -inf) + inf
    a = neg(a) + abs(a) + sqrt(a) + floor(a) + ceil(a) + trunc(a) + nearest(a)
    for i in 0..n {
      vector for j in i..n * (n + 1) {
        x[j] = f32(bits_i32(a)) + bits_f32(j)
      }
      unroll for j_1 in 0..4 {
      }
    }
    while (not(flag) | n < 3 & true) {
      a = 1.0
      {
        let t = ramp(n, -2, 4)
        x[t] = select(t == x4(0), x[t], x4(a)) + x4(0.5)
        x[0] = lane(x[t], 3)
      }
    }
    if ((n ^ 1) % 2 != 0) {
      call fill(n, c, x4(1.0))
    } else {
      y[n - (n - 1)] = c
    }
    barrier(team, n - 1, n)
  }
`);

describe('loop text', () => {
  it('reads back every node as it was written', () => {
    assert.equal(moduleText(parseModule(everything)), everything);
  });

  it('names what a statement shares, and reads it back as shared', () => {
    const x = e.buffer('x', 'i32');
    const i = e.variable('i', 'i32');
    let sum: Expr = e.add(e.mul(i, i), e.load(x, i));
    for (let k = 0; k < 50; k++) sum = e.add(e.mul(sum, sum), e.load(x, sum));
    const text = moduleText(e.moduleOf([e.kernel('k', [x, i], e.store(x, sum, sum))]));
    assert.ok(text.length < 3000, `${text.length} characters`);
    assert.equal(moduleText(parseModule(text)), text);
  });

  it('gives different variables of one name different names', () => {
    const o = e.buffer('for', 'i32');
    const body = e.forLoop('i', 0, 4, (i) => e.forLoop('i', 0, i, (j) => e.store(o, i, j)));
    assert.equal(
      moduleText(e.moduleOf([e.kernel('k', [o], body)])),
      dedent(`
        kernel k(for_1: i32[]) {
          for i in 0..4 {
            for i_1 in 0..i {
              for_1[i] = i_1
            }
          }
        }`),
    );
    assert.equal(stmtText(e.assign(e.variable('a b', 'i32'), e.i32(1))), 'a_b = 1\n');
    assert.equal(exprText(e.sub(e.i32(1), e.sub(e.i32(2), e.i32(-3)))), '1 - (2 - -3)');
  });

  it('writes float32 with the fewest digits that read back', () => {
    for (const [value, text] of [[0.1, '0.1'], [1 / 3, '0.33333334'], [16777216, '16777216.0'], [2 ** -149, '1e-45']] as const) {
      assert.equal(exprText(e.constant('f32', value)), text);
      const kernel = parseKernel(`kernel k(o: f32[]) { o[0] = ${text} }`);
      assert.ok(kernel.body.kind === 'store' && kernel.body.value.kind === 'const');
      assert.equal(kernel.body.value.value, Math.fround(value));
    } // prettier-ignore
  });

  it('refuses what it does not understand, with the line', () => {
    const wrong: readonly (readonly [string, RegExp])[] = [
      ['kernel k(o: f32[]) {\n  o[0] = p\n}', /unknown name p, at line 3/],
      ['kernel k(o: f33[]) {}', /storage f33/],
      ['kernel k(o: q) {}', /type q/],
      ['kernel k() { call j() }', /call of j/],
      ['kernel k(n: i32) { barrier(n, 0, n) }', /barrier in n/],
      ['kernel k(n: i32) { n = foo(n) }', /unknown function foo/],
      ['kernel k(n: i32) { n = min(n) }', /1 arguments of min/],
      ['kernel k(n: i32) { n = #0 }', /#0 before its line/],
      ['kernel k(n: i32) { n ? 1 }', /character of no token/],
      ['kernel k() {} kernel k() {}', /second kernel k/],
      ['kernel k() {', /where|name/],
    ];
    for (const [text, message] of wrong) {
      assert.throws(
        () => parseModule(text),
        (error: Error) => error instanceof FormatError && message.test(error.message),
        text,
      );
    }
    assert.throws(() => parseKernel(''), FormatError);
  });
});
