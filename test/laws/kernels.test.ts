import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Program } from '../../src/ir/program.js';
import { cpuKernels, onCpu } from '../../src/kernels/cpu/index.js';
import { avx2Target, avx512Target, wasmTarget } from '../../src/loop/language/target.js';
import { tensor } from '../../src/ops/declare/declare.js';
import { attention } from '../../src/ops/index.js';
import { declarationOf } from '../../src/ops/declare/facets.js';
import { byDefinition } from '../../src/kernels/definitions.js';
import type { DeviceTarget } from '../../src/ops/declare/kernels.js';
import { separate } from '../../src/passes/fuse/fuse.js';
import { lowerProgram } from '../../src/passes/lower/main/plan.js';
import { runnerFor } from '../../src/runtime/execution/entry.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { Executor } from '../../src/runtime/execution/executor.js';
import { Device } from '../../src/runtime/memory/device.js';
import {
  bindSizes,
  generator,
  type SampleCase,
  sampleCases,
  sampleOperands,
  sampleProgram,
} from '../support/samples.js';
import { settings } from '../support/settings.js';
import { differenceOf, marginsOf } from './margins.js';

/*
 * A kernel of a device computes what the declaration of its operator defines. Both run as written, by the
 * interpreter, with nothing between the lowering and the definition of the loop IR.
 */

/** Of 32-bit addresses, whatever those of other programs have. */
const device = new Device();

function run(
  program: Program,
  target: DeviceTarget,
  operands: readonly Operand[],
): readonly Operand[] {
  const plan = lowerProgram(program, separate(program), target);
  const backend = runnerFor({ target: 'interpreter' });
  const executor = new Executor(program, plan, device, backend.entry(plan.module, device));
  const results = executor.run(operands);
  executor.release();
  return results;
}

/** Sizes on both sides of a vector, of a register tile, and of a block of attention. */
const choices = [0, 1, 2, 5, 16, 19];

/** The sizes that the sample of a number is run at: all at night, else every third, so that three samples have all. */
function sizesOf(number: number): readonly number[] {
  return choices.filter((_, i) => settings.isLong || (i + number) % 3 === 0);
}

const targets = [wasmTarget, avx2Target, avx512Target];

function check(sampleCase: SampleCase, sizes: ReadonlyMap<string, number>, seed: number): void {
  const program = sampleProgram(sampleCase, { sizes });
  const operands = sampleOperands(sampleCase.sample, sizes, generator(seed));
  const defined = run(program, byDefinition(wasmTarget), operands);
  const margins = marginsOf(sampleCase, program, operands);
  for (const target of targets) {
    const actual = run(program, onCpu(target), operands);
    program.outputs.forEach((_, i) => {
      const found = differenceOf(actual[i], defined[i], margins[i]);
      assert.equal(found, null, `${target.name}, sizes ${JSON.stringify([...sizes])}`);
    });
  }
}

const scheduled = [...cpuKernels.keys()].map(declarationOf);

/** Calls that samples leave out. */
const further: readonly SampleCase[] = [
  tensor(['q', 'k'], { dtype: 'bool' }),
  tensor([2, 'q', 'k'], { low: -1, high: 1 }),
].flatMap((mask, i) =>
  [false, true].map((causal) => ({
    declaration: attention.declaration,
    sample: {
      args: [tensor([2, 'q', 4]), tensor([2, 'k', 4]), tensor(['k', 3]), { mask, causal }],
    },
    label: `attention under mask ${i}, causal: ${causal}`,
  })),
);

for (const [number, sampleCase] of [...sampleCases(scheduled), ...further].entries()) {
  const { sample, label } = sampleCase;
  test(`${label}: the kernel of the CPU computes what the declaration defines`, () => {
    for (const base of sizesOf(number)) {
      check(
        sampleCase,
        bindSizes(sample, () => base),
        base,
      );
      if (bindSizes(sample, () => base).size === 0) break;
    }
    const random = generator(label.length);
    const mixed = bindSizes(sample, () => choices[Math.floor(random() * choices.length)]);
    check(sampleCase, mixed, 7);
  });
}

test('operators with kernels are declared with loops of their own', () => {
  assert.ok(scheduled.length >= 9);
  for (const { name, lowering } of scheduled) assert.equal(lowering.kind, 'kernel', name);
});
