import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { DeviceError } from '../../../src/base/errors.js';
import type { BindingPattern, Shader } from '../../../src/codegen/wgsl/shader.js';
import * as e from '../../../src/loop/language/build.js';
import type { Kernel } from '../../../src/loop/language/nodes.js';
import { wasmTarget } from '../../../src/loop/language/target.js';
import { byDefinition } from '../../../src/kernels/definitions.js';
import { openGpu } from '../../../src/runtime/webgpu/adapter.js';
import { WebGpuBackend } from '../../../src/runtime/webgpu/backend.js';
import type { BufferRange } from '../../../src/runtime/webgpu/commands.js';
import type { GpuEncoder } from '../../../src/runtime/webgpu/encoder.js';
import type { ShaderPrinter } from '../../../src/runtime/webgpu/launches.js';
import { GpuWorker } from '../../../src/runtime/webgpu/remote.js';
import { gpuForTests } from '../../support/webgpu.js';

/*
 * The device with shaders that are written by hand: buffers, commands, failures. What shaders of kernels compute is
 * told by the laws.
 */

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
const opened: WebGpuBackend[] = [];

/** GPUs of this thread and of a worker. */
const places = { here: openGpu, 'in a worker': GpuWorker.open } as const;

type Open = (options?: {
  readonly memoryBudget?: number;
  readonly mostPipelines?: number;
  readonly print?: ShaderPrinter;
  /** GPUs in the order in which they are opened. Default: new ones. */
  readonly gpus?: (GpuEncoder | GpuWorker)[];
  /** Opens those that come after them. Default: it always can. */
  readonly reopen?: () => Promise<GpuEncoder | GpuWorker>;
}) => Promise<WebGpuBackend>;

/** Tests the device with a GPU in either place. */
function testBackend(
  name: string,
  run: (open: Open, openCommands: () => Promise<GpuEncoder | GpuWorker>) => Promise<void>,
): void {
  for (const [place, openCommands] of Object.entries(places)) {
    test(`${name} (${place})`, { skip }, () =>
      run(
        async ({
          memoryBudget,
          mostPipelines,
          print = affine,
          gpus = [],
          reopen: another = openCommands,
        } = {}) => {
          const reopen = async () => gpus.shift() ?? another();
          const backend = new WebGpuBackend(await reopen(), {
            target: byDefinition(wasmTarget),
            print,
            reopen,
            ...(memoryBudget !== undefined && { memoryBudget }),
            ...(mostPipelines !== undefined && { mostPipelines }),
          });
          opened.push(backend);
          return backend;
        },
        openCommands,
      ),
    );
  }
}

after(() => {
  for (const backend of opened) backend.close();
  if (typeof gpu !== 'string') gpu.close();
});

/** `to[k] = from[k] * scale + to[k]` for k below count. */
const kernel: Kernel = e.kernel(
  'affine',
  [
    e.buffer('to', 'f32'),
    e.buffer('from', 'f32'),
    e.variable('count', 'i32'),
    e.variable('scale', 'f32'),
  ],
  e.block(),
);

function affine(_: Kernel, { memories }: BindingPattern): Shader {
  const isOne = memories[0] === memories[1];
  const from = isOne ? 'b0' : 'b1';
  return {
    text: `
      struct Uniforms { words: array<vec4u, 2> }
      @group(0) @binding(0) var<uniform> u: Uniforms;
      @group(0) @binding(1) var<storage, read_write> b0: array<f32>;
      ${isOne ? '' : '@group(0) @binding(2) var<storage, read> b1: array<f32>;'}
      @compute @workgroup_size(64)
      fn main(@builtin(global_invocation_id) id: vec3u) {
        let stride = u.words[1].x * 64u;
        for (var k = id.x; k < u.words[0].z; k += stride) {
          let to = u.words[0].x + k;
          b0[to] = ${from}[u.words[0].y + k] * bitcast<f32>(u.words[0].w) + b0[to];
        }
      }`,
    parameters: [
      { kind: 'elements', storage: 'f32', binding: 0, word: 0 },
      { kind: 'elements', storage: 'f32', binding: isOne ? 0 : 1, word: 1 },
      { kind: 'number', scalar: 'i32', word: 2 },
      { kind: 'number', scalar: 'f32', word: 3 },
    ],
    bindings: isOne ? [{ access: 'read_write' }] : [{ access: 'read_write' }, { access: 'read' }],
    uniformWords: 8,
    zeroWord: null,
    groupsWord: 4,
    workgroupSize: 64,
    workgroups: ([, , count], most) => Math.max(Math.min(Math.ceil(count! / 64), most), 1),
  };
}

