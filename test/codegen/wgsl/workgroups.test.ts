import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { UnsupportedError } from '../../../src/base/errors.js';
import { shaderOf } from '../../../src/codegen/wgsl/index.js';
import type { ShaderFeatures } from '../../../src/codegen/wgsl/shader.js';
import { stepCounter } from '../../../src/codegen/wgsl/workgroups.js';
import * as e from '../../../src/loop/language/build.js';
import type { Expr } from '../../../src/loop/language/nodes.js';
import { parseKernel } from '../../../src/loop/language/parse.js';
import { interpreted, KernelsOnGpu } from '../../support/gpu-kernels.js';
import { gpuForTests } from '../../support/webgpu.js';

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
const runner = typeof gpu === 'string' ? null : new KernelsOnGpu(gpu);
after(() => {
  if (typeof gpu !== 'string') gpu.close();
});

const features: ShaderFeatures = {
  maxWorkgroupInvocations: 256,
  maxWorkgroupsPerDimension: 65535,
  maxStorageBuffers: 8,
};

/** Sums of `n` rows of `size` elements, by halves. */
const tree = (size: number, storage: string): string => `
  kernel sums(out: ${storage}[], x: ${storage}[], n: i32) {
    workgroups g, l in n of ${size}(part: ${storage}[${size}]) {
      part[l] = x[g * ${size} + l]
      workgroup_barrier
      for level in 0..${Math.log2(size)} {
        let half = ${size >> 1} >> level
        if (l < half) { part[l] = part[l] + part[l + half] }
        workgroup_barrier
      }
      if (l == 0) { out[g] = part[0] }
    }
  }`;

describe('workgroups as WGSL', () => {
  it('share memory and meet at barriers', () => {
    const shader = shaderOf(
      parseKernel(tree(64, 'f32')),
      { memories: [0, 1], isAligned: true },
      features,
    );
    assert.equal(
      shader.text,
      `@group(0) @binding(0) var<uniform> numbers: array<vec4<u32>, 2>;
@group(0) @binding(1) var<storage, read_write> words0: array<u32>;
@group(0) @binding(2) var<storage, read> words1: array<u32>;
var<workgroup> part_: array<f32, 64>;

fn k_zero() -> u32 {
  return numbers[0].w;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) local_index: u32) {
  let workgroup = i32(group_id.x);
  let local = i32(local_index);
  let workgroups = i32(numbers[1].x);
  let out_at = numbers[0].x;
  let x_at = numbers[0].y;
  let n_ = bitcast<i32>(numbers[0].z);
  let t_ = (local == 0i);
  let t0 = n_;
  for (var group_ = max(workgroup, 0i); group_ < t0; group_ += workgroups) {
    part_[local] = bitcast<f32>(words1[x_at + u32((local + (group_ * 64i)))]);
    workgroupBarrier();
    for (var level_ = 0i; level_ < (6i + i32(k_zero())); level_ += 1i) {
      let t_1 = (32i >> (u32(level_) & 31u));
      if ((local < t_1)) {
        part_[local] = (part_[local] + part_[(local + t_1)]);
      }
      workgroupBarrier();
    }
    if (t_) {
      words0[out_at + u32(group_)] = bitcast<u32>(part_[0i]);
    }
    workgroupBarrier();
  }
}
`,
    );
    assert.equal(shader.workgroupSize, 64);
    assert.equal(shader.workgroups([undefined, undefined, 1000], 5000), 1000);
    assert.equal(shader.workgroups([undefined, undefined, 1000], 7), 7);
    assert.equal(shader.workgroups([undefined, undefined, 0], 7), 1);
  });

  it('refuses larger workgroups than the device has', () => {
    const small = { ...features, maxWorkgroupInvocations: 128 };
    assert.throws(
      () => shaderOf(parseKernel(tree(256, 'f32')), { memories: [0, 1], isAligned: true }, small),
      UnsupportedError,
    );
  });

  it('compute what the interpreter does, whatever their number', { skip }, async () => {
    for (const mostGroups of [Infinity, 2]) {
      runner!.mostGroups = mostGroups;
      for (const [size, rows] of [
        [1, 3],
        [4, 5],
        [64, 1],
        [256, 9],
        [256, 0],
      ] as const) {
        // prettier-ignore
        const values = Array.from({ length: size * rows + 1 }, (_, k) => (k % 23) - 7.25 * (k % 5));
        for (const storage of ['f32', 'i32', 'f64', 'i64'] as const) {
          const kernel = parseKernel(tree(size, storage));
          const made = {
            f32: () => [new Float32Array(rows + 1), Float32Array.from(values)],
            f64: () => [new Float64Array(rows + 1), Float64Array.from(values)],
            i32: () => [new Int32Array(rows + 1), Int32Array.from(values)],
            i64: () => [new BigInt64Array(rows + 1), BigInt64Array.from(values.map((x) => BigInt(Math.trunc(x))))], // prettier-ignore
          }[storage]();
          const args = [...made, rows];
          const found = await runner!.run(kernel, args);
          interpreted(kernel, args).forEach((expected, which) => assert.deepEqual(found[which], expected, `${storage}, ${rows} rows of ${size}`)); // prettier-ignore
        }
      }
    }
    runner!.mostGroups = Infinity;
  });

  it(
    'tell each other by buffers of all, and have private memory of their own',
    { skip },
    async () => {
      const kernel = parseKernel(`kernel k(out: f32[], x: f32[], own: private f32[], n: i32) {
      workgroups g, l in n of 64(m: f32[1]) {
        own[1] = f32(l)
        out[g * 64 + l] = x[g * 64 + l] * 2.0
        workgroup_barrier
        own[0] = out[g * 64 + 63 - l]
        workgroup_barrier
        out[g * 64 + l] = own[0] + own[1]
      }
    }`);
      const x = Float32Array.from({ length: 320 }, (_, k) => k * 0.5);
      const args = [new Float32Array(320), x, { privateBytes: 8 }, 5];
      const [expected] = interpreted(kernel, args);
      assert.equal(expected[64], 127 + 0);
      assert.deepEqual((await runner!.run(kernel, args))[0], expected);
    },
  );
});

it('steps of ranges are counted from numbers, through variables and shared expressions', () => {
  const n = e.variable('n', 'i32');
  let shared: Expr = e.add(n, 1);
  // As a tree it has 2^200 nodes.
  for (let k = 0; k < 200; k++) shared = e.min(shared, shared);
  const length = e.variable('length', 'i32');
  const body = e.block(e.declare(length, shared));
  assert.equal(stepCounter({ params: [n], body }, [e.mul(length, 3), n], 64)([7]), 24);
});

it('launches are for the bounds of sizes that a kernel reads, and for few workgroups where there are none', () => {
  const groupsOf = (size: string, work: string): number => {
    const body = `let n = ${size}\n${work}`;
    const kernel = parseKernel(`kernel k(out: f32[], sizes: i32[], most: i32) {\n${body}\n}`);
    const shader = shaderOf(kernel, { memories: [0, 1], isAligned: true }, features);
    return shader.workgroups([undefined, undefined, 1000], 65535);
  };
  const bounded = 'max(min(sizes[2], most), 0)';
  const tiles = 'workgroups g, l in (n + 31) / 32 of 64() { out[g * 64 + l] = 1.0 }';
  const range = 'parallel a..b in 0..n { for i in a..b { out[i] = 1.0 } }';
  assert.equal(groupsOf(bounded, tiles), 32);
  assert.equal(groupsOf(bounded, range), 16);
  assert.equal(groupsOf('sizes[2]', tiles), 256);
  assert.equal(groupsOf('sizes[2]', range), 256);
});
