import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import type { HostArray } from '../../../src/base/dtype.js';
import type { Kernel } from '../../../src/loop/language/nodes.js';
import { optimize } from '../../../src/loop/optimize/optimize.js';
import { bufferLength, narrowParams, narrowRandomKernel } from '../../loop/random-kernel.js';
import { interpreted, type KernelInput, KernelsOnGpu } from '../../support/gpu-kernels.js';
import { gpuForTests } from '../../support/webgpu.js';

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
after(() => {
  if (typeof gpu !== 'string') gpu.close();
});

const count = 40;
const sizes = [[0, 3], [1, 0], [5, 9]] as const; // prettier-ignore

/** Kernels as they are written, and with vectors. */
const kernels: readonly Kernel[] = fc
  .sample(fc.array(fc.nat(2 ** 16), { minLength: 20, maxLength: 100 }), {
    seed: 23,
    numRuns: count,
  })
  .flatMap((entropy) => {
    const kernel = narrowRandomKernel(entropy);
    return [kernel, optimize(kernel, { vectorBytes: 16 })];
  });

/** No subnormal numbers, and none whose products are: GPUs may take them for 0. */
const floats = [0, -0, 1, -1, NaN, Infinity, -Infinity, 0.5, 1e6, -2.5, 7];
const integers = [0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 7, -8, 255, 65536];

const filled = <T extends HostArray>(array: T, value: (k: number) => number | bigint): T => {
  for (let k = 0; k < bufferLength; k++) array[k] = value(k);
  return array;
};

function argsFor(n: number, m: number): readonly KernelInput[] {
  return narrowParams.map((param): KernelInput => {
    if (param.kind === 'var') return param.name === 'n' ? n : m;
    switch (param.storage) {
      case 'f32':
        return filled(new Float32Array(bufferLength), (k) => floats[k % floats.length]);
      case 'i64':
        return filled(new BigInt64Array(bufferLength), (k) => BigInt(integers[k % 9]) << BigInt(k % 34)); // prettier-ignore
      case 'u8':
        return filled(new Uint8Array(bufferLength), (k) => integers[k % 9]);
      default:
        return filled(new Int32Array(bufferLength), (k) => integers[k % 9]);
    }
  });
}

describe('random kernels as WGSL', () => {
  it('compute what the interpreter defines', { skip }, async () => {
    if (typeof gpu === 'string') return;
    const runner = new KernelsOnGpu(gpu);
    let changes = 0;
    for (const [i, kernel] of kernels.entries()) {
      for (const [n, m] of sizes) {
        const args = argsFor(n, m);
        const found = await runner.run(kernel, args);
        const expected = interpreted(kernel, args);
        assert.deepEqual(found, expected, `kernel ${i} for ${n}, ${m}`);
        const given = args.filter((arg) => typeof arg !== 'number');
        if (!isDeepStrictEqual(given, expected)) changes++;
      }
    }
    assert.ok(changes > count, `only ${changes} runs change anything`);
  });
});
