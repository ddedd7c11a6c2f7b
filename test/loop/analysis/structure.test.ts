import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import * as e from '../../../src/loop/language/build.js';
import type { Kernel } from '../../../src/loop/language/nodes.js';
import { parseKernel } from '../../../src/loop/language/parse.js';
import { structureOf } from '../../../src/loop/analysis/structure.js';
import { kernelText } from '../../../src/loop/language/text.js';
import { dedent } from '../before-after.js';
import { randomKernel } from '../random-kernel.js';

function structure(kernel: Kernel): string {
  const found = structureOf(kernel);
  assert.ok(found !== null);
  return found;
}
const ofText = (text: string): string => structure(parseKernel(dedent(text)));

const kernel = `
  kernel scale(x: f32[], o: f32[], n: i32) {
    for i in 0..n {
      let t = x[i] * 2.0
      if (t > 0.0) {
        o[i] = t
      }
    }
  }`;

describe('structureOf', () => {
  it('does not see names', () => {
    const renamed = kernel
      .replaceAll('scale', 'other')
      .replaceAll(/\b([xotni])\b/g, (name) => `${name}${name}`);
    assert.notEqual(renamed, kernel);
    assert.equal(ofText(renamed), ofText(kernel));
  });

  it('sees everything else', () => {
    const changes: readonly [string, string][] = [
      ['x: f32[], o', 'o: f32[], x'],
      ['o: f32[], n', 'unused: f32[], o: f32[], n'],
      ['x: f32[]', 'x: i32[]'],
      ['0..n', '1..n'],
      ['0..n', '0..n step 2'],
      ['for', 'vector for'],
      ['* 2.0', '+ 2.0'],
      ['2.0', '3.0'],
      ['> 0.0', '> -0.0'],
      ['x[i]', 'o[i]'],
      ['o[i] = t', 'o[n - 1] = t'],
      ['o[i] = t', 'x[i] = t'],
      ['if (t', 'while (t'],
      ['o[i] = t', 'o[i] = t\n          o[0] = t'],
      ['o[i] = t\n      }', 'o[i] = t\n      } else {\n        o[i] = 1.0\n      }'],
    ];
    const seen = new Set([ofText(kernel)]);
    for (const [from, to] of changes) {
      assert.ok(kernel.includes(from), from);
      const text = kernel.replace(from, to);
      const changed = to.startsWith('x: i32') ? text.replace('x[i]', 'f32(x[i])') : text;
      const found = ofText(changed);
      assert.ok(!seen.has(found), `${from} -> ${to}`);
      seen.add(found);
    }
    assert.equal(seen.size, changes.length + 1);
  });

  it('tells where a block ends', () => {
    const [o, n] = [e.buffer('o', 'i32'), e.variable('n', 'i32')];
    const put = (at: number) => e.store(o, at, n);
    const kernels = [
      e.block(e.ifThen(e.lt(n, 0), e.block(put(0), put(1))), put(2)),
      e.block(e.ifThen(e.lt(n, 0), put(0)), put(1), put(2)),
      e.block(e.ifThen(e.lt(n, 0), put(0), put(1)), put(2)),
    ].map((body) => structure(e.kernel('k', [o, n], body)));
    assert.equal(new Set(kernels).size, 3);
  });

  it('keeps constants apart bit by bit', () => {
    const o = e.buffer('o', 'f64');
    const l = e.buffer('l', 'i64');
    const storing = [0, -0, 1, 2 ** -1074, 2 ** 1023, Infinity, -Infinity, NaN, 0.1, 0.1 + 2 ** -56]
      .map((value) => e.store(o, 0, e.constant('f64', value)))
      .concat([1n, -1n, 2n ** 62n].map((value) => e.store(l, 0, e.constant('i64', value))));
    const found = storing.map((body) => structure(e.kernel('k', [o, l], body)));
    assert.equal(new Set(found).size, storing.length);
  });

  it('numbers more values than fit one unit', () => {
    const o = e.buffer('o', 'i32');
    const long = (last: number): string => {
      const stores = Array.from({ length: 40_000 }, (_, at) => e.store(o, at, e.i32(-at)));
      return structure(e.kernel('k', [o], e.block(...stores, e.store(o, 0, e.i32(last)))));
    };
    assert.equal(long(1), long(1));
    assert.notEqual(long(1), long(2));
  });

  it('is null for a kernel that calls others, wherever it does', () => {
    const call = e.call(e.kernel('callee', [], e.block()), []);
    const n = e.variable('n', 'i32');
    for (const body of [call, e.block(e.ifThen(e.lt(n, 0), call), e.block())])
      assert.equal(structureOf(e.kernel('k', [n], body)), null);
  });

  it('is the same for random kernels exactly when their texts are', () => {
    const entropy = fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(entropy, entropy, (a, b) => {
        const [first, second] = [randomKernel(a), randomKernel(b)];
        assert.equal(structure(first), structure(randomKernel(a)));
        if (kernelText(first) !== kernelText(second))
          assert.notEqual(structure(first), structure(second));
      }),
      { seed: 20261121, numRuns: 300 },
    );
  });
});
