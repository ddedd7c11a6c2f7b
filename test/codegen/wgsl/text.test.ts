import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shaderOf } from '../../../src/codegen/wgsl/index.js';
import * as e from '../../../src/loop/language/build.js';

test('the text of a simple kernel is what one would write', () => {
  const [out, x] = [e.buffer('out', 'f32'), e.buffer('x', 'f32')];
  const n = e.variable('2*n', 'i32');
  const body = e.parallel(0, n, 1, (from, to) =>
    e.forLoop('i', from, to, (i) => e.store(out, i, e.mul(e.load(x, i), e.load(x, i)))),
  );
  const features = {
    f16: false,
    maxWorkgroupInvocations: 256,
    maxWorkgroupsPerDimension: 65535,
    maxStorageBuffers: 8,
  };
  const shader = shaderOf(
    e.kernel('square', [out, x, n], body),
    { memories: [0, 0], isAligned: true },
    features,
  );
  assert.equal(
    shader.text,
    `@group(0) @binding(0) var<uniform> numbers: array<vec4<u32>, 2>;
@group(0) @binding(1) var<storage, read_write> words0: array<u32>;

fn k_zero() -> u32 {
  return numbers[0].w;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let invocation = i32(id.x);
  let invocations = i32(numbers[1].x) * 64i;
  let out_at = numbers[0].x;
  let x_at = numbers[0].y;
  let x2_n_ = bitcast<i32>(numbers[0].z);
  let t0 = x2_n_;
  for (var stretch_ = max(invocation, 0i); stretch_ < t0; stretch_ += invocations) {
    let t_ = bitcast<f32>(words0[x_at + u32(stretch_)]);
    words0[out_at + u32(stretch_)] = bitcast<u32>((t_ * t_));
  }
}
`,
  );
  assert.equal(shader.workgroups([undefined, undefined, 1000], 100), 16);
  assert.equal(shader.workgroups([undefined, undefined, 1000], 7), 7);
});
