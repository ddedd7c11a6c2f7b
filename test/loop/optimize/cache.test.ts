import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KernelCache } from '../../../src/loop/optimize/cache.js';
import type { Kernel } from '../../../src/loop/language/nodes.js';
import { optimize } from '../../../src/loop/optimize/optimize.js';
import { parseKernel } from '../../../src/loop/language/parse.js';
import { kernelText } from '../../../src/loop/language/text.js';
import { dedent } from '../before-after.js';

const options = { vectorBytes: 16 };

/** Stores `value` many times; `name` is the name of everything. */
function storing(value: number, name = 'k'): Kernel {
  return parseKernel(
    dedent(`
    kernel ${name}(o_${name}: i32[], n_${name}: i32) {
      for i_${name} in 0..n_${name} {
        o_${name}[i_${name} * 1] = ${value}
      }
    }`),
  );
}

describe('KernelCache', () => {
  it('optimizes each structure once, whatever the names', () => {
    const cache = new KernelCache();
    const first = cache.optimize(storing(1), options);
    assert.equal(kernelText(first), kernelText(optimize(storing(1), options)));
    assert.equal(cache.optimize(storing(1, 'other'), options), first);
    assert.notEqual(cache.optimize(storing(2), options), first);
    assert.equal(cache.size, 2);
  });

  it('keeps targets apart', () => {
    const cache = new KernelCache();
    const vector = parseKernel(
      dedent(`
      kernel k(o: i32[]) {
        vector for i in 0..32 {
          o[i] = 0
        }
      }`),
    );
    const [narrow, wide] = [16, 32].map((vectorBytes) => cache.optimize(vector, { vectorBytes }));
    assert.match(kernelText(narrow), /step 4 /);
    assert.match(kernelText(wide), /step 8 /);
  });

  it('drops what was not asked for longest, but never the latest', () => {
    const cache = new KernelCache(400);
    const kept = cache.optimize(storing(0), options);
    for (let value = 1; value < 50; value++) {
      cache.optimize(storing(value), options);
      assert.equal(cache.optimize(storing(0), options), kept);
    }
    assert.ok(cache.size > 1 && cache.size < 25, String(cache.size));
    const tiny = new KernelCache(0);
    const only = tiny.optimize(storing(1), options);
    assert.equal(tiny.optimize(storing(1), options), only);
    tiny.optimize(storing(2), options);
    assert.equal(tiny.size, 1);
    assert.notEqual(tiny.optimize(storing(1), options), only);
  });

  it('forgets everything on demand', () => {
    const cache = new KernelCache();
    const first = cache.optimize(storing(1), options);
    cache.clear();
    assert.equal(cache.size, 0);
    assert.notEqual(cache.optimize(storing(1), options), first);
  });
});
