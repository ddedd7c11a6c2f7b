import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { bytesOf } from '../../../../src/base/dtype.js';
import type { NodeId } from '../../../../src/graph/graph.js';
import type { Value } from '../../../../src/ir/program.js';
import { onCpu } from '../../../../src/kernels/cpu/index.js';
import { memoryOf } from '../../../../src/loop/interpret/frame.js';
import { interpretApart } from '../../../../src/loop/interpret/interpret.js';
import {
  avx2Target,
  avx512Target,
  relaxedWasmTarget,
  type Target,
  wasmTarget,
} from '../../../../src/loop/language/target.js';
import { verifyKernel } from '../../../../src/loop/language/verify.js';
import { add, booleanMask, matmul, maximum, swapaxes } from '../../../../src/ops/index.js';
import { type Division, undivided } from '../../../../src/ops/nests/cost.js';
import { fuse } from '../../../../src/passes/fuse/fuse.js';
import { lowerSteps, type LoweredSteps } from '../../../../src/passes/lower/main/plan.js';
import { decompose } from '../../../../src/passes/simplify/decompose.js';
import type { KernelStep } from '../../../../src/passes/lower/main/steps.js';
import { programOf } from '../../../support/programs.js';

type Sizes = readonly [m: number, k: number, n: number];
type Form = (x: Value, w: Value, bias: Value) => Value;

const f32 = (...shape: readonly number[]) => ({ dtype: 'float32', shape }) as const;

/** Layers beside each other, each of sizes of its own. */
function layers(
  all: readonly Sizes[],
  form: Form,
  target: Target,
  { turned, division = undivided }: { turned?: 'x' | 'w'; division?: Division } = {},
): LoweredSteps {
  const inputs = Object.fromEntries(
    all.flatMap(([m, k, n], layer) => [
      [`x${layer}`, turned === 'x' ? f32(k, m) : f32(m, k)],
      [`w${layer}`, turned === 'w' ? f32(n, k) : f32(k, n)],
      [`b${layer}`, f32(n)],
    ]),
  );
  const program = programOf(inputs, (values) =>
    Object.fromEntries(
      all.map((_, layer) => [
        `y${layer}`,
        form(values[`x${layer}`], values[`w${layer}`], values[`b${layer}`]),
      ]),
    ),
  );
  return lowerSteps(program, fuse(program), onCpu(target), [], division, 'step');
}

/** What each of the members of a team that runs a step leaves in its buffers, by argument. */
function results({ places }: LoweredSteps, { kernel: lowered }: KernelStep, members: number) {
  const { kernel, args } = lowered;
  verifyKernel(kernel);
  const buffers: Uint8Array[] = [];
  const lengthOf = (arg: (typeof args)[number]): number => {
    if (arg.kind === 'place') {
      const { dtype, length } = places.all[arg.place];
      return bytesOf(dtype) * Number(length);
    }
    return arg.kind === 'scratch' ? bytesOf(arg.dtype) * Number(arg.length) : 0;
  };
  for (let index = 0; index < members; index++) {
    const values = args.map((arg, k) => {
      if (arg.kind === 'size') return Number(arg.dim);
      if (arg.kind === 'thread') return index;
      if (arg.kind === 'threads') return members;
      if (arg.kind === 'place' && buffers[k] !== undefined)
        return { memory: memoryOf(buffers[k].buffer), address: 0 };
      const bytes = new Uint8Array(lengthOf(arg));
      const elements = new Float32Array(bytes.buffer);
      elements.forEach((_, i) => (elements[i] = Math.sin(7 * k + i)));
      if (arg.kind === 'place') buffers[k] = bytes;
      return { memory: memoryOf(bytes.buffer), address: 0 };
    });
    interpretApart(kernel, values);
  }
  return buffers;
}

function kernelSteps({ steps }: LoweredSteps): readonly KernelStep[] {
  return steps.map((step) => {
    assert.equal(step.kind, 'kernel');
    return step as KernelStep;
  });
}

/** Small caches, so that small products have panels, parts and blocks. */
const small = { firstCache: 2 ** 8, secondCache: 2 ** 12, inPlace: 2 ** 10 };
const targets: readonly Target[] = [
  wasmTarget,
  { ...wasmTarget, ...small },
  relaxedWasmTarget,
  { ...avx2Target, ...small },
  avx512Target,
  { ...avx512Target, secondCache: 2 ** 12, inPlace: 2 ** 11 },
];
const forms: Readonly<Record<string, { readonly form: Form; readonly turned?: 'x' | 'w' }>> = {
  alone: { form: (x, w) => matmul(x, w) },
  'with a bias': { form: (x, w, b) => maximum(add(matmul(x, w), b), 0) },
  'of a turned left operand': { form: (x, w) => matmul(swapaxes(x, 0, 1), w), turned: 'x' },
  'of a turned right operand': {
    form: (x, w, b) => add(matmul(x, swapaxes(w, 0, 1)), b),
    turned: 'w',
  },
};