const floats = (length: number, f: (k: number) => number): Float32Array =>
  Float32Array.from({ length }, (_, k) => f(k));

testBackend(
  'elements of all widths come back as they were written, whole and in part',
  async (open) => {
    const backend = await open();
    for (const length of [0, 1, 2, 3, 5, 255, 256, 257]) {
      for (const [dtype, elements] of [
        ['uint8', Uint8Array.from({ length }, (_, k) => (k * 7) % 256)],
        ['float16', Uint16Array.from({ length }, (_, k) => k * 257)],
        ['int32', Int32Array.from({ length }, (_, k) => -k)],
        ['float32', floats(length, (k) => k / 3)],
      ] as const) {
        const buffer = backend.allocate(dtype, length);
        backend.write(buffer, elements);
        assert.deepEqual(await backend.read(buffer), elements);
        if (length > 2) {
          const part = { dtype, length: length - 2, offset: elements.BYTES_PER_ELEMENT };
          assert.deepEqual(await backend.read(buffer, part), elements.slice(1, -1));
        }
        const other = backend.allocate(dtype, length);
        backend.copy(buffer, other);
        backend.free(buffer);
        assert.deepEqual(await backend.read(other), elements);
        backend.free(other);
      }
    }
    assert.equal(backend.bytesInUse, 0);
  },
);

testBackend(
  'elements that do not fit into one buffer together are read in several answers',
  async (open, openCommands) => {
    const gpu = await openCommands();
    Object.assign(gpu, { properties: { ...gpu.properties, bufferBytes: 512 } });
    const asked: number[] = [];
    const read = gpu.read.bind(gpu);
    gpu.read = (parts: readonly BufferRange[]) => {
      asked.push(parts.reduce((sum, { bytes }) => sum + bytes, 0));
      return read(parts) as never; // either place
    };
    const backend = await open({ gpus: [gpu] });
    const buffers = [128, 1, 64, 64, 3].map((length, k) => {
      const buffer = backend.allocate('float32', length);
      backend.write(buffer, new Float32Array(length).fill(k));
      return { buffer };
    });
    const expected = buffers.map(({ buffer: { length } }, k) => new Float32Array(length).fill(k));
    assert.deepEqual(await backend.readAll(buffers), expected);
    assert.equal(asked.reduce((sum, bytes) => sum + bytes, 0), 4 * 260); // prettier-ignore
    assert.ok(Math.max(...asked) <= 512, String(asked));
  },
);

testBackend('a launch computes on parts of buffers, also of one buffer', async (open) => {
  const backend = await open();
  const launch = backend.prepare(kernel);
  const [to, from] = [backend.allocate('float32', 1000), backend.allocate('float32', 1000)];
  backend.write(
    to,
    floats(1000, (k) => k),
  );
  backend.write(
    from,
    floats(1000, (k) => -k),
  );
  launch([{ buffer: to, offset: 40 }, { buffer: from, offset: 4 }, 300, 2]);
  const expected = floats(1000, (k) => (k >= 10 && k < 310 ? k - 2 * (k - 9) : k));
  assert.deepEqual(await backend.read(to), expected);
  launch([{ buffer: to, offset: 0 }, { buffer: to, offset: 2000 }, 100, 0.5]);
  const folded = expected.map((x, k) => (k < 100 ? expected[k + 500] / 2 + x : x));
  assert.deepEqual(await backend.read(to), folded);
});

testBackend('what is written, computed, freed and used again keeps its order', async (open) => {
  const backend = await open();
  const launch = backend.prepare(kernel);
  const sum = backend.allocate('float32', 4);
  backend.write(sum, new Float32Array(4));
  const { submits } = backend.counts;
  for (let k = 1; k <= 200; k++) {
    const term = backend.allocate('float32', 4);
    backend.write(
      term,
      floats(4, () => k),
    );
    launch([{ buffer: sum, offset: 0 }, { buffer: term, offset: 0 }, 4, 1]);
    backend.free(term);
  }
  assert.deepEqual(
    await backend.read(sum),
    floats(4, () => 20100),
  );
  // Writes between dispatches need no submits of their own.
  assert.equal(backend.counts.submits - submits, 7);
  assert.equal(backend.bytesInUse, 16);
  // Small buffers share memory.
  assert.ok(backend.bytesTaken <= 2 ** 18);
});

