import { test } from 'node:test';
import { shaderOf } from '../../src/codegen/wgsl/index.js';
import type { ShaderFeatures } from '../../src/codegen/wgsl/shader.js';
import { compile } from '../../src/runtime/compile/compile.js';
import { numbersOf } from '../support/arrays.js';
import { assertClose } from '../support/close.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../support/gpu-programs.js';
import { KeptTexts } from './kept.js';
import { type ShaderCase, shaderCases } from './shader-cases.js';

/*
 * Kept shaders, one program for each kind of kernel. Whether they are right is tested on GPUs (`test/runtime/webgpu`);
 * here the interpreter runs the kernels, whose results are compared with those of the CPU's.
 */
const features: ShaderFeatures = {
  maxWorkgroupInvocations: 256,
  maxWorkgroupsPerDimension: 65535,
  maxStorageBuffers: 16,
};
const kept = new KeptTexts('shaders');
const cases = shaderCases();

/** The shaders of a program, each for buffers of its own. */
function shadersOf({ program }: ShaderCase): string {
  return gpuKernelsOf(program)
    .map((kernel) => {
      const buffers = kernel.params.filter((param) => param.kind === 'buffer' && !param.isPrivate);
      const { text } = shaderOf(
        kernel,
        { memories: [...buffers.keys()], isAligned: true },
        features,
      );
      return `==== ${kernel.name} ====\n\n${text}`;
    })
    .join('\n');
}

for (const each of cases) {
  test(`kernels of ${each.name} compute what those of the CPU do`, async () => {
    const found = await new ProgramsOnGrid(1).run(each.program, each.inputs);
    const expected = compile(each.program, { target: 'wasm' }).run(each.inputs);
    found.forEach((output, i) => {
      assertClose(numbersOf(output), numbersOf(expected[i]), 1e-5, `${each.name}, ${i}`);
    });
  });

  test(`kernels of ${each.name} become the shaders that they became before`, () => {
    kept.compare(each.name, shadersOf(each));
  });
}

test('every kept shader belongs to a program', () => {
  kept.refuseOthers(cases.map(({ name }) => name));
});
