import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import * as kn from '../../../src/index.js';
import * as e from '../../../src/loop/language/build.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import type { WebGpuBackend } from '../../../src/runtime/webgpu/backend.js';
import { GpuBuffer } from '../../../src/runtime/webgpu/buffers.js';
import { packsFor } from '../../../src/runtime/webgpu/packing.js';
import { setUpWebGpu } from '../../../src/runtime/webgpu/setup.js';
import { gpuForTests } from '../../support/webgpu.js';

/* Kernels with more buffers than a shader may use, in this thread and in a worker, as on the CPU. */

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
const opened: WebGpuBackend[] = [];

after(() => {
  for (const backend of opened) backend.close();
  if (typeof gpu !== 'string') gpu.close();
});

/** More arrays than any GPU has bindings, of small and of larger ones. */
const many = 40;

const arraysOf = (length: number, dtype: kn.DType): readonly kn.NDArray[] =>
  Array.from({ length: many }, (_, k) => kn.arange(length).add(k).mod(7).astype(dtype));

/** Branches whose kernels have many operands; what is not taken stores nothing. */
const chosen = (...all: readonly kn.NDArray[]): kn.NDArray =>
  kn.cond(
    all[0].sum().greater(0),
    () => all.reduce((sum, x) => sum.add(x)),
    () => all.reduce((most, x) => kn.maximum(most, x)),
  ) as kn.NDArray;

const forms: Readonly<Record<string, (...all: readonly kn.NDArray[]) => readonly kn.NDArray[]>> = {
  concat: (...all) => [kn.concat([...all], 0)],
  stack: (...all) => [kn.stack([...all], 1)],
  sum: kn.hybridize((...all: readonly kn.NDArray[]) => [all.reduce((sum, x) => sum.add(x))]),
  results: kn.hybridize((...all: readonly kn.NDArray[]) => all.map((x) => x.add(all[0]))),
  branch: kn.hybridize((...all: readonly kn.NDArray[]) => [chosen(...all)]),
  softmax: kn.hybridize((...all: readonly kn.NDArray[]) => [
    all.reduce((sum, x) => sum.add(x)).astype('float32').softmax(0),
  ]), // prettier-ignore
};

test('the smallest buffers share others, apart by whether they are stored to, as long as these may be', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const params = names.map((name) => e.buffer(name, 'f32'));
  const [a, b, ...read] = params;
  const body = e.block(...[a, b].flatMap((to) => read.map((from) => e.store(to, 0, e.load(from, 0)))));
  const kernel = e.kernel('copies', params, body);
  const buffers = [100, 200, 300, 50, 60].map((length, id) => new GpuBuffer('float32', length, { id, base: 0 }, 0)); // prettier-ignore
  const args = buffers.map((buffer) => ({ buffer, offset: 0 }));
  const shared = (most: number, bytes: number): readonly (readonly [boolean, readonly string[]])[] =>
    packsFor(kernel, args, most, bytes).map((pack) => [
      pack.isStored,
      pack.buffers.map(({ buffer }) => names[buffers.indexOf(buffer)]),
    ]);
  assert.deepEqual(shared(5, 4096), []);
  assert.deepEqual(shared(4, 4096), [[false, ['d', 'e']]]);
  assert.deepEqual(shared(3, 4096), [[false, ['d', 'e']], [true, ['a', 'b']]]);
  assert.deepEqual(shared(2, 4096), [[false, ['d', 'e', 'c']], [true, ['a', 'b']]]);
  assert.deepEqual(shared(3, 1280), [[false, ['d', 'e']]]);
}); // prettier-ignore

for (const worker of [false, true]) {
  test(`operands and results of any number, ${worker ? 'in a worker' : 'in this thread'}`, { skip }, async () => {
    const backend = await setUpWebGpu({ worker });
    opened.push(backend);
    registerDevice(backend);
    for (const [length, dtype] of [[5, 'float32'], [5, 'uint8'], [1200, 'float32'], [3001, 'int8']] as const) {
      const here = arraysOf(length, dtype);
      const there = here.map((x) => x.to('webgpu'));
      for (const [name, form] of Object.entries(forms)) {
        const [expected, found] = [form(...here), form(...there)];
        for (const [k, result] of found.entries()) {
          const elements = await result.data();
          const margin = name === 'softmax' ? 1e-6 : 0;
          expected[k].dataSync().forEach((element: number | bigint, at: number) => {
            assert.ok(Math.abs(Number(element) - Number(elements[at])) <= margin, `${name} of ${length} ${dtype}, result ${k} at ${at}: ${elements[at]}`);
          });
        }
      }
      // Operands are as they were.
      for (const [k, x] of there.entries()) assert.deepEqual(await x.data(), here[k].dataSync());
    }
  });
} // prettier-ignore