testBackend('dispatches are submitted together, with their own numbers each', async (open) => {
  const backend = await open();
  const launch = backend.prepare(kernel);
  const [to, from] = [backend.allocate('float32', 100), backend.allocate('float32', 1)];
  backend.write(to, new Float32Array(100));
  backend.write(from, new Float32Array([1]));
  const before = { ...backend.counts };
  for (let k = 0; k < 100; k++) {
    launch([{ buffer: to, offset: 4 * k }, { buffer: from, offset: 0 }, 1, k]);
  }
  assert.deepEqual(
    await backend.read(to),
    floats(100, (k) => k),
  );
  const { dispatches, submits, reads } = backend.counts;
  assert.equal(dispatches - before.dispatches, 100);
  assert.equal(submits - before.submits, 4);
  assert.equal(reads - before.reads, 1);
});

testBackend(
  'beyond the budget nothing is changed, and what was freed is used again',
  async (open) => {
    const backend = await open({ memoryBudget: 2 ** 16 });
    const kept = backend.allocate('float32', 2 ** 13);
    backend.write(
      kept,
      floats(2 ** 13, (k) => k),
    );
    const bytes = backend.bytesInUse;
    assert.throws(() => backend.allocate('float32', 2 ** 14), DeviceError);
    assert.equal(backend.bytesInUse, bytes);
    for (let k = 0; k < 100; k++) {
      // Of many sizes: what is kept for one makes room for another.
      backend.free(backend.allocate('uint8', 2 ** 14 + 2 ** 7 * k));
      assert.ok(backend.bytesTaken <= 2 ** 16);
    }
    assert.deepEqual(
      await backend.read(kept),
      floats(2 ** 13, (k) => k),
    );
    assert.throws(() => backend.allocate('float32', 2 ** 31), DeviceError);
  },
);

testBackend(
  'rounds of a measurement use memory that is freed and not kept meanwhile',
  async (open) => {
    const backend = await open({ memoryBudget: 2 ** 20 });
    const launch = backend.prepare(kernel);
    const step = (length: number): void => {
      const buffer = backend.allocate('float32', length);
      launch([{ buffer, offset: 0 }, { buffer, offset: 0 }, length, 1]);
      backend.free(buffer);
    };
    // Kept, so that there is no room for it and both of the others.
    backend.free(backend.allocate('float32', 110_000));
    const steps = (): void => [75_000, 95_000].forEach(step);
    assert.ok((await backend.measure(steps, 3)) > 0);
    assert.equal(backend.bytesInUse, 0);
    assert.equal(backend.counts.dispatches, 8);
    await backend.synchronize();
    assert.equal(backend.losses, 0);
  },
);

testBackend(
  'a shader that does not compile fails who waits for it, and the device begins anew',
  async (open) => {
    // What a driver says of it is long.
    const text = `fn main( { // ${'"'.repeat(2000)}`;
    const backend = await open({
      print: (given, pattern) => ({ ...affine(given, pattern), text }),
    });
    const buffer = backend.allocate('float32', 4);
    backend.write(buffer, new Float32Array(4));
    backend.prepare(kernel)([{ buffer, offset: 0 }, { buffer, offset: 8 }, 1, 1]);
    // Commands are refused, too: for this reason.
    const isCause = (error: unknown): boolean =>
      error instanceof DeviceError &&
      error.problem === 'a kernel was refused' &&
      error.actual?.startsWith('affine: ') === true;
    await assert.rejects(async () => backend.read(buffer), isCause);
    // It tells of its end by a promise of its own.
    await new Promise((resolve) => setTimeout(resolve));
    await backend.ready();
    assert.throws(() => backend.read(buffer), /lost with the device/);
    const elements = floats(4, (k) => k);
    backend.write(buffer, elements);
    assert.deepEqual(await backend.read(buffer), elements);
    assert.equal(backend.losses, 1);
  },
);

testBackend(
  'pipelines that were used longest ago make room for others',
  async (open, openCommands) => {
    const gpu = await openCommands();
    const made: number[] = [];
    const create = gpu.createPipeline.bind(gpu);
    gpu.createPipeline = (pipeline, description) => {
      made.push(pipeline);
      create(pipeline, description);
    };
    // Each adds a number of its own; the last one has more uniforms.
    const print: ShaderPrinter = (given, pattern) => {
      const shader = affine(given, pattern);
      const text = shader.text.replace('+ b0[to];', `+ b0[to] + ${given.name.slice(1)}f;`);
      if (given.name !== 'k3') return { ...shader, text };
      return {
        ...shader,
        text: text.replace('array<vec4u, 2>', 'array<vec4u, 3>'),
        uniformWords: 12,
      };
    };
    const backend = await open({ mostPipelines: 2, print, gpus: [gpu] });
    const launches = [0, 1, 2, 3].map((k) => backend.prepare({ ...kernel, name: `k${k}` }));
    const buffer = backend.allocate('float32', 2);
    backend.write(buffer, new Float32Array(2));
    const order = [0, 1, 0, 2, 0, 1, 3, 3, 0, 2, 1];
    for (const k of order) launches[k]([{ buffer, offset: 0 }, { buffer, offset: 0 }, 2, 1]);
    const expected = order.reduce((x, k) => 2 * x + k, 0);
    assert.deepEqual(await backend.read(buffer), new Float32Array([expected, expected]));
    // 0, 1, 2 for 1, 1 for 2, 3 for 0, 0 for 1, 2 for 3, 1 for 0.
    assert.equal(made.length, 8);
    assert.ok(Math.max(...made) < 3, String(made));
  },
);

