import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Program } from '../../../src/ir/program.js';
import { cos, sin, sinc, tan } from '../../../src/ops/index.js';
import { DeviceExecutable } from '../../../src/runtime/device/executable.js';
import { DeviceQueue } from '../../../src/runtime/device/queue.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { setUpWebGpu } from '../../../src/runtime/webgpu/setup.js';
import { ProgramsOnGrid } from '../../support/gpu-programs.js';
import { generator } from '../../support/samples.js';
import { gpuForTests } from '../../support/webgpu.js';

/* A GPU gives the bits of the interpreter, whose errors are measured. */

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
const count = 5000;

/** Random bits of normal numbers, small angles, multiples of pi / 4 and of halves, and what is not finite. */
function angles(): Float32Array {
  const random = generator(2);
  const bits = new Int32Array(count);
  const xs = new Float32Array(bits.buffer);
  for (let k = 0; k < count; k++) {
    if (k % 4 === 0) bits[k] = (2 ** 23 + random() * (2 ** 31 - 2 ** 23)) ^ ((k % 8) << 29);
    else if (k % 4 === 1) xs[k] = (random() - 0.5) * 8;
    else if (k % 4 === 2) xs[k] = ((k >> 2) * Math.PI) / 4;
    else xs[k] = (k >> 2) / 2 - 300;
  }
  xs.set([NaN, Infinity, -Infinity, 0, -0, 1e10, 2 ** 127, 16367173 * 2 ** 72]);
  return xs;
}

if (typeof gpu === 'string') test('trigonometric functions on a GPU', { skip }, () => {});
else {
  gpu.close();
  const backend = await setUpWebGpu({});
  after(() => backend.close());
  const queue = new DeviceQueue(backend);

  for (const [name, f] of Object.entries({ sin, cos, tan, sinc })) {
    test(`${name} has the bits on a GPU that it has in the interpreter`, async () => {
      const program = new Program();
      const x = program.variable('x', { dtype: 'float32', shape: [count] });
      program.setOutputs([{ name: 'y', value: f(x) }]);
      const storage = new Storage('float32', angles());
      const executable = new DeviceExecutable(program, queue, 'strict');
      const [found] = executable.run([{ storage: storage.onBackend(queue), shape: [count] }]);
      const [expected] = await new ProgramsOnGrid().run(program, [{ storage, shape: [count] }]);
      assert.deepEqual(await found.storage.read(), expected.storage.host);
      executable.release();
    });
  }
}
