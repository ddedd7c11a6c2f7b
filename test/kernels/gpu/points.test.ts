import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Dim, symbol } from '../../../src/base/dim/index.js';
import type { DType } from '../../../src/base/dtype.js';
import type { Program } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { shaderOf } from '../../../src/codegen/wgsl/index.js';
import { add, cast, mul, slice, swapaxes } from '../../../src/ops/index.js';
import { numbersOf, sizeOf } from '../../support/arrays.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../support/gpu-programs.js';
import { operand, programOf } from '../../support/programs.js';

/* Elementwise kernels: by vectors where elements are neighbors, with every element computed once. */

const features = {
  maxWorkgroupInvocations: 256,
  maxWorkgroupsPerDimension: 65535,
  maxStorageBuffers: 8,
};

/** Bindings of the one kernel of a program that are arrays of vectors. */
function vectorBindings(program: Program, isAligned: boolean = true): number {
  const [kernel, ...others] = gpuKernelsOf(program);
  assert.equal(others.length, 0);
  const memories = [...kernel.params.filter(({ kind }) => kind === 'buffer').keys()];
  const { text } = shaderOf(kernel, { memories, isAligned }, features);
  return text.match(/array<vec4<u32>>/g)?.length ?? 0;
}

const rows = symbol('rows');
const type = (shape: readonly Dim[], dtype: DType = 'float32'): TensorType => ({ dtype, shape });
const doubled = (...shape: readonly Dim[]): Program =>
  programOf({ x: type(shape) }, ({ x }) => ({ y: add(x, x) }));

describe('elementwise kernels', () => {
  it('read and store vectors where elements are neighbors', () => {
    assert.equal(vectorBindings(doubled(64, 64)), 2);
    assert.equal(vectorBindings(doubled(rows, 8)), 2);
    assert.equal(vectorBindings(doubled(rows, 7)), 2);
    assert.equal(vectorBindings(doubled(4099)), 2);
    const biased = programOf({ x: type([rows, 8]), b: type([8]) }, ({ x, b }) => ({ y: add(x, b) }));
    assert.equal(vectorBindings(biased), 3);
    const scaled = programOf({ x: type([rows, 8]), b: type([rows, 1]) }, ({ x, b }) => ({ y: mul(x, b) }));
    assert.equal(vectorBindings(scaled), 2);
  }); // prettier-ignore

  it('do not where elements are few, apart, or begin anywhere', () => {
    assert.equal(vectorBindings(doubled(16, 16)), 0);
    const turned = programOf({ x: type([64, 128]) }, ({ x }) => ({ y: add(swapaxes(x, 0, 1), 1) }));
    assert.equal(vectorBindings(turned), 0);
    const odd = programOf({ x: type([64, 130]), b: type([130]) }, ({ x, b }) => ({ y: add(x, b) }));
    assert.equal(vectorBindings(odd), 0);
    assert.equal(vectorBindings(doubled(64, 64), false), 0);
  });

  it('compute every element, behind the last whole vector as well', async () => {
    const grid = new ProgramsOnGrid(3);
    for (const count of [0, 1, 3, 4, 5, 7, 64, 67]) {
      const shape = [count, 3];
      const given = Array.from({ length: sizeOf(shape) }, (_, k) => k - 5);
      const [found] = await grid.run(doubled(rows, 3), [operand('float32', shape, given)]);
      assert.deepEqual(numbersOf(found), given.map((value) => 2 * value)); // prettier-ignore
    }
  });

  it('store narrow elements by whole words', async () => {
    const shape = [64, 80];
    const program = programOf({ x: type(shape) }, ({ x }) => ({
      y: cast(slice(x, ':', [4, 76]), 'int8'),
    }));
    const [kernel] = gpuKernelsOf(program);
    const { text } = shaderOf(kernel, { memories: [0, 1], isAligned: true }, features);
    assert.ok(!text.includes('atomic'));
    const given = Array.from({ length: sizeOf(shape) }, (_, k) => (k % 200) - 100);
    const [found] = await new ProgramsOnGrid(4).run(program, [operand('float32', shape, given)]);
    assert.deepEqual(numbersOf(found), given.filter((_, k) => k % 80 >= 4 && k % 80 < 76)); // prettier-ignore
  });
});