testBackend(
  'a lost device is set up again: old elements are refused, new ones work',
  async (open, openCommands) => {
    const gpus = [await openCommands(), await openCommands()];
    const [lost] = gpus;
    const backend = await open({ gpus });
    const launch = backend.prepare(kernel);
    const [to, from] = [backend.allocate('float32', 4), backend.allocate('float32', 4)];
    backend.write(
      to,
      floats(4, (k) => k),
    );
    backend.write(
      from,
      floats(4, (k) => k),
    );
    const pending = backend.read(to);
    lost.lose();
    // Whoever asks a worker has its answer by now.
    if (pending instanceof Promise) await assert.rejects(pending, DeviceError);
    await assert.rejects(async () => backend.read(to), DeviceError);
    await backend.synchronize();
    assert.throws(() => backend.read(to), DeviceError);
    assert.throws(() => launch([{ buffer: to, offset: 0 }, { buffer: from, offset: 0 }, 4, 1]), DeviceError); // prettier-ignore
    backend.write(
      to,
      floats(4, (k) => k),
    );
    backend.write(
      from,
      floats(4, () => 1),
    );
    launch([{ buffer: to, offset: 0 }, { buffer: from, offset: 0 }, 4, 1]);
    assert.deepEqual(
      await backend.read(to),
      floats(4, (k) => k + 1),
    );
  },
);

testBackend(
  'a device that cannot be set up again at once is there when it can be',
  async (open, openCommands) => {
    const gpus = [await openCommands()];
    const [lost] = gpus;
    let isThere = false;
    const reopen = async (): Promise<GpuEncoder | GpuWorker> => {
      if (isThere) return openCommands();
      throw new DeviceError('there is no adapter', { op: 'initDevice' });
    };
    const backend = await open({ gpus, reopen });
    const buffer = backend.allocate('float32', 4);
    lost.lose();
    await assert.rejects(async () => backend.read(buffer), DeviceError);
    // The GPU of this thread tells of its loss once more, by a promise of its own.
    await new Promise((resolve) => setTimeout(resolve));
    await assert.rejects(backend.ready(), /was lost[^]*could not be set up again: there is no adapter/); // prettier-ignore
    assert.throws(() => backend.allocate('float32', 4), /await initDevice/);
    isThere = true;
    await backend.ready();
    backend.write(buffer, floats(4, (k) => -k)); // prettier-ignore
    assert.deepEqual(await backend.read(buffer), floats(4, (k) => -k)); // prettier-ignore
  },
);

test(
  'a worker that dies while somebody sleeps until its answer is a lost device',
  { skip },
  async () => {
    const gpus = [await GpuWorker.open(), await GpuWorker.open()];
    const [dying] = gpus;
    const backend = new WebGpuBackend(gpus.shift()!, {
      target: byDefinition(wasmTarget),
      print: affine,
      reopen: async () => gpus.shift()!,
    });
    opened.push(backend);
    const buffer = backend.allocate('float32', 4);
    backend.write(buffer, floats(4, (k) => k)); // prettier-ignore
    assert.deepEqual(await backend.read(buffer), floats(4, (k) => k)); // prettier-ignore
    dying.kill();
    // Nothing of this thread hears of it before the read sleeps.
    assert.throws(() => backend.read(buffer), (error) => error instanceof DeviceError && /was lost/.test(error.message)); // prettier-ignore
    assert.throws(() => backend.allocate('float32', 4), DeviceError);
    await backend.synchronize();
    assert.throws(() => backend.read(buffer), /lost with the device/);
    backend.write(buffer, floats(4, (k) => -k)); // prettier-ignore
    assert.deepEqual(await backend.read(buffer), floats(4, (k) => -k)); // prettier-ignore
  },
);