describe('kernels for a family of sizes', () => {
  it('do bit by bit what kernels do that are lowered for one of them alone', () => {
    let shared = 0;
    // Sizes of equal rests are often alike to a schedule.
    const rest = fc.constantFrom(0, 0, 1, 2, 7, 8);
    const tiles = fc.tuple(fc.constantFrom(0, 0, 1), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })); // prettier-ignore
    const sizes = fc
      .tuple(
        fc.array(tiles, { minLength: 2, maxLength: 4 }),
        fc.integer({ min: 2, max: 9 }),
        rest,
        rest,
      )
      .map(
        ([all, m, k, n]) => all.map(([down, deep, across]): Sizes => [m + 8 * down, 16 * deep + k, 16 * across + n]), // prettier-ignore
      );
    fc.assert(
      fc.property(
        sizes,
        fc.constantFrom(...targets),
        fc.constantFrom(...Object.values(forms)),
        fc.boolean(),
        (all, target, { form, turned }, isDivided) => {
          const division = isDivided ? { threads: 2, grain: 1 } : undivided;
          const options = { division, ...(turned !== undefined && { turned }) };
          const together = layers(all, form, target, options);
          shared += all.length - new Set(kernelSteps(together).map((step) => step.kernel.kernel)).size; // prettier-ignore
          kernelSteps(together).forEach((step) => {
            const { program, group } = step.origin!;
            const layer = program.outputs.findIndex(({ value }) => group.writes.includes(value));
            const alone = layers([all[layer]], form, target, options);
            const [own, ...others] = kernelSteps(alone);
            assert.equal(others.length, 0);
            const members = ({ kernel: { grains } }: KernelStep): number =>
              grains === null ? 1 : 2;
            assert.deepEqual(
              results(together, step, members(step)),
              results(alone, own, members(own)),
            );
          });
        },
      ),
      { numRuns: 60, seed: 1 },
    );
    assert.ok(shared > 30, `${shared} kernels were shared`);
  });

  const kernels = (
    all: readonly Sizes[],
    target: Target = wasmTarget,
    form = forms['alone'].form,
  ) => layers(all, form, target).kernels;

  it('are one for sizes that a schedule does not tell apart, and take those in which they differ', () => {
    const [kernel, ...others] = kernels([[32, 64, 96], [32, 96, 128], [32, 128, 64]]); // prettier-ignore
    assert.equal(others.length, 0);
    const sizes = kernel.params.filter(({ kind }) => kind === 'var');
    assert.equal(sizes.length, 2, 'depth and columns; the rows are a constant');
  });

  it('are several where sizes choose other loops', () => {
    assert.equal(kernels([[32, 64, 96], [32, 64, 97], [32, 96, 96], [32, 96, 97]]).length, 2); // prettier-ignore
    assert.equal(kernels([[32, 64, 64], [32, 64, 128], [2, 64, 64], [2, 64, 128]]).length, 2); // prettier-ignore
  });

  it('are lowered for their own sizes where no other member has the same loops', () => {
    for (const { params } of kernels([
      [32, 64, 96],
      [32, 64, 97],
    ]))
      // prettier-ignore
      assert.ok(params.every(({ kind }) => kind === 'buffer'));
  });

  it('are shared by products whose rows have two axes, of the same sizes', () => {
    const program = programOf(
      { x: f32(2, 40, 64), y: f32(2, 40, 64), v: f32(96, 64), w: f32(128, 64) },
      ({ x, y, v, w }) => ({ p: matmul(x, swapaxes(v, 0, 1)), q: matmul(y, swapaxes(w, 0, 1)) }),
    );
    const all = lowerSteps(program, fuse(program), onCpu(wasmTarget), [], undivided, 'step');
    assert.equal(all.kernels.length, 1);
    verifyKernel(all.kernels[0]);
  });

  it('are shared by products of rows whose number the data decides', () => {
    const written = programOf(
      { x: f32(40, 64), mask: { dtype: 'bool', shape: [40] }, v: f32(64, 96), w: f32(64, 128) },
      ({ x, mask, v, w }) => {
        const rows = booleanMask(x, mask);
        return { p: matmul(rows, v), q: matmul(rows, w) };
      },
    );
    const program = decompose(written);
    const steps = lowerSteps(program, fuse(program), onCpu(wasmTarget), [], undivided, 'step');
    const isProduct = (id: NodeId): boolean => {
      const node = program.node(id);
      return node.kind === 'call' && node.op === matmul.declaration;
    };
    const products = steps.steps.flatMap((step) =>
      step.kind === 'kernel' && step.origin!.group.anchors.some(isProduct) ? [step] : [],
    );
    assert.equal(products.length, 2);
    assert.equal(new Set(products.map(({ kernel }) => kernel.kernel)).size, 1);
    verifyKernel(products[0].kernel.kernel);
  });

  it('are not shared where they would divide by a size', () => {
    const program = programOf(
      { x: f32(2, 3, 32), y: f32(4, 5, 32), v: f32(32, 64), w: f32(32, 64) },
      ({ x, y, v, w }) => ({ p: matmul(x, v), q: matmul(y, w) }),
    );
    const all = lowerSteps(program, fuse(program), onCpu(wasmTarget), [], undivided, 'step');
    for (const { kernel } of kernelSteps(all)) {
      assert.ok(kernel.kernel.params.every(({ kind }) => kind === 'buffer'));
    }
  });
});
