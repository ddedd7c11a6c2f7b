import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, symbol } from '../../../src/base/dim/index.js';
import type { HostArray } from '../../../src/base/dtype.js';
import type { Handle, HostRoutine } from '../../../src/passes/host/statements.js';
import type { Backend } from '../../../src/runtime/device/backend.js';
import { RunArray } from '../../../src/runtime/device/arrays.js';
import { CpuBackend } from '../../../src/runtime/device/cpu-backend.js';
import { hostElements } from '../../../src/runtime/device/host-part.js';
import { DeviceQueue } from '../../../src/runtime/device/queue.js';
import type { Waiting } from '../../../src/runtime/device/queue/waiting.js';
import {
  type DeviceCode,
  RoutineRun,
  type RunOperand,
  type RunResult,
} from '../../../src/runtime/device/routine.js';
import { Device } from '../../../src/runtime/memory/device.js';
import { FakeBackend } from '../../support/fake-device.js';
import { cases, doubled, elementsBefore, handles, namesBefore } from '../../passes/host/cases.js';

const backends: readonly Backend[] = [
  new CpuBackend(new Device({ maximumBytes: 2 ** 22 })),
  new FakeBackend('fake'),
  // Bool alone is on the device, so that all else is on the host.
  new FakeBackend('small', { dtypes: ['bool'] }),
];

/** Lets work wait for what it asks for. */
async function finished<T>(work: Waiting<T>): Promise<T> {
  let step = work.next([] as never);
  while (step.done !== true) step = work.next(await step.value);
  return step.value;
}

/** The code of `doubled`, plainly. */
function codeOn(queue: DeviceQueue): DeviceCode {
  function* twice(operand: RunOperand): Waiting<RunArray> {
    const elements = (yield* hostElements(operand)) as Float32Array;
    return RunArray.ofHost(queue, 'float32', elements.map((x) => x + x)); // prettier-ignore
  }
  return {
    *part(_, [operand]) {
      return [yield* twice(operand)];
    },
    *callee(_, [operand]): Waiting<readonly RunResult[]> {
      return [{ array: yield* twice(operand), shape: operand.shape }];
    },
  };
}

for (const backend of backends) {
  for (const [kind, { body, names = {}, arrays, error }] of Object.entries(cases)) {
    test(`${backend.name}: ${kind} does on a device what it does on the host`, async () => {
      const queue = new DeviceQueue(backend);
      const inputs = elementsBefore().map((elements: HostArray, k) =>
        RunArray.ofHost(queue, handles[k].dtype, elements),
      );
      // The shapes of outputs tell the values of names.
      const wanted = { ...Object.fromEntries(namesBefore), ...names };
      const asked: readonly Dim[] = Object.keys(wanted).map((name) => symbol(name));
      const given: readonly Handle[] = handles.slice(0, inputs.length);
      const made = [...(arrays ?? new Map<Handle, readonly number[]>())];
      const routine: HostRoutine = {
        program: doubled,
        inputs: given,
        constants: new Map(),
        body,
        outputs: [
          ...made.map(([of, elements]) => ({ of, shape: [elements.length] })),
          { of: given[0], shape: asked },
        ],
        names: new Set(),
      };
      const run = new RoutineRun(queue, codeOn(queue), routine, namesBefore, inputs).run();
      if (error !== undefined) {
        await assert.rejects(finished(run), error);
      } else {
        const results = await finished(run);
        assert.deepEqual(results.at(-1)!.shape, Object.values(wanted));
        for (const [k, [, elements]] of made.entries()) {
          assert.deepEqual(Array.from((await finished(results[k].array.elements())) as Float32Array), elements); // prettier-ignore
        }
        for (const { array } of results) array.free();
      }
      for (const array of inputs) array.free();
      await backend.synchronize();
    });
  }
}
