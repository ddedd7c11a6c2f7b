import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeviceError } from '../../src/base/errors.js';
import type { Program } from '../../src/ir/program.js';
import { registry } from '../../src/ops/registry.js';
import { compile } from '../../src/runtime/compile/compile.js';
import { DeviceExecutable } from '../../src/runtime/device/executable.js';
import { DeviceQueue } from '../../src/runtime/device/queue.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { Storage } from '../../src/runtime/memory/storage.js';
import { FakeBackend } from '../support/fake-device.js';
import {
  bindSizes,
  generator,
  sampleCases,
  sampleOperands,
  sampleProgram,
} from '../support/samples.js';
import { dealt } from '../support/settings.js';
import { differenceOf, marginsOf } from './margins.js';

/*
 * Every operator computes on another device what it computes on the CPU: by kernels that are lowered from the
 * declarations alone, step by step, in buffers of their own. What the device lacks runs on the CPU.
 */

/** Sizes of nothing, of one, and of what no team divides evenly. */
const choices = [0, 1, 3, 5];

const answering = [false, true].map(
  (answersAtOnce) => new DeviceQueue(new FakeBackend('fake', { answersAtOnce })),
);

function there(queue: DeviceQueue, { storage, shape }: Operand): Operand {
  return queue.has(storage.dtype)
    ? { storage: storage.onBackend(queue), shape }
    : { storage, shape };
}

async function here({ storage, shape }: Operand): Promise<Operand> {
  return { storage: new Storage(storage.dtype, await storage.read()), shape };
}

function decidesResults({ outputs }: Program): boolean {
  return outputs.some(({ value }) => value.type.shape.some((dim) => typeof dim !== 'number'));
}

for (const sampleCase of dealt(sampleCases(registry.values()))) {
  const { sample, label } = sampleCase;

  test(`${label}: a device computes what the CPU does`, async () => {
    const random = generator(label.length + sample.args.length);
    for (const base of choices) {
      const sizes = bindSizes(sample, () =>
        base < 2 ? base : choices[Math.floor(random() * choices.length)],
      );
      const program = sampleProgram(sampleCase, { sizes });
      const operands = sampleOperands(sample, sizes, random);
      const expected = compile(program, { tier: 'wasm' }).run(operands);
      const margins = marginsOf(sampleCase, program, operands);
      for (const queue of answering) {
        const executable = new DeviceExecutable(program, queue, 'islands');
        const given = operands.map((operand) => there(queue, operand));
        if (!queue.answersAtOnce && decidesResults(program)) {
          assert.throws(() => executable.run(given), DeviceError);
          continue;
        }
        const results = executable.run(given);
        for (const [k, result] of results.entries()) {
          const found = differenceOf(await here(result), expected[k], margins[k]);
          assert.equal(found, null, `sizes ${JSON.stringify([...sizes])}`);
        }
        await queue.synchronize();
        executable.release();
      }
      if (sizes.size === 0) break;
    }
  });
}
