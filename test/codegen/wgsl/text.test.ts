import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shaderOf } from '../../../src/codegen/wgsl/index.js';
import { Program } from '../../../src/ir/program.js';
import * as e from '../../../src/loop/language/build.js';
import { cast } from '../../../src/ops/index.js';
import { gpuKernelsOf } from '../../support/gpu-programs.js';

const features = {
  maxWorkgroupInvocations: 256,
  maxWorkgroupsPerDimension: 65535,
  maxStorageBuffers: 8,
};

test('the text of a simple kernel is what one would write', () => {
  const [out, x] = [e.buffer('out', 'f32'), e.buffer('x', 'f32')];
  const n = e.variable('2*n', 'i32');
  const body = e.parallel(0, n, 1, (from, to) =>
    e.forLoop('i', from, to, (i) => e.store(out, i, e.mul(e.load(x, i), e.load(x, i)))),
  );
  const placement = { memories: [0, 0], isAligned: true };
  const shader = shaderOf(e.kernel('square', [out, x, n], body), placement, features);
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
  let n_ = bitcast<i32>(numbers[0].z);
  let t0 = n_;
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

test('equal kernels have one text, whatever the numbers of their nodes', () => {
  const textOf = (first: number): string => {
    const [a, b, c] = [0, 1, 2].map((k) => e.buffer(`x${first + k}`, 'f32'));
    const local = e.variable(`total${first}_0`, 'f32');
    const body = e.block(
      e.declare(local, e.add(e.load(a, 0), e.load(b, 0))),
      e.assign(local, e.mul(local, local)),
      e.store(c, 0, local),
    );
    return shaderOf(
      e.kernel(`group${first}`, [a, b, c], body),
      { memories: [0, 1, 2], isAligned: true },
      features,
    ).text;
  };
  assert.equal(textOf(3), textOf(128));
});

test('a float16 is widened without a subnormal float32, of which GPUs may make 0, and without shader-f16', () => {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float16', shape: [8] });
  program.setOutputs([{ name: 'y', value: cast(x, 'float32') }]);
  const kernels = gpuKernelsOf(program);
  const [{ text }] = kernels.map((kernel) => shaderOf(kernel, { memories: [0, 1], isAligned: true }, features)); // prettier-ignore
  assert.match(text, /k_half(_4)?\(bitcast/);
  assert.doesNotMatch(text, /\* (vec4<f32>\()?5\.19/);
  assert.doesNotMatch(text, /f16/);
});
